import EmisoraCore
import EmisoraJanusProtocol
import EmisoraSignalingClient
import EmisoraSignalingProtocol
import EmisoraWebsocketClient

/// The client's side of Janus's websocket API as far as its video rooms need it, without socket, thread or clock:
/// messages of the session and of Janus in, events for the session and messages for Janus out.
///
/// To the session the room looks like one of a signaling server in which Janus is the only receiver. One mutation, then
/// drain `pollOutput()`; call `handleTimeout` at `nextDeadline`.
///
/// ```
/// socket ──create──▶ session ──attach──▶ handle ──join──▶ in the room ──welcome──▶ the session's affair
///        ──claim, where there was a session before a lost socket──▶
/// ```
///
/// A connection that is over takes its handle with it: the next one is made on a new handle, so that late events of the
/// old are told by their sender. What Janus says stands in an extension, as do streams that we receive.
struct JanusExchange {
    struct Settings {
        var room: String
        var options: JanusOptions
        var token: String?
    }

    enum Output: Equatable {
        case event(SignalingClientEvent)
        case send([UInt8])
        /// The socket is of no use any more: another one is wanted.
        case reconnect
    }

    /// What is asked for, by transaction.
    enum Purpose: Equatable {
        case info, create, claim, attach, join, keepalive
        /// The offer of a connection, or a later one within it.
        case configure(id: String, isUpdate: Bool)
        case attachSubscriber(id: String)
        case joinSubscriber(id: String)
        /// Nothing waits for the result.
        case other

        /// A step on the way into the room, of which one is done at a time.
        var isStep: Bool { [.create, .claim, .attach, .join].contains(self) }
    }

    struct Pending {
        var purpose: Purpose
        var handle: UInt64?
        var deadline: Instant
    }

    /// The connection by which Janus gets our stream.
    enum Media: Equatable {
        case none
        /// The session was asked for its offer.
        case describing(id: String)
        case configuring(id: String)
        case live(id: String)

        var id: String? {
            switch self {
            case .none: nil
            case .describing(let id), .configuring(let id), .live(let id): id
            }
        }
    }

    /// Of whom our stream is, for a session that wants to know.
    static let participant = "janus"
    private static let answerTimeout: Duration = .seconds(10)
    /// Janus gives a session up after 60 s, unless it says otherwise.
    private static let usualKeepalive: Duration = .seconds(25)
    private static let pendingLimit = 512

    let settings: Settings
    var random: RandomSource
    private var outputs: [Output] = []
    private var pending: [String: Pending] = [:]
    private var isOpen = false
    var session: UInt64?
    var handle: UInt64?
    var isJoined = false
    /// Whether the handle had a connection, so that another one needs another handle.
    private var isHandleUsed = false
    /// Whether Janus names rooms and feeds by strings, as it shows.
    var usesTextIDs = false
    var isWelcome = false
    /// The stream that the session publishes.
    var stream: String?
    /// Whether it ever was, so that a failure is an outage.
    var wasLive = false
    var media = Media.none
    var nextOffer: String?
    var failures = 0
    private var retryAt: Instant?
    private var keepaliveAt: Instant?
    private var keepaliveInterval = usualKeepalive
    var reports = JanusReports()
    // What others publish, and what of it we receive.
    var feeds: [JanusID: String] = [:]
    var privateID: UInt64?
    var subscriptions: [String: Subscription] = [:]

    init(settings: Settings, random: RandomSource) {
        self.settings = settings
        self.random = random
    }

    mutating func pollOutput() -> Output? {
        outputs.isEmpty ? nil : outputs.removeFirst()
    }

    mutating func emit(_ event: SignalingClientEvent) { outputs.append(.event(event)) }

    // MARK: The socket

    mutating func handle(_ event: WebsocketEvent, now: Instant) {
        switch event {
        case .opened:
            isOpen = true
            pending = [:]
            retryAt = nil
            emit(.connected)
            send(.info, for: .info, now: now)
            proceed(now: now)
        case .message(let text):
            guard isOpen, let message = JanusMessage(json: text) else { return }
            handle(message, now: now)
        case .connectFailed(let why): emit(.disconnected(.connectFailed(why)))
        case .lost:
            isOpen = false
            pending = [:]
            keepaliveAt = nil
            retryAt = nil
            isWelcome = false
            // Janus may keep the session for a while; what was under way in it is over.
            if case .live = media {} else { endMedia(.signalingLost) }
            if !isJoined {
                session = nil
                handle = nil
            }
            nextOffer = nil
            emit(.disconnected(.connectionLost))
        case .closed: emit(.disconnected(.closed))
        }
    }

    // MARK: What the session says

