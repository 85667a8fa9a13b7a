import FoundationEssentials

/// A message of Janus's: an answer to a request, or an event. A field of another type than expected counts as absent.
package struct JanusMessage: Equatable, Sendable {
    package enum Kind: String, Sendable {
        /// A request was done, refused, or taken and its result comes as an `event`, which may be here first.
        case success, error, ack
        case serverInfo = "server_info"
        case event
        /// Media: it may flow; something is or is not received; packets are lost; the connection is over.
        case webrtcUp = "webrtcup"
        case media
        case slowLink = "slowlink"
        case hangup
        case trickle
        /// The handle, or the whole session, is over.
        case detached, timeout
    }

    package struct Failure: Equatable, Sendable {
        package var code: Int
        package var reason: String
    }

    package struct Feed: Equatable, Sendable {
        package var id: JanusID
        package var display: String?
    }

    /// What the video room says.
    package struct VideoRoom: Equatable, Sendable {
        /// `joined`, `event`, `destroyed`, `attached`, …
        package var kind: String
        package var failure: Failure?
        package var feeds: [Feed] = []
        /// Who is no longer there, or no longer sends; `ok` for ourselves.
        package var leaving: JanusID?
        package var unpublished: JanusID?
        package var reason: String?
        /// Of one who joined: what subscribers of the same participant show.
        package var privateID: UInt64?
        /// What a moderator did to one of our media lines.
        package var moderation: String?
    }

    package var kind: Kind
    package var transaction: String?
    package var session: UInt64?
    /// The handle that an event is of.
    package var sender: UInt64?
    /// What was created.
    package var id: UInt64?
    package var failure: Failure?
    package var videoRoom: VideoRoom?
    package var description: JanusDescription?
    package var candidate: JanusCandidate?
    /// Of `media` and `slowlink`: which, and what of it.
    package var media: String?
    package var isReceiving: Bool?
    package var isUplink: Bool?
    package var lost: Int?
    package var reason: String?
    /// Seconds after which Janus gives up a session that says nothing.
    package var sessionTimeout: Int?

    /// - Returns: `nil` for what is no message, or of a kind that nobody here knows.
    package init?(json: [UInt8]) {
        guard json.count <= JanusProtocol.longestMessage,
            let message = try? JSONDecoder().decode(Self.self, from: Data(json))
        else { return nil }
        self = message
    }
}

extension JanusMessage: Decodable {
    private enum Key: String, CodingKey {
        case janus, transaction, sender, data, error, plugindata, candidate, type, media, receiving, uplink, lost,
            reason
        case session = "session_id"
        case description = "jsep"
        case sessionTimeout = "session-timeout"
    }

    private enum InnerKey: String, CodingKey {
        case id, data
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let name = try fields.decode(String.self, forKey: .janus)
        guard let kind = Kind(rawValue: name) else {
            throw DecodingError.dataCorruptedError(forKey: Key.janus, in: fields, debugDescription: "unknown")
        }
        func value<Value: Decodable>(_ key: Key) -> Value? { try? fields.decode(Value.self, forKey: key) }
        self.kind = kind
        transaction = value(.transaction)
        session = value(.session)
        sender = value(.sender)
        id = try? fields.nestedContainer(keyedBy: InnerKey.self, forKey: .data).decode(UInt64.self, forKey: .id)
        failure = value(.error)
        videoRoom = try? fields.nestedContainer(keyedBy: InnerKey.self, forKey: .plugindata)
            .decode(VideoRoom.self, forKey: .data)
        description = value(.description)
        candidate = value(.candidate)
        media = value(kind == .media ? .type : .media)
        isReceiving = value(.receiving)
        isUplink = value(.uplink)
        lost = value(.lost)
        reason = value(.reason)
        sessionTimeout = value(.sessionTimeout)
    }
}

extension JanusMessage.Failure: Decodable {}

extension JanusMessage.Feed: Decodable {
    private enum Key: CodingKey { case id, display }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        id = try fields.decode(JanusID.self, forKey: .id)
        display = try? fields.decode(String.self, forKey: .display)
    }
}

extension JanusMessage.VideoRoom: Decodable {
    private enum Key: String, CodingKey {
        case videoroom, error, publishers, leaving, unpublished, reason, moderation
        case code = "error_code"
        case privateID = "private_id"
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        kind = try fields.decode(String.self, forKey: .videoroom)
        if let code = try? fields.decode(Int.self, forKey: .code) {
            failure = .init(code: code, reason: (try? fields.decode(String.self, forKey: .error)) ?? "")
        }
        feeds = (try? fields.decode([JanusMessage.Feed].self, forKey: .publishers)) ?? []
        leaving = try? fields.decode(JanusID.self, forKey: .leaving)
        unpublished = try? fields.decode(JanusID.self, forKey: .unpublished)
        reason = try? fields.decode(String.self, forKey: .reason)
        privateID = try? fields.decode(UInt64.self, forKey: .privateID)
        moderation = try? fields.decode(String.self, forKey: .moderation)
    }
}
