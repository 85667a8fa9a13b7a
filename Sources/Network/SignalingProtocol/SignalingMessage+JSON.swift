import FoundationEssentials

extension SignalingMessage {
    /// The value of `"type"` on the wire.
    package var type: String { kind.rawValue }

    /// Reads one message.
    ///
    /// - Throws: `SignalingError` with code `messageTooLarge`, `malformedMessage` or `unknownType`, ready to be sent
    ///   back. Unknown fields are ignored, so that a later minor version can add some.
    package init(json: [UInt8]) throws(SignalingError) {
        guard json.count <= SignalingProtocol.maximumMessageSize else {
            throw SignalingError(
                .messageTooLarge, "A message has at most \(SignalingProtocol.maximumMessageSize) bytes.")
        }
        let data = Data(json)
        let decoder = JSONDecoder()
        let type: String
        do {
            type = try decoder.decode(TypeOnly.self, from: data).type
        } catch {
            throw SignalingError(.malformedMessage, "A message is a JSON object with a \"type\".")
        }
        guard Kind(rawValue: type) != nil else {
            throw SignalingError(
                .unknownType, "This server does not know the message type.", inReplyTo: String(type.prefix(64)))
        }
        do {
            self = try decoder.decode(SignalingMessage.self, from: data)
        } catch {
            throw SignalingError(.malformedMessage, Self.explain(error, type: type), inReplyTo: type)
        }
    }

    /// This message as JSON text in UTF-8.
    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings, small integers and arrays of these: nothing that JSON cannot hold.
        guard let data = try? encoder.encode(self) else { return Array("{}".utf8) }
        return Array(data)
    }

    private struct TypeOnly: Decodable {
        var type: String
    }

    private static func explain(_ error: any Error, type: String) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, _):
            "\"\(type)\" needs the field \"\(key.stringValue)\"."
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            "The field \"\(context.codingPath.map(\.stringValue).joined(separator: "."))\" of \"\(type)\" "
                + "has the wrong type."
        default:
            "The message could not be read."
        }
    }
}

extension SignalingMessage: Codable {
    enum Kind: String {
        case join, publish, unpublish, updateStream, receive, stopReceiving, forceMute, forceDisconnect, leave
        case signal
        case subscribe, offer, answer, candidate, select, bye
        case welcome, streamPublished, streamUnpublished, participantJoined, participantLeft, receiving, ingest
        case streamPropertyChanged, muteForced, forceDisconnected
        case subscriptionEnded, error
    }

    private enum Key: String, CodingKey {
        case type, version, room, stream, streams, publisher, subscription, sdp, reason, id, code, message, inReplyTo
        case iceServers, token, data, properties, resume
    }

