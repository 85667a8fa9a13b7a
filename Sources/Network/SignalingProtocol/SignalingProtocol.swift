/// What both ends of the protocol agree on before the first message.
package enum SignalingProtocol {
    /// The version that `join` carries.
    package static let version = 1
    /// `Sec-WebSocket-Protocol` of this version.
    package static let subprotocol = "emisora.v1"
    /// The longest message in bytes of UTF-8.
    package static let maximumMessageSize = 65_536

    /// The name of a stream that nobody named.
    package static let defaultStream = "main"

    /// Paths of the HTTP side; no room and no stream may bear these names.
    package static let reservedNames: Set<String> = [
        "api", "assets", "favicon", "healthz", "metrics", "readyz", "robots", "static", "whep", "whip",
    ]

    /// Whether `name` is made of 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    package static func isWellFormed(name: some StringProtocol) -> Bool {
        isToken(name, lengths: 1...64)
    }

    /// Whether `name` may be the name of a room or a stream.
    package static func isValid(name: some StringProtocol) -> Bool {
        isWellFormed(name: name) && !reservedNames.contains(name.lowercased())
    }

    /// Whether `id` may name a subscription: 16 to 64 characters of `A-Z a-z 0-9 _ -`, random enough that two
    /// subscribers do not make the same (128 bits: `makeIdentifier`).
    package static func isValid(subscription id: some StringProtocol) -> Bool {
        isToken(id, lengths: 16...64)
    }

    /// 128 random bits in 32 hexadecimal digits, for participants and subscriptions.
    package static func makeIdentifier(using generator: inout some RandomNumberGenerator) -> String {
        let digits = Array("0123456789abcdef".unicodeScalars)
        var text = ""
        for _ in 0..<2 {
            let bits: UInt64 = generator.next()
            for shift in stride(from: 60, through: 0, by: -4) {
                text.unicodeScalars.append(digits[Int((bits >> shift) & 15)])
            }
        }
        return text
    }

    private static func isToken(_ text: some StringProtocol, lengths: ClosedRange<Int>) -> Bool {
        lengths.contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default:
                    false
                }
            }
    }
}