    mutating func handle(_ message: SignalingMessage, now: Instant) {
        switch message {
        case .publish(let name, _): publish(name, now: now)
        case .unpublish(let name):
            guard stream == name else { return }
            stream = nil
            retryAt = nil
            leaveMedia(now: now)
        case .offer(let id, let sdp): offer(id, sdp, now: now)
        case .candidate(let id, let candidate):
            guard let handle = media.id == id ? self.handle : subscriptions[id]?.handle else { return }
            trickle(candidate, to: handle, now: now)
        case .bye(let id, _):
            guard media.id == id else { return leaveSubscription(id, now: now) }
            failures += 1
            leaveMedia(now: now)
            retry(now: now)
        case .subscribe(let id, let name, let sdp): subscribe(id, to: name, offer: sdp, now: now)
        case .answer(let id, let sdp): answer(id, sdp, now: now)
        case .receive:
            emit(.message(.error(SignalingError(.notAllowed, "Janus has no WHIP encoders.", inReplyTo: "receive"))))
        case .signal, .forceMute, .forceDisconnect:
            emit(
                .message(
                    .error(
                        SignalingError(
                            .notAllowed, "To a Janus Emisora carries media alone.", inReplyTo: message.type))))
        default: break
        }
    }

    /// What is said last: Janus lets go of all that is the session's.
    mutating func farewell() -> [[UInt8]] {
        guard isOpen, session != nil else { return [] }
        var messages: [[UInt8]] = []
        if let handle, isJoined {
            messages.append(request(.message, handle: handle, body: VideoRoomRequest(.leave)).json())
        }
        messages.append(request(.destroy).json())
        return messages
    }

    private mutating func publish(_ name: String, now: Instant) {
        switch stream {
        case nil:
            stream = name
            wasLive = false
            failures = 0
            proceed(now: now)
        case name:
            // The session says so anew after an outage.
            if case .live = media { return announce() }
            proceed(now: now)
        default:
            let text = "A session is one publisher in Janus's room; connect another one for the next stream."
            emit(.message(.error(SignalingError(.limitReached, text, inReplyTo: "publish"))))
        }
    }

    mutating func announce() {
        guard let stream else { return }
        emit(.message(.streamPublished(StreamDescription(stream: stream, publisher: Self.participant))))
    }

    private mutating func offer(_ id: String, _ sdp: String, now: Instant) {
        switch media {
        case .describing(id):
            media = .configuring(id: id)
            isHandleUsed = true
            configure(id, sdp, isUpdate: false, now: now)
            if SessionDescriptionText.endsCandidates(sdp), let handle {
                trickle(.endOfCandidates, to: handle, now: now)
            }
        case .live(id):
            if isConfiguring {
                nextOffer = sdp
            } else {
                configure(id, sdp, isUpdate: true, now: now)
            }
        default: restartSubscription(id, now: now)
        }
    }

    private var isConfiguring: Bool {
        pending.values.contains { if case .configure = $0.purpose { true } else { false } }
    }

    mutating func configure(_ id: String, _ sdp: String, isUpdate: Bool, now: Instant) {
        send(
            .message, for: .configure(id: id, isUpdate: isUpdate), handle: handle, body: VideoRoomRequest(.configure),
            description: JanusDescription(type: "offer", sdp: sdp), now: now)
    }

    private mutating func trickle(_ candidate: TrickledCandidate, to handle: UInt64, now: Instant) {
        let told =
            candidate.isEndOfCandidates
            ? JanusCandidate.end
            : JanusCandidate(
                candidate: candidate.candidate, sdpMid: candidate.sdpMid, sdpMLineIndex: candidate.sdpMLineIndex)
        send(.trickle, for: .other, handle: handle, candidate: told, now: now)
    }

    // MARK: Steps

    /// Does what is next on the way to what the session wants.
    mutating func proceed(now: Instant) {
        guard isOpen, retryAt == nil, !pending.values.contains(where: \.purpose.isStep) else { return }
        guard session != nil else { return send(.create, for: .create, now: now) }
        if !isWelcome, isJoined { return send(.claim, for: .claim, now: now) }
        if isWelcome, isHandleUsed, stream != nil, media == .none { dropHandle(now: now) }
        guard let handle else { return send(.attach, for: .attach, now: now) }
        guard isJoined else { return join(handle, now: now) }
        if isWelcome, let stream, media == .none {
            let id = SignalingProtocol.makeIdentifier(using: &random)
            media = .describing(id: id)
            emit(.message(.subscribe(subscription: id, stream: stream, sdp: "")))
        }
    }

    private mutating func join(_ handle: UInt64, now: Instant) {
        let options = settings.options
        var body = VideoRoomRequest(.join)
        body.ptype = .publisher
        body.room = JanusID(settings.room, isText: usesTextIDs)
        body.id = options.publisherID.map { JanusID($0, isText: usesTextIDs) }
        body.display = options.display ?? stream ?? SignalingProtocol.defaultStream
        body.pin = options.pin
        body.token = options.roomToken
        send(.message, for: .join, handle: handle, body: body, now: now)
    }

