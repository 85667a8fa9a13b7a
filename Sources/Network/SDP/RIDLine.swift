/// `a=rid` (RFC 8851 §10): one stream of an m-line by name, with what it is restricted to.
///
/// ```swift
/// let line = RIDLine(parsing: "h send pt=96;max-width=1280")
/// ```
package struct RIDLine: Hashable, Sendable {
    /// Seen from the side that wrote the line.
    package enum Direction: String, Hashable, Sendable {
        case send
        case receive = "recv"

        package var reversed: Direction { self == .send ? .receive : .send }
    }

    /// One parameter, such as `max-width=1280`, as it was written.
    package struct Restriction: Hashable, Sendable {
        package var name: String
        package var value: String?

        package init(name: String, value: String? = nil) {
            self.name = name
            self.value = value
        }
    }

    /// Of lines in one m-line, and of the streams and alternatives of `a=simulcast`.
    static let maximumCount = 8
    private static let maximumRestrictions = 16
    /// RFC 8851 §10: of these the value is a number.
    private static let numeric: Set<String> = [
        "max-width", "max-height", "max-fps", "max-fs", "max-br", "max-pps",
    ]

    package var id: String
    package var direction: Direction
    /// Of the m-line's formats those that the stream may have; empty: all.
    package var formats: [String]
    package var restrictions: [Restriction]

    package init(id: String, direction: Direction, formats: [String] = [], restrictions: [Restriction] = []) {
        self.id = id
        self.direction = direction
        self.formats = formats
        self.restrictions = restrictions
    }

    /// Reads the value of the attribute; `nil` where it breaks the grammar.
    package init?(parsing value: Substring) {
        let words = SDPText.words(value)
        guard (2...3).contains(words.count), Self.isID(words[0]), let direction = Direction(rawValue: String(words[1]))
        else { return nil }
        self.init(id: String(words[0]), direction: direction)
        guard words.count == 3 else { return }
        let parameters = SDPText.parts(words[2], at: ";")
        guard parameters.count <= Self.maximumRestrictions else { return nil }
        for (index, parameter) in parameters.enumerated() {
            let parts = SDPText.parts(parameter, at: "=", maximumSplits: 1)
            if parts[0] == "pt" {
                // The formats come first, once.
                guard index == 0, parts.count == 2, readFormats(parts[1]) else { return nil }
            } else {
                guard let restriction = Self.restriction(parts) else { return nil }
                restrictions.append(restriction)
            }
        }
    }

    /// RFC 8852 §3: letters and digits; RFC 8851 §10 has hyphen and underscore beside them.
    static func isID(_ text: Substring) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { isAlphanumeric($0) || $0 == 0x2D || $0 == 0x5F }
    }

    package var text: String {
        var parameters: [String] = formats.isEmpty ? [] : ["pt=" + formats.joined(separator: ",")]
        parameters += restrictions.map { restriction in
            restriction.value.map { "\(restriction.name)=\($0)" } ?? restriction.name
        }
        return "\(id) \(direction.rawValue)" + (parameters.isEmpty ? "" : " " + parameters.joined(separator: ";"))
    }

    /// Whether the stream may have that format.
    func allows(_ payloadType: UInt8) -> Bool { formats.isEmpty || formats.contains("\(payloadType)") }

    /// What its receiver takes at most, in bits a second (`max-br`).
    var maximumBitrate: Int? {
        restrictions.first { $0.name == "max-br" }?.value.flatMap { SDPText.decimal(Substring($0)) }
    }

    /// Whether a sender here can keep all that is asked for: an encoding serves several receivers, and only its bitrate
    /// is for one of them to bound. A stream with what cannot be kept is not sent (RFC 8851 §6.3).
    var canBeKept: Bool { restrictions.allSatisfy { $0.name == "max-br" && $0.value != nil } }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }

    private mutating func readFormats(_ list: Substring) -> Bool {
        let formats = SDPText.parts(list, at: ",")
        guard formats.count <= SessionDescriptionParser.maximumFormats,
            formats.allSatisfy({ SDPText.isToken($0, length: 1...32) })
        else { return false }
        self.formats = formats.map(String.init)
        return true
    }

    private static func restriction(_ parts: [Substring]) -> Restriction? {
        let name = parts[0]
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ isAlphanumeric($0) || $0 == 0x2D }) else {
            return nil
        }
        guard parts.count == 2 else { return Restriction(name: String(name)) }
        let value = parts[1]
        guard value.utf8.count <= 256, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        if numeric.contains(String(name)) {
            guard !value.isEmpty, let _: UInt64 = SDPText.decimal(value) else { return nil }
        }
        return Restriction(name: String(name), value: String(value))
    }
}
