/// How the grammar of RFC 8866 §9 cuts text: by bytes, never by grapheme clusters, which swallow a space or a line end
/// that a combining character or a line feed follows.
enum SDPText {
    static func words(_ text: Substring, maximumSplits: Int = .max) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: " "), maxSplits: maximumSplits).map { Substring($0) }
    }

    static func parts(_ text: Substring, at separator: Unicode.Scalar, maximumSplits: Int = .max) -> [Substring] {
        text.utf8.split(
            separator: UInt8(ascii: separator), maxSplits: maximumSplits, omittingEmptySubsequences: false
        ).map { Substring($0) }
    }

    /// Digits alone: Swift's own conversion takes a sign too.
    static func decimal<Value: FixedWidthInteger>(_ text: Substring) -> Value? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Value(text)
    }

    /// Visible ASCII without a space, so that it can stand in a line of ours as it is.
    static func isToken(_ text: Substring, length: ClosedRange<Int>) -> Bool {
        length.contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// `0A:1B:…` as bytes (RFC 8122 §5); `nil` for anything else.
    static func hexBytes(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        for pair in parts(text, at: ":") {
            guard pair.utf8.count == 2, let high = nibble(pair.utf8.first), let low = nibble(pair.utf8.last) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func nibble(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case .some(UInt8(ascii: "0")...UInt8(ascii: "9")): byte.map { $0 - UInt8(ascii: "0") }
        case .some(UInt8(ascii: "a")...UInt8(ascii: "f")): byte.map { $0 - UInt8(ascii: "a") + 10 }
        case .some(UInt8(ascii: "A")...UInt8(ascii: "F")): byte.map { $0 - UInt8(ascii: "A") + 10 }
        default: nil
        }
    }
}
