import Emisora
import FoundationEssentials
import Glibc

/// A list of a camera's modes in a JSON file, as `emisora devices --json DEVICE` writes it or as somebody sent it.
enum CameraListFile {
    /// Far more than any camera lists.
    private static let largest = 4 << 20
    private static let mostModes = 20_000

    /// What is wrong with a file, in one line that names the place.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads the list in a file; `-` is standard input.
    static func read(_ path: String) throws(Problem) -> CameraModes {
        let bytes: [UInt8]
        do throws(Problem) {
            bytes = try content(of: path)
            return try parse(bytes)
        } catch {
            throw Problem(description: "\(path): \(error)")
        }
    }

    /// The list in `bytes`. Whatever they are: a list or a problem.
    static func parse(_ bytes: [UInt8]) throws(Problem) -> CameraModes {
        // Before the decoder, which is lenient and does not say where it stopped.
        if let index = JSONSyntax.firstError(in: bytes) { throw Problem(description: syntax(bytes, index)) }
        let list: CameraModesDocument
        do {
            list = try JSONDecoder().decode(CameraModesDocument.self, from: Data(bytes))
        } catch let error as DecodingError {
            throw Problem(description: describe(error, bytes))
        } catch {
            throw Problem(description: "\(error)".terminalLine)
        }
        let count = list.modes.formats.flatMap(\.sizes).reduce(0) { $0 + max(1, $1.intervals.count) }
        guard count <= mostModes else {
            throw Problem(description: "modes: \(count) of them; at most \(mostModes) are read")
        }
        return list.modes
    }

    private static func content(of path: String) throws(Problem) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Problem(description: String(cString: strerror(errno))) }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Problem(description: String(cString: strerror(errno))) }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
            guard bytes.count <= largest else {
                throw Problem(description: "more than \(largest >> 20) MB: no list of a camera's modes")
            }
        }
    }

    // MARK: Problems

    private static func describe(_ error: DecodingError, _ bytes: [UInt8]) -> String {
        switch error {
        case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])): missing"
        case .valueNotFound(_, let context): "\(path(context.codingPath)): must not be null"
        case .typeMismatch(let type, let context): "\(path(context.codingPath)): must be \(name(of: type))"
        case .dataCorrupted(let context) where context.codingPath.isEmpty:
            String(validating: bytes, as: UTF8.self) == nil
                ? "not JSON: the text is not UTF-8" : "a number is too large to be read"
        case .dataCorrupted(let context): "\(path(context.codingPath)): \(context.debugDescription)".terminalLine
        @unknown default: "\(error)".terminalLine
        }
    }

    private static func syntax(_ bytes: [UInt8], _ index: Int) -> String {
        let line = bytes.prefix(index).reduce(1) { $0 + ($1 == 0x0A ? 1 : 0) }
        return "not JSON at byte \(index), line \(line)" + (index == bytes.count ? ": it ends too early" : "")
    }

    /// `modes[3].sizes[0].w`
    private static func path(_ keys: [any CodingKey]) -> String {
        let text = keys.reduce("") { text, key in
            if let index = key.intValue { return "\(text)[\(index)]" }
            return text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)"
        }
        return text.isEmpty ? "the whole" : text.terminalLine
    }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is Double.Type: "a number"
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is [Any].Type: "a list"
        default: "an object"
        }
    }
}
