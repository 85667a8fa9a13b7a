import FoundationEssentials

/// A request to Janus; on the wire one JSON object in one text frame.
package struct JanusRequest: Equatable, Sendable {
    package enum Verb: String, Sendable {
        case info, create, claim, keepalive, destroy, attach, detach, message, trickle
    }

    package var verb: Verb
    /// By which its answer is known.
    package var transaction: String
    package var session: UInt64?
    package var handle: UInt64?
    package var apiSecret: String?
    package var token: String?
    /// To `attach`.
    package var plugin: String?
    /// To `message`.
    package var body: VideoRoomRequest?
    package var description: JanusDescription?
    /// To `trickle`.
    package var candidate: JanusCandidate?

    package init(_ verb: Verb, transaction: String) {
        self.verb = verb
        self.transaction = transaction
    }

    /// This request as JSON text in UTF-8.
    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings, numbers and booleans: nothing that JSON cannot hold.
        guard let data = try? encoder.encode(self) else { return Array("{}".utf8) }
        return Array(data)
    }
}

extension JanusRequest: Encodable {
    private enum Key: String, CodingKey {
        case verb = "janus"
        case transaction
        case session = "session_id"
        case handle = "handle_id"
        case apiSecret = "apisecret"
        case token, plugin, body, candidate
        case description = "jsep"
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(verb.rawValue, forKey: .verb)
        try fields.encode(transaction, forKey: .transaction)
        try fields.encodeIfPresent(session, forKey: .session)
        try fields.encodeIfPresent(handle, forKey: .handle)
        try fields.encodeIfPresent(apiSecret, forKey: .apiSecret)
        try fields.encodeIfPresent(token, forKey: .token)
        try fields.encodeIfPresent(plugin, forKey: .plugin)
        try fields.encodeIfPresent(body, forKey: .body)
        try fields.encodeIfPresent(description, forKey: .description)
        try fields.encodeIfPresent(candidate, forKey: .candidate)
    }
}

/// What is asked of the video room.
package struct VideoRoomRequest: Equatable, Encodable, Sendable {
    package enum Name: String, Encodable, Sendable {
        case join, configure, unpublish, leave, start
    }

    package enum Role: String, Encodable, Sendable {
        case publisher, subscriber
    }

    package struct Stream: Equatable, Encodable, Sendable {
        package var feed: JanusID

        package init(feed: JanusID) { self.feed = feed }
    }

    package var request: Name
    package var ptype: Role?
    package var room: JanusID?
    package var id: JanusID?
    package var display: String?
    package var pin: String?
    package var token: String?
    /// Of a subscriber: whose it is, where the room wants to know, and of which feeds.
    package var privateID: UInt64?
    package var streams: [Stream]?
    /// Of a subscriber: Janus is to offer new ICE credentials.
    package var restart: Bool?

    package init(_ request: Name) {
        self.request = request
    }

    private enum CodingKeys: String, CodingKey {
        case request, ptype, room, id, display, pin, token, streams, restart
        case privateID = "private_id"
    }
}
