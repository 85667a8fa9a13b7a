import EmisoraSignalingProtocol

/// What a client knows of its session from the messages that pass, so that it can come back to a room as the one it was:
/// a machine without sockets and without a clock.
///
/// ```
/// joining ──welcome──▶ joined ──connection lost──▶ lost ──connection open──▶ joining
/// ```
///
/// What is said while there is no connection is kept. It counts if the server takes the session up again; for a new one
/// everything has to be said anew.
package struct SignalingMemory: Sendable {
    /// Bytes of what is kept until the room is there again.
    static let heldByteLimit = 256 * 1024
    /// Holdings that would not fit into a message with the rest of `join` are not named.
    private static let holdingsByteLimit = 48 * 1024

    package enum Disposition: Equatable, Sendable {
        case send, kept, dropped
    }

    private enum Phase {
        /// Before the first connection there is nothing that could be resumed.
        case idle, joining, joined, lost
    }

    package private(set) var id: String?
    private var ticket: ResumptionTicket?
    private var phase = Phase.idle
    private var publishes: [String] = []
    private var properties: [String: StreamProperties] = [:]
    private var receives: [String?] = []
    private var sending: [String: String] = [:]
    private var receiving: [String: String] = [:]
    private var held: [SignalingMessage] = []
    private var heldBytes = 0

    package init() {}

    // MARK: Connections

    /// The first message of a new connection.
    package mutating func opened(room: String, token: BearerToken?) -> SignalingMessage {
        phase = .joining
        return .join(version: SignalingProtocol.version, room: room, token: token, resume: resumption)
    }

    package mutating func lost() {
        if phase != .idle { phase = .lost }
    }

    // MARK: Messages

    package mutating func willSend(_ message: SignalingMessage, byteCount: Int) -> Disposition {
        note(sent: message)
        switch phase {
        case .joined: return .send
        case .idle: return .dropped
        case .lost where ticket == nil: return .dropped
        case .joining, .lost: return keep(message, byteCount: byteCount)
        }
    }

    /// Also for what could not be sent, since the connection is lost and nobody has said so yet.
    package mutating func keep(_ message: SignalingMessage, byteCount: Int) -> Disposition {
        guard ticket != nil || phase == .joining, heldBytes + byteCount <= Self.heldByteLimit else { return .dropped }
        held.append(message)
        heldBytes += byteCount
        return .kept
    }

    /// Gives what is to be sent now.
    package mutating func didReceive(_ message: SignalingMessage) -> [SignalingMessage] {
        guard case .welcome(_, let newID, _, _, _, let newTicket) = message else {
            note(received: message)
            return []
        }
        let isSame = id == nil || id == newID
        if !isSame {
            publishes = []
            properties = [:]
            receives = []
            sending = [:]
            receiving = [:]
        }
        id = newID
        ticket = newTicket
        phase = .joined
        defer {
            held = []
            heldBytes = 0
        }
        return isSame ? held : []
    }

    // MARK: What there is

    private var resumption: SessionResumption? {
        guard let id, let ticket else { return nil }
        return SessionResumption(id: id, secret: ticket.secret, holdings: holdings)
    }

    private var holdings: SessionHoldings? {
        let bytes =
            (sending.count + receiving.count) * 40 + (publishes.count + receives.count) * 140
            + properties.count * 360
        guard bytes <= Self.holdingsByteLimit else { return nil }
        var holdings = SessionHoldings()
        holdings.publishes = publishes
        holdings.properties = properties.filter { publishes.contains($0.key) }
        holdings.receives = receives
        for (id, stream) in sending { holdings.sending[stream, default: []].append(id) }
        for (id, stream) in receiving { holdings.receiving[stream, default: []].append(id) }
        return holdings
    }

    private mutating func note(sent message: SignalingMessage) {
        switch message {
        case .publish(let stream, let said?), .updateStream(let stream, let said): properties[stream] = said
        case .unpublish(let stream):
            properties[stream] = nil
            publishes.removeAll { $0 == stream }
            sending = sending.filter { $0.value != stream }
        case .stopReceiving(let stream): receives.removeAll { $0 == stream }
        case .subscribe(let subscription, let stream, _): receiving[subscription] = stream
        case .bye(let subscription, _): end(subscription)
        case .leave:
            id = nil
            ticket = nil
        default: break
        }
    }

    private mutating func note(received message: SignalingMessage) {
        switch message {
        case .streamPublished(let stream) where stream.publisher == id && !publishes.contains(stream.stream):
            publishes.append(stream.stream)
        case .streamUnpublished(let stream) where stream.publisher == id:
            publishes.removeAll { $0 == stream.stream }
            properties[stream.stream] = nil
        case .forceDisconnected:
            // It is not to come back, and the server does not take it.
            id = nil
            ticket = nil
        case .receiving(let stream) where !receives.contains(stream): receives.append(stream)
        case .subscribe(let subscription, let stream, _): sending[subscription] = stream
        case .ingest(let subscription, let stream, _): receiving[subscription] = stream
        case .subscriptionEnded(let subscription, _): end(subscription)
        case .error(let error):
            if let subscription = error.subscription { end(subscription) }
            if error.inReplyTo == "receive" { receives.removeAll { $0 == error.stream } }
        default: break
        }
    }

    private mutating func end(_ subscription: String) {
        sending[subscription] = nil
        receiving[subscription] = nil
    }
}
