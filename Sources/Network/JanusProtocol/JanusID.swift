/// What Janus calls a room or a feed by: numbers, or strings where it is set up with `string_ids`.
package enum JanusID: Hashable, Sendable {
    case number(UInt64)
    case text(String)

    /// Of a text of digits the number, unless Janus uses strings.
    package init(_ text: String, isText: Bool = false) {
        let isDigits = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        if !isText, isDigits, let number = UInt64(text), number <= Self.largestNumber {
            self = .number(number)
        } else {
            self = .text(text)
        }
    }

    /// JSON's numbers are exact to here (RFC 8259 §6).
    package static let largestNumber: UInt64 = 1 << 53

    package var text: String {
        switch self {
        case .number(let number): "\(number)"
        case .text(let text): text
        }
    }
}

extension JanusID: Codable {
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let number = try? value.decode(UInt64.self) {
            self = .number(number)
        } else {
            self = .text(try value.decode(String.self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .number(let number): try value.encode(number)
        case .text(let text): try value.encode(text)
        }
    }
}