    mutating func didJoin(now: Instant) {
        isJoined = true
        isHandleUsed = false
        if isWelcome { proceed(now: now) } else { welcome() }
    }

    mutating func welcome() {
        isWelcome = true
        emit(
            .message(
                .welcome(
                    version: SignalingProtocol.version, id: Self.participant, room: settings.room,
                    streams: feeds.values.sorted().map { StreamDescription(stream: $0, publisher: "feed") })))
    }

    /// After a while, longer each time.
    mutating func retry(now: Instant) {
        retryAt = now + min(.seconds(1) * (1 << min(failures, 4)), .seconds(10))
    }

    /// The room has what we send no more. Another connection will need another handle.
    private mutating func leaveMedia(now: Instant) {
        if media != .none, isHandleUsed, let handle {
            send(.message, for: .other, handle: handle, body: VideoRoomRequest(.unpublish), now: now)
        }
        media = .none
        nextOffer = nil
        forget { if case .configure = $0 { true } else { false } }
        reports = JanusReports()
    }

    mutating func dropHandle(now: Instant) {
        if let handle { send(.detach, for: .other, handle: handle, now: now) }
        handleIsGone()
    }

    mutating func handleIsGone() {
        handle = nil
        isJoined = false
        isHandleUsed = false
    }

    /// The connection by which Janus got our stream is over, through no wish of the session's.
    mutating func endMedia(_ reason: SubscriptionEndReason) {
        nextOffer = nil
        reports = JanusReports()
        guard let id = media.id else { return }
        media = .none
        forget { if case .configure = $0 { true } else { false } }
        emit(.message(.subscriptionEnded(subscription: id, reason: reason)))
    }

    // MARK: Requests

    private func request(
        _ verb: JanusRequest.Verb, transaction: String = "-", handle: UInt64? = nil, body: VideoRoomRequest? = nil
    ) -> JanusRequest {
        var request = JanusRequest(verb, transaction: transaction)
        if verb != .create, verb != .info { request.session = session }
        if verb == .attach { request.plugin = JanusProtocol.videoRoom }
        request.handle = handle
        if verb != .info {
            request.apiSecret = settings.options.apiSecret
            request.token = settings.token
        }
        request.body = body
        return request
    }

    mutating func send(
        _ verb: JanusRequest.Verb, for purpose: Purpose, handle: UInt64? = nil, body: VideoRoomRequest? = nil,
        description: JanusDescription? = nil, candidate: JanusCandidate? = nil, now: Instant
    ) {
        guard isOpen else { return }
        guard pending.count < Self.pendingLimit else { return reconnect() }
        let transaction = SignalingProtocol.makeIdentifier(using: &random)
        var request = request(verb, transaction: transaction, handle: handle, body: body)
        request.description = description
        request.candidate = candidate
        pending[transaction] = Pending(purpose: purpose, handle: handle, deadline: now + Self.answerTimeout)
        keepaliveAt = now + keepaliveInterval
        outputs.append(.send(request.json()))
    }

    /// What an answer is to; it is so once.
    mutating func take(_ transaction: String?) -> Pending? {
        transaction.flatMap { pending.removeValue(forKey: $0) }
    }

    func purpose(of transaction: String?) -> Purpose? { transaction.flatMap { pending[$0]?.purpose } }

    private mutating func forget(_ matches: (Purpose) -> Bool) {
        pending = pending.filter { !matches($0.value.purpose) }
    }

    mutating func setKeepalive(sessionTimeout seconds: Int) {
        guard seconds > 0 else { return }
        keepaliveInterval = min(Self.usualKeepalive, .seconds(min(seconds, 3_600)) / 2)
    }

    private mutating func reconnect() {
        pending = [:]
        outputs.append(.reconnect)
    }

    // MARK: Time

    var nextDeadline: Instant? {
        guard isOpen else { return nil }
        let keepalive = session == nil ? nil : keepaliveAt
        return ([retryAt, keepalive] + pending.values.map(\.deadline)).compactMap(\.self).min()
    }

    mutating func handleTimeout(now: Instant) {
        guard isOpen else { return }
        // A Janus that does not answer may come to itself; a new connection tells whether it does.
        if pending.values.contains(where: { $0.deadline <= now && $0.purpose != .other && $0.purpose != .info }) {
            return reconnect()
        }
        pending = pending.filter { $0.value.deadline > now }
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            proceed(now: now)
        }
        if session != nil, let keepaliveAt, keepaliveAt <= now { send(.keepalive, for: .keepalive, now: now) }
    }
}