    var kind: Kind {
        switch self {
        case .join: .join
        case .publish: .publish
        case .unpublish: .unpublish
        case .receive: .receive
        case .stopReceiving: .stopReceiving
        case .updateStream: .updateStream
        case .forceMute: .forceMute
        case .forceDisconnect: .forceDisconnect
        case .leave: .leave
        case .signal: .signal
        case .subscribe: .subscribe
        case .offer: .offer
        case .answer: .answer
        case .candidate: .candidate
        case .select: .select
        case .bye: .bye
        case .welcome: .welcome
        case .streamPublished: .streamPublished
        case .streamUnpublished: .streamUnpublished
        case .streamPropertyChanged: .streamPropertyChanged
        case .muteForced: .muteForced
        case .forceDisconnected: .forceDisconnected
        case .participantJoined: .participantJoined
        case .participantLeft: .participantLeft
        case .receiving: .receiving
        case .ingest: .ingest
        case .subscriptionEnded: .subscriptionEnded
        case .error: .error
        }
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        func text(_ key: Key) throws -> String { try fields.decode(String.self, forKey: key) }
        func reason() throws -> SubscriptionEndReason {
            let reason = try fields.decodeIfPresent(SubscriptionEndReason.self, forKey: .reason) ?? .bye
            // One that nobody knows is as good as none, and is told to the other side as it is.
            return reason.rawValue.utf8.count <= 64 ? reason : .bye
        }
        guard let kind = Kind(rawValue: try text(.type)) else {
            throw DecodingError.dataCorruptedError(forKey: Key.type, in: fields, debugDescription: "unknown type")
        }
        switch kind {
        case .join:
            self = .join(
                version: try fields.decode(Int.self, forKey: .version), room: try text(.room),
                token: try fields.decodeIfPresent(BearerToken.self, forKey: .token),
                resume: try fields.decodeIfPresent(SessionResumption.self, forKey: .resume))
        case .publish:
            self = .publish(
                stream: try text(.stream),
                properties: try fields.decodeIfPresent(StreamProperties.self, forKey: .properties))
        case .updateStream:
            self = .updateStream(
                stream: try text(.stream), properties: try fields.decode(StreamProperties.self, forKey: .properties))
        case .unpublish: self = .unpublish(stream: try text(.stream))
        case .receive: self = .receive(stream: try fields.decodeIfPresent(String.self, forKey: .stream))
        case .stopReceiving: self = .stopReceiving(stream: try fields.decodeIfPresent(String.self, forKey: .stream))
        case .forceMute: self = .forceMute(try ForcedMute(from: decoder))
        case .forceDisconnect: self = .forceDisconnect(try ForcedDisconnect(from: decoder))
        case .leave: self = .leave
        case .signal: self = .signal(try RoutedSignal(from: decoder))
        case .subscribe:
            self = .subscribe(
                subscription: try text(.subscription), stream: try text(.stream), sdp: try text(.sdp))
        case .offer: self = .offer(subscription: try text(.subscription), sdp: try text(.sdp))
        case .answer: self = .answer(subscription: try text(.subscription), sdp: try text(.sdp))
        case .candidate:
            self = .candidate(subscription: try text(.subscription), candidate: try TrickledCandidate(from: decoder))
        case .select:
            self = .select(subscription: try text(.subscription), try MediaSelection(from: decoder))
        case .bye: self = .bye(subscription: try text(.subscription), reason: try reason())
        case .welcome:
            self = .welcome(
                version: try fields.decode(Int.self, forKey: .version), id: try text(.id), room: try text(.room),
                streams: try fields.decode([StreamDescription].self, forKey: .streams),
                iceServers: try fields.decodeIfPresent([ICEServerDescription].self, forKey: .iceServers) ?? [],
                resume: try fields.decodeIfPresent(ResumptionTicket.self, forKey: .resume))
        case .streamPublished: self = .streamPublished(try StreamDescription(from: decoder))
        case .streamUnpublished: self = .streamUnpublished(try StreamDescription(from: decoder))
        case .streamPropertyChanged: self = .streamPropertyChanged(try StreamDescription(from: decoder))
        case .muteForced: self = .muteForced(try ForcedMute(from: decoder))
        case .forceDisconnected: self = .forceDisconnected(try ForcedDisconnect(from: decoder))
        case .participantJoined:
            self = .participantJoined(
                id: try text(.id), data: try fields.decodeIfPresent(String.self, forKey: .data))
        case .participantLeft: self = .participantLeft(id: try text(.id))
        case .receiving: self = .receiving(stream: try fields.decodeIfPresent(String.self, forKey: .stream))
        case .ingest:
            self = .ingest(
                subscription: try text(.subscription), stream: try text(.stream), sdp: try text(.sdp))
        case .subscriptionEnded:
            self = .subscriptionEnded(subscription: try text(.subscription), reason: try reason())
        case .error:
            self = .error(
                SignalingError(
                    try fields.decode(SignalingError.Code.self, forKey: .code), try text(.message),
                    inReplyTo: try fields.decodeIfPresent(String.self, forKey: .inReplyTo),
                    subscription: try fields.decodeIfPresent(String.self, forKey: .subscription),
                    stream: try fields.decodeIfPresent(String.self, forKey: .stream)))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(type, forKey: .type)
        switch self {
        case .join(let version, let room, let token, let resumption):
            try fields.encodeIfPresent(token, forKey: .token)
            try fields.encodeIfPresent(resumption, forKey: .resume)
            try fields.encode(version, forKey: .version)
            try fields.encode(room, forKey: .room)
        case .publish(let stream, let properties):
            try fields.encode(stream, forKey: .stream)
            try fields.encodeIfPresent(properties, forKey: .properties)
        case .unpublish(let stream):
            try fields.encode(stream, forKey: .stream)
        case .updateStream(let stream, let properties):
            try fields.encode(stream, forKey: .stream)
            try fields.encode(properties, forKey: .properties)
        case .forceMute(let mute), .muteForced(let mute):
            try mute.encode(to: encoder)
        case .forceDisconnect(let disconnect), .forceDisconnected(let disconnect):
            try disconnect.encode(to: encoder)
        case .signal(let signal):
            try signal.encode(to: encoder)
        case .select(let subscription, let media):
            try fields.encode(subscription, forKey: .subscription)
            try media.encode(to: encoder)
        case .leave:
            break
        case .receive(let stream), .stopReceiving(let stream), .receiving(let stream):
            try fields.encodeIfPresent(stream, forKey: .stream)
        case .subscribe(let subscription, let stream, let sdp), .ingest(let subscription, let stream, let sdp):
            try fields.encode(subscription, forKey: .subscription)
            try fields.encode(stream, forKey: .stream)
            try fields.encode(sdp, forKey: .sdp)
        case .offer(let subscription, let sdp), .answer(let subscription, let sdp):
            try fields.encode(subscription, forKey: .subscription)
            try fields.encode(sdp, forKey: .sdp)
        case .candidate(let subscription, let candidate):
            try fields.encode(subscription, forKey: .subscription)
            try candidate.encode(to: encoder)
        case .bye(let subscription, let reason), .subscriptionEnded(let subscription, let reason):
            try fields.encode(subscription, forKey: .subscription)
            try fields.encode(reason, forKey: .reason)
        case .welcome(let version, let id, let room, let streams, let iceServers, let ticket):
            try fields.encodeIfPresent(ticket, forKey: .resume)
            if !iceServers.isEmpty { try fields.encode(iceServers, forKey: .iceServers) }
            try fields.encode(version, forKey: .version)
            try fields.encode(id, forKey: .id)
            try fields.encode(room, forKey: .room)
            try fields.encode(streams, forKey: .streams)
        case .streamPublished(let description), .streamUnpublished(let description),
            .streamPropertyChanged(let description):
            try description.encode(to: encoder)
        case .participantJoined(let id, let data):
            try fields.encode(id, forKey: .id)
            try fields.encodeIfPresent(data, forKey: .data)
        case .participantLeft(let id):
            try fields.encode(id, forKey: .id)
        case .error(let error):
            try fields.encode(error.code, forKey: .code)
            try fields.encode(error.message, forKey: .message)
            try fields.encodeIfPresent(error.inReplyTo, forKey: .inReplyTo)
            try fields.encodeIfPresent(error.subscription, forKey: .subscription)
            try fields.encodeIfPresent(error.stream, forKey: .stream)
        }
    }
}
