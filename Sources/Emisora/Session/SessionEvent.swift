import EmisoraCapture
import Synchronization

/// What happens in a session without being asked for.
public enum SessionEvent: Sendable {
    /// The signaling connection is lost, and the session tries to come back: the number of the attempt that follows, and
    /// why the last one, or the connection, failed. Media goes on meanwhile.
    case reconnecting(attempt: Int, reason: String)
    /// The session is back in its room.
    case reconnected
    /// Somebody publishes a stream in the room (also one of ours).
    case streamPublished(name: String)
    case streamUnpublished(name: String)
    /// A stream of the room has other properties than before: its publisher muted, or its picture has another size.
    case streamPropertyChanged(RoomStream, from: RoomStream)
    /// Somebody said something, perhaps we ourselves (``Session/signal(type:data:to:)``).
    case signalReceived(Signal)
    /// The server refused what was asked for without waiting: a `signal`, `forceMute` or `forceDisconnect`.
    case requestRefused(request: String, code: String, message: String)
    /// Somebody joined the room, or is there already: told to who publishes in it, and to moderators by their token.
    case connectionCreated(Session.Connection)
    case connectionDestroyed(Session.Connection)
    /// A moderator muted a stream of ours: it is muted now.
    case muteForced(stream: String, video: Bool, audio: Bool, by: String, reason: String?)
    /// A moderator put us out of the room; ``ended(_:)`` follows.
    case forceDisconnected(by: String, reason: String?)
    /// Somebody began to receive one of our streams: the number of its receivers.
    case subscriberConnected(stream: String, count: Int)
    case subscriberDisconnected(stream: String, count: Int, reason: String)
    /// Somebody wanted one of our streams, but no connection came about, for the reason given.
    case subscriberFailed(stream: String, reason: String)
    /// The search for a path between us and a peer, or the path that it found, has another state (W3C
    /// `iceconnectionstatechange`). A stream of ours has a connection for each of its receivers, one of others' has one:
    /// `connection` tells them apart, here and in ``TransportStatistics/connection``. `reason` is a sentence for a person
    /// where the state is `disconnected` or `failed`, else empty. That a connection is over is told by
    /// ``subscriberDisconnected(stream:count:reason:)``, ``subscriberFailed(stream:reason:)`` or
    /// ``subscriptionEnded(stream:reason:)``.
    case iceConnectionStateChanged(
        stream: String, connection: String, TransportStatistics.ICEState, reason: String)
    /// Media of that connection goes by another pair of addresses, or by its first (W3C `selectedcandidatepairchange`).
    case selectedCandidatePairChanged(stream: String, connection: String, CandidatePairStatistics)
    /// A STUN or TURN server cannot be used, with what can be done about it. The others go on.
    case iceServerFailed(url: String, reason: String)
    /// What a server says of how it goes, such as that it gets no pictures of ours: a sentence for a person.
    case serverReported(String)
    /// A stream that we receive came through.
    case subscriptionConnected(stream: String)
    /// A stream that we received is over.
    case subscriptionEnded(stream: String, reason: String)
    /// HTTP encoders are not sent to us any more by this name (`nil`: by any), as when somebody else took it while the
    /// connection to the server was lost. A stream that flows goes on; its subscriber, or one that waits, gets no other.
    case receivingEnded(stream: String?, SessionError)
    /// A picture source failed while it was published.
    case captureFailed(stream: String, CaptureError)
    /// A source of ours reported something beside its frames: some were dropped or lost, or it is over.
    case captureReported(stream: String, TrackKind, CaptureReport)
    /// The session is over; the last event.
    case ended(SessionEndReason)
}

/// Why a session is over.
public enum SessionEndReason: Equatable, Sendable, CustomStringConvertible {
    /// ``Session/disconnect()`` was called.
    case closed
    /// The room could not be joined in the first place.
    case connectFailed(SessionError)
    /// The connection was lost and did not come back within ``Session/Options/maxAutoRetry`` attempts; why the last one
    /// failed.
    case retriesExhausted(attempts: Int, reason: String)
    /// Somebody with this session's secret took it over.
    case takenOver
    /// A moderator put us out of the room, for the reason that it gives.
    case forceDisconnected(reason: String?)

    public var description: String {
        switch self {
        case .closed: "The session was closed."
        case .connectFailed(let error): error.description
        case .retriesExhausted(0, let reason): "\(reason) No attempt was to be made to come back."
        case .retriesExhausted(let attempts, let reason): "\(reason) It was tried \(attempts) times to come back."
        case .takenOver: "The session goes on over another connection."
        case .forceDisconnected(let reason):
            "A moderator has ended the session" + (reason.map { ": \($0)" } ?? ".")
        }
    }
}

/// The events of a session: a bounded sequence, of which a slow reader misses the oldest.
public struct SessionEvents: AsyncSequence, Sendable {
    public typealias Element = SessionEvent
    static let capacity = 4_096

    let stream: AsyncStream<SessionEvent>
    let continuation: AsyncStream<SessionEvent>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.capacity))
    }

    public func makeAsyncIterator() -> AsyncStream<SessionEvent>.Iterator { stream.makeAsyncIterator() }
}
