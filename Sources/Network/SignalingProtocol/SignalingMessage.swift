/// One message of the signaling protocol, in either direction; on the wire one JSON object in one text frame.
///
/// In a room the **subscriber offers and the publisher answers**. The subscriber makes the subscription's id; both
/// sides, and the server on behalf of a WHEP client, name the exchange by it. `signaling/PROTOCOL.md` is the reference.
package enum SignalingMessage: Equatable, Sendable {
    // Client to server.

    /// First message of a connection. `room` equals the room of the URL. The token may also have come with the
    /// request for the connection. `resume`: who it was before its connection broke.
    case join(version: Int, room: String, token: BearerToken? = nil, resume: SessionResumption? = nil)
    /// Announces a stream; everyone in the room, the publisher too, then gets `streamPublished`.
    case publish(stream: String, properties: StreamProperties? = nil)
    case unpublish(stream: String)
    /// What a stream of the sender's has in it from now on; everyone in the room gets `streamPropertyChanged`.
    case updateStream(stream: String, properties: StreamProperties)
    /// Registers as the receiver of what HTTP encoders (WHIP) send into the room under that name, or, without one, under
    /// any name that nobody registered for. `receiving` confirms it.
    case receive(stream: String?)
    case stopReceiving(stream: String?)
    /// From a moderator: the publishers concerned get `muteForced`.
    case forceMute(ForcedMute)
    /// From a moderator: the one concerned gets `forceDisconnected`, and the server closes its connection.
    case forceDisconnect(ForcedDisconnect)
    case leave

    // Both ways.

    /// A word to one participant or to all. The server adds who said it.
    case signal(RoutedSignal)

    // Relayed: the server passes these on to the other side of the subscription as they are.

    /// Subscriber to publisher: the SDP offer that begins a subscription.
    case subscribe(subscription: String, stream: String, sdp: String)
    /// A later offer within a subscription (ICE restart, renegotiation), from either side.
    case offer(subscription: String, sdp: String)
    case answer(subscription: String, sdp: String)
    case candidate(subscription: String, candidate: TrickledCandidate)
    /// Subscriber to publisher: which media it wants to be sent from now on, without renegotiation.
    case select(subscription: String, MediaSelection)
    /// Ends a subscription; the other side gets `subscriptionEnded` with the same reason.
    case bye(subscription: String, reason: SubscriptionEndReason)

    // Server to client.

    /// Answer to `join`: this participant's id, the streams that are live in the room, and the STUN and TURN servers
    /// that help to connect. With `resume` the participant may come back under this id.
    case welcome(
        version: Int, id: String, room: String, streams: [StreamDescription], iceServers: [ICEServerDescription] = [],
        resume: ResumptionTicket? = nil)
    case streamPublished(StreamDescription)
    case streamUnpublished(StreamDescription)
    case streamPropertyChanged(StreamDescription)
    /// `data` is what the newcomer's token says of it.
    case participantJoined(id: String, data: String? = nil)
    case participantLeft(id: String)
    /// To a publisher: a moderator mutes its stream. It obeys, and says so by `updateStream`.
    case muteForced(ForcedMute)
    /// To who is put out of the room by a moderator; the last message.
    case forceDisconnected(ForcedDisconnect)
    /// Answer to `receive`.
    case receiving(stream: String?)
    /// To a receiver: the offer of an encoder that wants to send. It answers, or says `bye`.
    case ingest(subscription: String, stream: String, sdp: String)
    case subscriptionEnded(subscription: String, reason: SubscriptionEndReason)
    case error(SignalingError)
}

/// A live stream of a room.
package struct StreamDescription: Equatable, Hashable, Codable, Sendable {
    /// The stream's name, unique within its room.
    package var stream: String
    /// The id of the participant that publishes it; one that resumed its session has the same as before.
    package var publisher: String
    /// What the publisher's token says of it.
    package var data: String?
    /// What it has in it; `nil` where the publisher has not said so.
    package var properties: StreamProperties?

    package init(stream: String, publisher: String, data: String? = nil, properties: StreamProperties? = nil) {
        self.stream = stream
        self.publisher = publisher
        self.data = data
        self.properties = properties
    }
}

/// A STUN or TURN server in the shape of W3C `RTCIceServer`.
package struct ICEServerDescription: Equatable, Hashable, Codable, Sendable {
    package var urls: [String]
    package var username: String?
    package var credential: String?

    package init(urls: [String], username: String? = nil, credential: String? = nil) {
        self.urls = urls
        self.username = username
        self.credential = credential
    }
}

/// An ICE candidate in the shape of W3C `RTCIceCandidateInit`, so that a browser's object is the message.
package struct TrickledCandidate: Equatable, Hashable, Codable, Sendable {
    /// `candidate:…` as in SDP without `a=`; empty for the end of candidates (W3C webrtc, RFC 8838 §13).
    package var candidate: String
    package var sdpMid: String?
    package var sdpMLineIndex: Int?
    package var usernameFragment: String?

    package init(
        candidate: String, sdpMid: String? = nil, sdpMLineIndex: Int? = nil, usernameFragment: String? = nil
    ) {
        self.candidate = candidate
        self.sdpMid = sdpMid
        self.sdpMLineIndex = sdpMLineIndex
        self.usernameFragment = usernameFragment
    }

    package static let endOfCandidates = TrickledCandidate(candidate: "")
    package var isEndOfCandidates: Bool { candidate.isEmpty }
}

/// Why a subscription ended. Peers of a later version may send others; treat those as `bye`.
package struct SubscriptionEndReason: RawRepresentable, Hashable, Codable, Sendable {
    package var rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The other side ended it.
    package static let bye = Self(rawValue: "bye")
    /// The publisher has no codec in common with the offer.
    package static let noCommonCodec = Self(rawValue: "noCommonCodec")
    /// The publisher could not make sense of the offer.
    package static let invalidOffer = Self(rawValue: "invalidOffer")
    /// The publisher takes no more subscribers.
    package static let tooManySubscribers = Self(rawValue: "tooManySubscribers")
    /// The media connection failed or its consent ran out.
    package static let connectionFailed = Self(rawValue: "connectionFailed")
    /// The stream was unpublished.
    package static let unpublished = Self(rawValue: "unpublished")
    /// The other side left the room.
    package static let left = Self(rawValue: "left")
    /// The other side's *signaling* connection was lost and did not come back in time; media that still flows may go on.
    package static let signalingLost = Self(rawValue: "signalingLost")
    /// No answer came in time.
    package static let timedOut = Self(rawValue: "timedOut")
}
