/// Where a text stops being JSON. The decoder overlooks much, such as a comma too many, and never says where a fault is;
/// whoever wrote the file wants to know.
struct JSONSyntax {
    private let bytes: [UInt8]
    private var index = 0
    /// The closing brackets that are still due.
    private var open: [UInt8] = []

    /// What FoundationEssentials' decoder allows.
    private static let deepest = 512

    /// The first byte at which no JSON text goes on so, counted from 0; `nil` if all is well. RFC 8259.
    static func firstError(in bytes: [UInt8]) -> Int? {
        var syntax = JSONSyntax(bytes)
        return syntax.isWhole() ? nil : min(syntax.index, bytes.count)
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    // A loop with a stack of its own: depth is the sender's choice, the thread's stack is not.
    private mutating func isWhole() -> Bool {
        while true {
            skipBlanks()
            // A value begins here.
            switch byte {
            case UInt8(ascii: "{"):
                guard opens(UInt8(ascii: "}")) else { return false }
                if byte != UInt8(ascii: "}") {
                    guard isKey() else { return false }
                    continue
                }
            case UInt8(ascii: "["):
                guard opens(UInt8(ascii: "]")) else { return false }
                if byte != UInt8(ascii: "]") { continue }
            default:
                guard isScalar() else { return false }
            }
            // A value ended, or an empty container is about to.
            while true {
                skipBlanks()
                guard let due = open.last else { return index == bytes.count }
                if byte == due {
                    index += 1
                    open.removeLast()
                    continue
                }
                guard byte == UInt8(ascii: ",") else { return false }
                index += 1
                skipBlanks()
                if due == UInt8(ascii: "}"), !isKey() { return false }
                break
            }
        }
    }

    private mutating func opens(_ closing: UInt8) -> Bool {
        guard open.count < Self.deepest else { return false }
        open.append(closing)
        index += 1
        skipBlanks()
        return true
    }

    private mutating func skipBlanks() {
        while let byte, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
    }

    /// A name and its colon.
    private mutating func isKey() -> Bool {
        guard byte == UInt8(ascii: "\""), isString() else { return false }
        skipBlanks()
        guard byte == UInt8(ascii: ":") else { return false }
        index += 1
        return true
    }

    private mutating func isScalar() -> Bool {
        switch byte {
        case UInt8(ascii: "\""): return isString()
        case UInt8(ascii: "t"): return isWord("true")
        case UInt8(ascii: "f"): return isWord("false")
        case UInt8(ascii: "n"): return isWord("null")
        default: return isNumber()
        }
    }

    private mutating func isWord(_ word: StaticString) -> Bool {
        for offset in 0..<word.utf8CodeUnitCount {
            guard byte == word.utf8Start[offset] else { return false }
            index += 1
        }
        return true
    }

    private mutating func isNumber() -> Bool {
        if byte == UInt8(ascii: "-") { index += 1 }
        if byte == UInt8(ascii: "0") {
            index += 1
        } else if digits() == 0 {
            return false
        }
        if byte == UInt8(ascii: ".") {
            index += 1
            guard digits() > 0 else { return false }
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            index += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { index += 1 }
            guard digits() > 0 else { return false }
        }
        return true
    }

    private mutating func digits() -> Int {
        let start = index
        while let byte, (0x30...0x39).contains(byte) { index += 1 }
        return index - start
    }

    private mutating func isString() -> Bool {
        index += 1
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return true
            case UInt8(ascii: "\\"):
                index += 1
                guard let escape = self.byte else { return false }
                if escape == UInt8(ascii: "u") {
                    for _ in 0..<4 {
                        index += 1
                        guard let digit = self.byte, Character(UnicodeScalar(digit)).isHexDigit else { return false }
                    }
                } else if !"\"\\/bfnrt".utf8.contains(escape) {
                    return false
                }
                index += 1
            case ..<0x20: return false
            default: index += 1
            }
        }
        return false
    }
}
