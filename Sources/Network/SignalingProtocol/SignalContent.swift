/// What participants say to each other beside media, whichever way it goes: a type and a text.
package struct SignalContent: Equatable, Sendable {
    /// The longest `type`, in bytes.
    package static let maximumTypeByteCount = 128
    /// The longest `data`, in bytes of UTF-8.
    package static let maximumDataByteCount = 8 << 10

    /// Empty: none.
    package var type: String
    package var data: String

    package init(type: String = "", data: String) {
        self.type = type
        self.data = data
    }

    /// What is wrong with it, in a sentence for a person; `nil`: nothing.
    package var fault: String? {
        guard type.utf8.count <= Self.maximumTypeByteCount, type.utf8.allSatisfy(Self.isAllowedInType) else {
            return "A signal's type is at most \(Self.maximumTypeByteCount) of the characters A-Z a-z 0-9 _ - ~."
        }
        guard data.utf8.count <= Self.maximumDataByteCount else {
            return "A signal's data is at most \(Self.maximumDataByteCount) bytes of UTF-8."
        }
        return nil
    }

    private static func isAllowedInType(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// A signal on its way through the server.
package struct RoutedSignal: Equatable, Sendable {
    package var content: SignalContent
    /// The one participant that it is for; `nil`: everybody in the room, its sender too.
    package var to: String?
    /// Who said it. The server writes it; what a client claims does not count.
    package var from: String?
    /// What the sender's token says of it.
    package var fromData: String?

    package init(_ content: SignalContent, to: String? = nil, from: String? = nil, fromData: String? = nil) {
        self.content = content
        self.to = to
        self.from = from
        self.fromData = fromData
    }
}

extension RoutedSignal: Codable {
    private enum Key: String, CodingKey {
        // `type` is the message's own.
        case signalType, data, to, from, fromData
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        content = SignalContent(
            type: try fields.decodeIfPresent(String.self, forKey: .signalType) ?? "",
            data: try fields.decode(String.self, forKey: .data))
        to = try fields.decodeIfPresent(String.self, forKey: .to)
        from = try fields.decodeIfPresent(String.self, forKey: .from)
        fromData = try fields.decodeIfPresent(String.self, forKey: .fromData)
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        if !content.type.isEmpty { try fields.encode(content.type, forKey: .signalType) }
        try fields.encode(content.data, forKey: .data)
        try fields.encodeIfPresent(to, forKey: .to)
        try fields.encodeIfPresent(from, forKey: .from)
        try fields.encodeIfPresent(fromData, forKey: .fromData)
    }
}
