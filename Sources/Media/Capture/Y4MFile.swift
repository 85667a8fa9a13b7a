import EmisoraVideo
import Glibc

/// A YUV4MPEG2 file: uncompressed 4:2:0 pictures, one after another. Owns the open file; one thread at a time.
final class Y4MFile: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: the owner uses it from one thread at a time; nothing is shared.
    private static let maximumHeaderByteCount = 1_024
    /// Ten hours at 30 pictures a second.
    private static let maximumFrameCount = 1_080_000

    let format: VideoFormat
    /// Where the samples of each picture begin.
    private(set) var frameOffsets: [Int] = []
    private let file: UnsafeMutablePointer<FILE>

    /// Opens the file and checks it to its end, reading only the line before each picture.
    init(path: String) throws(CaptureError) {
        guard let file = fopen(path, "rbe") else {
            throw .cannotOpen("\(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        self.file = file
        do throws(CaptureError) {
            format = try Self.readHeader(file)
            frameOffsets = try Self.indexFrames(file, format: format)
        } catch {
            fclose(file)
            throw error
        }
    }

    deinit {
        fclose(file)
    }

    /// Reads the samples of one picture; `false` when the file has changed under us.
    func read(frame index: Int, into frame: inout MutableVideoFrame) -> Bool {
        guard fseeko(file, off_t(frameOffsets[index]), SEEK_SET) == 0 else { return false }
        let file = file
        return frame.withUnsafeMutablePlanes { planes in
            planes.allSatisfy { fread($0.baseAddress, 1, $0.count, file) == $0.count }
        }
    }

    /// A line without its end; `nil` at the end of the file.
    private static func readLine(_ file: UnsafeMutablePointer<FILE>) throws(CaptureError) -> [UInt8]? {
        let start = ftello(file)
        var line: [UInt8] = []
        while case let byte = getc(file), byte != EOF {
            if byte == 10 { return line }
            line.append(UInt8(truncatingIfNeeded: byte))
            guard line.count <= maximumHeaderByteCount else {
                throw .malformedFile(byteOffset: start, reason: "a header line does not end within 1024 bytes")
            }
        }
        guard line.isEmpty else {
            throw .malformedFile(byteOffset: start, reason: "the file ends inside a header line")
        }
        return nil
    }

    private static func readHeader(_ file: UnsafeMutablePointer<FILE>) throws(CaptureError) -> VideoFormat {
        guard let line = try readLine(file), let text = String(validating: line, as: UTF8.self) else {
            throw .malformedFile(byteOffset: 0, reason: "there is no YUV4MPEG2 header")
        }
        let words = text.split(separator: " ")
        guard words.first == "YUV4MPEG2" else {
            throw .malformedFile(byteOffset: 0, reason: "it does not begin with YUV4MPEG2")
        }
        var width: Int?
        var height: Int?
        var rate = FrameRate.fps25
        var range = ColorRange.limited
        var offset = words[0].utf8.count
        for word in words.dropFirst() {
            offset += 1
            let value = word.dropFirst()
            switch word.first {
            case "W": width = Int(value)
            case "H": height = Int(value)
            case "F":
                let parts = value.split(separator: ":").map { Int($0) }
                guard parts.count == 2, let numerator = parts[0], let denominator = parts[1],
                    let parsed = FrameRate(numerator, denominator)
                else { throw .malformedFile(byteOffset: offset, reason: "the frame rate F\(value) is no ratio") }
                rate = parsed
            case "C":
                guard ["420", "420jpeg", "420mpeg2", "420paldv"].contains(value) else {
                    throw .unsupportedFormat(
                        "The file has samples of kind C\(value); only 8-bit 4:2:0 can be read. "
                            + "Convert it: ffmpeg -i IN -pix_fmt yuv420p OUT.y4m")
                }
            case "I":
                guard value == "p" || value == "?" else {
                    throw .unsupportedFormat("The file is interlaced (I\(value)); only whole pictures can be read.")
                }
            case "X": if value == "COLORRANGE=FULL" { range = .full }
            default: break
            }
            offset += word.utf8.count
        }
        guard let width, let height else {
            throw .malformedFile(byteOffset: 0, reason: "the header has no width (W) or height (H)")
        }
        do throws(VideoFrameError) {
            return try VideoFormat(.i420, width: width, height: height, colorRange: range, frameRate: rate)
        } catch {
            throw .malformedFile(byteOffset: 0, reason: error.description)
        }
    }

    private static func indexFrames(
        _ file: UnsafeMutablePointer<FILE>, format: VideoFormat
    ) throws(CaptureError) -> [Int] {
        let first = ftello(file)
        guard fseeko(file, 0, SEEK_END) == 0 else { throw .cannotOpen("The file cannot be searched; is it a pipe?") }
        let end = ftello(file)
        fseeko(file, first, SEEK_SET)
        var offsets: [Int] = []
        while case let start = ftello(file), let line = try readLine(file) {
            guard line.starts(with: Array("FRAME".utf8)) else {
                throw .malformedFile(byteOffset: start, reason: "picture \(offsets.count) does not begin with FRAME")
            }
            let samples = ftello(file)
            guard end - samples >= format.byteCount else {
                throw .malformedFile(
                    byteOffset: end,
                    reason: "the file ends inside picture \(offsets.count), "
                        + "\(format.byteCount - (end - samples)) bytes early")
            }
            guard offsets.count < maximumFrameCount else {
                throw .unsupportedFormat("The file has more than \(maximumFrameCount) pictures.")
            }
            offsets.append(samples)
            fseeko(file, samples + format.byteCount, SEEK_SET)
        }
        guard !offsets.isEmpty else { throw .malformedFile(byteOffset: end, reason: "the file has no picture") }
        return offsets
    }
}
