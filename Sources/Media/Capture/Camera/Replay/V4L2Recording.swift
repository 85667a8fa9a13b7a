import EmisoraCore

/// A recorded session with Video4Linux: a line for each thing that was asked, with its answer and the time.
///
/// ```
/// emisora-v4l2 1
/// 1000 nodes /dev/video0
/// 2000 open 0 /dev/video0 0 = ok
/// 3000 do 0 querycap = capability uvcvideo USB%20Camera usb-1 69206017
/// 4000 map 0 460800 0 = ok
/// 5000 do 0 dqbuf 1 = buffer 0 8192 1 0 12 345678 1 460800 460800 0 0
/// 5001 pixels 0 0 0 10808010…
/// 6000 do 0 dqbuf 1 = error 19
/// 7000 close 0
/// ```
///
/// Times are nanoseconds of the monotonic clock, texts have `%20` for a space, errors are the system's `errno`.
struct V4L2Recording: Sendable {
    static let magic = "emisora-v4l2 1"
    /// A recording is read as a whole.
    static let longest = 256 << 20

    enum Entry: Hashable, Sendable {
        case nodes([String])
        case open(device: Int, path: String, converting: Bool, error: Int32?)
        case request(device: Int, V4L2Request, V4L2Outcome)
        case map(device: Int, length: Int, offset: Int64, error: Int32?)
        case pixels(device: Int, buffer: UInt32, plane: Int, [UInt8])
        case close(device: Int)
    }

    struct Line: Hashable, Sendable {
        var time: Instant
        var entry: Entry
    }

    var lines: [Line]

    init(lines: [Line]) {
        self.lines = lines
    }

    init(_ text: String) throws(V4L2RecordingError) {
        lines = []
        var number = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            if number == 1 {
                guard line == Self.magic else { throw V4L2RecordingError(line: 1, problem: .notARecording) }
                continue
            }
            if line.isEmpty { continue }
            do throws(V4L2RecordingError.Problem) {
                lines.append(try Line(line))
            } catch {
                throw V4L2RecordingError(line: number, problem: error)
            }
        }
    }
}

/// An answer or the system's `errno`.
enum V4L2Outcome: Hashable, Sendable {
    case answer(V4L2Answer)
    case error(Int32)
}

extension V4L2Recording.Line {
    /// As it stands in the file, without its end.
    var text: String {
        var writer = V4L2TokenWriter()
        writer.put(time.nanoseconds)
        func result(_ error: Int32?) {
            writer.put(word: "=")
            if let error { writer.put(error: error) } else { writer.put(word: "ok") }
        }
        switch entry {
        case .nodes(let paths):
            writer.put(word: "nodes")
            for path in paths { writer.put(text: path) }
        case .open(let device, let path, let converting, let error):
            writer.put(word: "open")
            writer.put(device)
            writer.put(text: path)
            writer.put(converting)
            result(error)
        case .request(let device, let request, let outcome):
            writer.put(word: "do")
            writer.put(device)
            writer.put(request)
            writer.put(word: "=")
            switch outcome {
            case .answer(let answer): writer.put(answer)
            case .error(let code): writer.put(error: code)
            }
        case .map(let device, let length, let offset, let error):
            writer.put(word: "map")
            writer.put(device, length, offset)
            result(error)
        case .pixels(let device, let buffer, let plane, let bytes):
            writer.put(word: "pixels")
            writer.put(device, buffer, plane)
            writer.put(bytes: bytes)
        case .close(let device):
            writer.put(word: "close")
            writer.put(device)
        }
        return writer.line
    }

    init(_ text: Substring) throws(V4L2RecordingError.Problem) {
        var reader = V4L2TokenReader(text)
        time = Instant(nanoseconds: try reader.number())
        let word = try reader.word()
        switch word {
        case "nodes":
            var paths: [String] = []
            while !reader.isAtEnd { paths.append(try reader.text()) }
            entry = .nodes(paths)
        case "open":
            entry = .open(
                device: try reader.number(), path: try reader.text(), converting: try reader.flag(),
                error: try reader.result())
        case "do":
            let (device, request): (Int, V4L2Request) = (try reader.number(), try reader.request())
            try reader.expect("=")
            entry = .request(device: device, request, try reader.outcome())
        case "map":
            entry = .map(
                device: try reader.number(), length: try reader.number(), offset: try reader.number(),
                error: try reader.result())
        case "pixels":
            entry = .pixels(
                device: try reader.number(), buffer: try reader.number(), plane: try reader.number(),
                try reader.bytes())
        case "close": entry = .close(device: try reader.number())
        default: throw .unknown(word)
        }
        guard reader.isAtEnd else { throw .unknown(try reader.word()) }
    }
}

extension V4L2TokenWriter {
    fileprivate mutating func put(error: Int32) {
        put(word: "error")
        put(error)
    }
}

extension V4L2TokenReader {
    fileprivate mutating func result() throws(Problem) -> Int32? {
        try expect("=")
        switch try outcome() {
        case .answer(.done): return nil
        case .error(let code): return code
        case .answer: throw .unknown("answer")
        }
    }

    fileprivate mutating func outcome() throws(Problem) -> V4L2Outcome {
        var ahead = self
        guard try ahead.word() == "error" else { return .answer(try answer()) }
        self = ahead
        return .error(try number())
    }
}
