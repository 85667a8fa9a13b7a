/// What `welcome` gives a participant so that it can come back as the same one.
package struct ResumptionTicket: Equatable, Codable, Sendable {
    /// Proves to the server, also to one that has forgotten everything since, who its bearer is and what it may do.
    package var secret: BearerToken
    /// Seconds for which the room takes somebody who lost its connection for being there, 3600 at the most.
    package let grace: Double

    package init(secret: BearerToken, grace: Double) {
        self.secret = secret
        self.grace = Self.bounded(grace)
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            secret: try fields.decode(BearerToken.self, forKey: .secret),
            grace: try fields.decode(Double.self, forKey: .grace))
    }

    /// An hour, whatever a server says.
    private static func bounded(_ grace: Double) -> Double { grace > 0 ? min(grace, 3_600) : 0 }
}

/// Who somebody that joins was before, in `join`.
package struct SessionResumption: Equatable, Codable, Sendable {
    /// The id and the secret of the last `welcome`.
    package var id: String
    package var secret: BearerToken
    /// What goes on at the client; `nil`: what the server knows, for clients that have too much to name.
    package var holdings: SessionHoldings?

    package init(id: String, secret: BearerToken, holdings: SessionHoldings? = nil) {
        self.id = id
        self.secret = secret
        self.holdings = holdings
    }
}

/// What a client that resumes still has. The server takes up what it does not know, and ends what is not named here.
package struct SessionHoldings: Equatable, Codable, Sendable {
    /// The names of its streams.
    package var publishes: [String] = []
    /// What is in them, as it was said last.
    package var properties: [String: StreamProperties] = [:]
    /// The names for which it registered as the receiver of HTTP encoders, `nil` for any.
    package var receives: [String?] = []
    /// The ids of the subscriptions in which it sends, and of those in which it receives, by stream.
    package var sending: [String: [String]] = [:]
    package var receiving: [String: [String]] = [:]

    package init() {}

    private enum Key: String, CodingKey {
        case publishes, properties, receives, sending, receiving
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        publishes = try fields.decodeIfPresent([String].self, forKey: .publishes) ?? []
        properties = try fields.decodeIfPresent([String: StreamProperties].self, forKey: .properties) ?? [:]
        receives = try fields.decodeIfPresent([String?].self, forKey: .receives) ?? []
        sending = try fields.decodeIfPresent([String: [String]].self, forKey: .sending) ?? [:]
        receiving = try fields.decodeIfPresent([String: [String]].self, forKey: .receiving) ?? [:]
    }
}
