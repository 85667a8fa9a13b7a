import FoundationEssentials

/// What somebody who joins may do.
package struct AccessRole: RawRepresentable, Hashable, Codable, Sendable {
    package var rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Publishes (one stream, where the token names it) and watches.
    package static let publisher = Self(rawValue: "publisher")
    /// Watches.
    package static let subscriber = Self(rawValue: "subscriber")
    /// Publishes, watches, and has a say over others.
    package static let moderator = Self(rawValue: "moderator")

    package static let all = [publisher, subscriber, moderator]
}

/// The claims of an access token: the payload of its JWT (RFC 7519).
package struct AccessClaims: Equatable, Codable, Sendable {
    /// The longest `data`, in bytes of UTF-8.
    package static let maximumDataByteCount = 1024

    /// The one room that the token is for.
    package var room: String
    package var role: AccessRole
    /// The one stream that may be published; `nil`: any.
    package var stream: String?
    /// Seconds since 1970 from which on the token is worth nothing.
    package var exp: Double
    /// Seconds since 1970 before which it is worth nothing yet.
    package var nbf: Double?
    /// What whoever issued the token says of its bearer; told to others in the room as it is.
    package var data: String?
    /// Its bearer is let in only where the room has fewer participants than that; `nil`: as the server's limit says.
    package var capacity: Int?
    /// Whose session the bearer may resume; in the secrets that the server itself makes for that.
    package var participant: String?
    /// Which connection of that session the secret was given to, counted from zero.
    package var turn: Int?

    package init(
        room: String, role: AccessRole, stream: String? = nil, exp: Double, nbf: Double? = nil, data: String? = nil,
        capacity: Int? = nil, participant: String? = nil, turn: Int? = nil
    ) {
        self.room = room
        self.role = role
        self.stream = stream
        self.exp = exp
        self.nbf = nbf
        self.data = data
        self.capacity = capacity
        self.participant = participant
        self.turn = turn
    }

    /// Reads a payload; `nil` where a claim is missing, of the wrong type or beyond its bounds.
    package init?(json: [UInt8]) {
        guard let claims = try? JSONDecoder().decode(Self.self, from: Data(json)),
            SignalingProtocol.isValid(name: claims.room), AccessRole.all.contains(claims.role),
            claims.stream.map({ SignalingProtocol.isValid(name: $0) }) ?? true,
            claims.data.map(Self.isAllowed(data:)) ?? true,
            claims.capacity.map({ $0 > 0 }) ?? true, claims.turn.map(NodeMessage.turns.contains) ?? true,
            claims.exp.isFinite, claims.nbf?.isFinite ?? true
        else { return nil }
        self = claims
    }

    /// Text of that length whose JSON is twice as long at the most: all streams of a room go into one `welcome`.
    package static func isAllowed(data: String) -> Bool {
        data.utf8.count <= maximumDataByteCount
            && data.utf8.allSatisfy { $0 >= 0x20 || [0x09, 0x0A, 0x0D].contains($0) }
    }

    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and finite numbers: nothing that JSON cannot hold.
        return (try? encoder.encode(self)).map { Array($0) } ?? []
    }
}

/// The header of a signed JWT (RFC 7515 §4.1), as far as it can make a token unacceptable.
package struct TokenHeader: Equatable, Codable, Sendable {
    package var alg: String
    package var typ: String?
    /// Extensions that a reader must know (RFC 7515 §4.1.11); we know none.
    package var crit: [String]?

    package init(alg: String, typ: String? = nil) {
        self.alg = alg
        self.typ = typ
    }

    package init?(json: [UInt8]) {
        guard let header = try? JSONDecoder().decode(Self.self, from: Data(json)) else { return nil }
        self = header
    }

    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return (try? encoder.encode(self)).map { Array($0) } ?? []
    }
}

/// Bytes as text (RFC 4648): with the usual alphabet, and with the one of URLs, without padding.
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    package static func encodeForURL(_ bytes: [UInt8]) -> String {
        String(
            encode(bytes).compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }

    /// `nil` for anything outside the alphabet of URLs.
    package static func decodeFromURL(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") })
        else { return nil }
        let usual = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        let padding = String(repeating: "=", count: (4 - usual.utf8.count % 4) % 4)
        return Data(base64Encoded: usual + padding).map { Array($0) }
    }
}
