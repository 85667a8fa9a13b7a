/// Writes a line of a recording: words and numbers, a space apart.
struct V4L2TokenWriter {
    private(set) var line = ""

    mutating func put(word: String) {
        if !line.isEmpty { line += " " }
        line += word
    }

    mutating func put<each Number: FixedWidthInteger>(_ numbers: repeat each Number) {
        for number in repeat each numbers { put(word: String(number)) }
    }

    mutating func put(_ flag: Bool) { put(word: flag ? "1" : "0") }

    /// Any text as one word: bytes that are no printable ASCII are written as `%` and two digits.
    mutating func put(text: String) {
        var word = ""
        for byte in text.utf8 {
            if byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "%") {
                word.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                word += "%" + Self.hexadecimal(byte)
            }
        }
        put(word: word.isEmpty ? "%" : word)
    }

    mutating func put(bytes: some Sequence<UInt8>) {
        var word = ""
        for byte in bytes { word += Self.hexadecimal(byte) }
        put(word: word.isEmpty ? "-" : word)
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.utf8.count == 1 ? "0" + digits : digits
    }
}

/// Reads such a line; throws ``V4L2RecordingError/Problem`` at whatever is not as expected.
struct V4L2TokenReader {
    typealias Problem = V4L2RecordingError.Problem

    private var words: ArraySlice<Substring>

    init(_ line: Substring) {
        words = line.split(separator: " ")[...]
    }

    var isAtEnd: Bool { words.isEmpty }

    mutating func word() throws(Problem) -> String {
        guard let word = words.popFirst() else { throw .missing }
        return String(word)
    }

    mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) throws(Problem) -> Number {
        let word = try word()
        guard let number = Number(word) else { throw .notANumber(word) }
        return number
    }

    mutating func flag() throws(Problem) -> Bool { try number(UInt8.self) != 0 }

    mutating func text() throws(Problem) -> String {
        let word = try word()
        if word == "%" { return "" }
        var bytes: [UInt8] = []
        var rest = Array(word.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = Self.byte(&rest) else { throw .unknown(word) }
            bytes.append(value)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    mutating func bytes() throws(Problem) -> [UInt8] {
        let word = try word()
        if word == "-" { return [] }
        var (bytes, rest): ([UInt8], ArraySlice<UInt8>) = ([], Array(word.utf8)[...])
        bytes.reserveCapacity(rest.count / 2)
        while !rest.isEmpty {
            guard let value = Self.byte(&rest) else { throw .unknown(String(word.prefix(16))) }
            bytes.append(value)
        }
        return bytes
    }

    mutating func expect(_ expected: String) throws(Problem) {
        let word = try word()
        guard word == expected else { throw .unknown(word) }
    }

    private static func byte(_ digits: inout ArraySlice<UInt8>) -> UInt8? {
        guard let high = digits.popFirst().flatMap(value), let low = digits.popFirst().flatMap(value) else {
            return nil
        }
        return high << 4 | low
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// What is wrong with a recording, and where.
public struct V4L2RecordingError: Error, Hashable, Sendable {
    /// Counted from 1.
    public let line: Int
    public let problem: Problem

    public enum Problem: Error, Hashable, Sendable {
        /// The first line is not that of a recording of this version.
        case notARecording
        /// The line ends too soon.
        case missing
        case notANumber(String)
        /// A word that means nothing here.
        case unknown(String)
        /// More bytes than a recording may have.
        case tooLong(limit: Int)
    }
}

extension V4L2RecordingError: CustomStringConvertible {
    public var description: String {
        switch problem {
        case .notARecording: "line \(line): not a recording, it must begin with \(V4L2Recording.magic)"
        case .missing: "line \(line) ends too soon"
        case .notANumber(let word): "line \(line): \"\(word)\" is not a number that fits"
        case .unknown(let word): "line \(line): \"\(word)\" means nothing here"
        case .tooLong(let limit): "the recording has more than \(limit) bytes"
        }
    }
}
