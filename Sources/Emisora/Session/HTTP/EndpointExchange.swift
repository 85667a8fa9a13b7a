import EmisoraCore
import EmisoraHTTPClient
import EmisoraSignalingClient
import EmisoraSignalingProtocol

/// The client's side of WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep), without socket, thread or clock: messages of
/// the session in, events for it out, and between the two requests and responses.
///
/// To the session the endpoint looks like a room with one other participant. One mutation, then drain `pollEvent()`, and
/// send what `nextRequest` gives, one request at a time; call `handleTimeout` at `nextDeadline`.
///
/// ```
/// idle ──publish──▶ describing ──offer──▶ creating ──201──▶ live ──bye, gone──▶ idle, and anew after a while
///      ──subscribe ───────────────────────▶
/// ```
///
/// What responses mean stands in an extension.
struct EndpointExchange {
    struct Settings {
        var endpoint: HTTPURL
        var token: String?
        /// Whether STUN and TURN servers of the endpoint are of use; not where the session has its own.
        var takesICEServers = true
    }

    enum Use: Equatable {
        case publishing(String)
        case subscribing(String)

        var stream: String {
            switch self {
            case .publishing(let stream), .subscribing(let stream): stream
            }
        }
    }

    /// A session on the server.
    struct Resource {
        var url: HTTPURL
        var token: String?
        var entityTag: String?
        /// The descriptions in force.
        var offer: String
        var answer: String
        /// Until the server shows that it takes none.
        var takesCandidates = true
        /// How often in a row candidates could not be handed over.
        var failures = 0
    }

    enum State {
        case idle
        /// The session was asked for its offer.
        case describing(id: String)
        case creating(id: String, offer: String)
        case live(id: String, Resource)

        var id: String? {
            switch self {
            case .idle: nil
            case .describing(let id), .creating(let id, _), .live(let id, _): id
            }
        }
    }

    enum Purpose: Equatable {
        case creation(id: String, offer: String)
        case candidates(id: String, [TrickledCandidate])
        case restart(id: String, offer: String)
        case deletion
    }

    static let fragmentType = "application/trickle-ice-sdpfrag"
    private static let candidateLimit = 256
    /// Of whom the streams are, for a session that wants to know.
    static let participant = "http"

    let settings: Settings
    var random: RandomSource
    var use: Use?
    var state = State.idle
    var inFlight: Purpose?
    var candidates: [TrickledCandidate] = []
    var restartOffer: String?
    private var deletions: [(url: HTTPURL, token: String?)] = []
    private var events: [SignalingClientEvent] = []
    /// Whether anything was ever published, so that a failure is an outage.
    var wasLive = false
    /// Whether the session was told that there is no connection.
    var isOut = false
    var failures = 0
    /// When to begin anew, and when to hand over candidates again.
    var retryAt: Instant?
    var candidatesNotBefore: Instant?
    /// The stream that may be there again by then.
    var announcement: (stream: String, at: Instant)?

    init(settings: Settings, random: RandomSource) {
        self.settings = settings
        self.random = random
    }

    mutating func start() {
        emit(.connected)
        welcome()
    }

    mutating func pollEvent() -> SignalingClientEvent? {
        events.isEmpty ? nil : events.removeFirst()
    }

    mutating func emit(_ event: SignalingClientEvent) { events.append(event) }

    func stream(_ name: String) -> StreamDescription { StreamDescription(stream: name, publisher: Self.participant) }

    /// What can be played is named as the path ends, where that is a name.
    mutating func welcome() {
        let last = settings.endpoint.path.split(separator: "/").last.map(String.init) ?? ""
        let name = SignalingProtocol.isValid(name: last) ? last : SignalingProtocol.defaultStream
        emit(
            .message(
                .welcome(
                    version: SignalingProtocol.version, id: Self.participant, room: name,
                    streams: [stream(use?.stream ?? name)])))
    }

    // MARK: What the session says

    mutating func handle(_ message: SignalingMessage, now: Instant) {
        switch message {
        case .publish(let name, _): publish(name, now: now)
        case .unpublish(let name):
            if use == .publishing(name) { finish() }
        case .subscribe(let id, let name, let offer): subscribe(id, to: name, offer: offer)
        case .offer(let id, let offer):
            switch state {
            case .describing(id): state = .creating(id: id, offer: offer)
            case .live(id, _):
                restartOffer = offer
                // Those of before are part of no session any more.
                candidates = []
            default: break
            }
        case .candidate(let id, let candidate):
            guard state.id == id, candidates.count < Self.candidateLimit else { return }
            candidates.append(candidate)
        case .bye(let id, _):
            guard state.id == id else { return }
            leaveResource()
            switch use {
            case .publishing: retryAt = now + delay()
            case .subscribing(let name):
                use = nil
                // Who comes back for it finds it.
                emit(.message(.streamUnpublished(stream(name))))
                announcement = (name, now + delay())
            case nil: break
            }
        case .leave: finish()
        case .receive:
            emit(
                .message(.error(SignalingError(.notAllowed, "An HTTP endpoint has no encoders.", inReplyTo: "receive")))
            )
        case .signal, .forceMute, .forceDisconnect:
            emit(
                .message(
                    .error(
                        SignalingError(
                            .notAllowed, "An HTTP endpoint carries media alone.", inReplyTo: message.type))))
        default: break
        }
    }

    private mutating func publish(_ name: String, now: Instant) {
        switch use {
        case nil:
            use = .publishing(name)
            wasLive = false
            failures = 0
            describe()
        case .publishing(name):
            // The session says so anew after an outage.
            if case .live = state { emit(.message(.streamPublished(stream(name)))) }
        default:
            emit(
                .message(
                    .error(
                        SignalingError(
                            .limitReached, "An HTTP endpoint takes one stream; connect to another one for the next.",
                            inReplyTo: "publish"))))
        }
    }

    private mutating func subscribe(_ id: String, to name: String, offer: String) {
        guard use == nil else {
            return refuse(id, .limitReached, "An HTTP endpoint plays one stream; connect to another one for the next.")
        }
        guard !offer.isEmpty else {
            return refuse(id, .notAllowed, "At an HTTP endpoint it is the client that offers.")
        }
        use = .subscribing(name)
        announcement = nil
        candidates = []
        state = .creating(id: id, offer: offer)
    }

    mutating func refuse(_ id: String, _ code: SignalingError.Code, _ text: String) {
        emit(.message(.error(SignalingError(code, text, subscription: id))))
    }

    /// Asks the session for an offer, as a viewer would that makes none of its own.
    mutating func describe() {
        guard case .publishing(let name) = use else { return }
        retryAt = nil
        candidates = []
        let id = SignalingProtocol.makeIdentifier(using: &random)
        state = .describing(id: id)
        emit(.message(.subscribe(subscription: id, stream: name, sdp: "")))
    }

    private mutating func finish() {
        leaveResource()
        use = nil
        retryAt = nil
        announcement = nil
    }

    /// What the server keeps for us is no longer wanted.
    mutating func leaveResource() {
        if case .live(_, let resource) = state { delete(resource.url, token: resource.token) }
        state = .idle
        candidates = []
        restartOffer = nil
        candidatesNotBefore = nil
    }

    mutating func delete(_ url: HTTPURL, token: String?) { deletions.append((url, token)) }

    // MARK: Time

    /// Before another attempt: a second, then twice as long each time, to five seconds.
    func delay(atLeast: Duration? = nil) -> Duration {
        max(min(.seconds(1) * (1 << min(failures, 3)), .seconds(5)), atLeast ?? .zero)
    }

    var nextDeadline: Instant? {
        [retryAt, announcement?.at, candidates.isEmpty ? nil : candidatesNotBefore].compactMap(\.self).min()
    }

    mutating func handleTimeout(now: Instant) {
        if let retryAt, retryAt <= now { describe() }
        if let announcement, announcement.at <= now {
            self.announcement = nil
            emit(.message(.streamPublished(stream(announcement.stream))))
        }
        if let candidatesNotBefore, candidatesNotBefore <= now { self.candidatesNotBefore = nil }
    }

    // MARK: Requests

    /// What to send now; the next one when this one's result is in.
    mutating func nextRequest() -> HTTPClientRequest? {
        guard inFlight == nil else { return nil }
        if !deletions.isEmpty {
            let (url, token) = deletions.removeFirst()
            inFlight = .deletion
            return HTTPClientRequest("DELETE", url, token: token, timeout: .seconds(5))
        }
        switch state {
        case .creating(let id, let offer):
            inFlight = .creation(id: id, offer: offer)
            // The end of candidates is told when it is known whether the endpoint names servers that give more of them.
            let text = settings.takesICEServers ? SessionDescriptionText.withoutEndOfCandidates(offer) : offer
            return HTTPClientRequest(
                "POST", settings.endpoint,
                headers: [
                    ("Content-Type", "application/sdp"), ("Accept", "application/sdp, application/problem+json"),
                ],
                token: settings.token, body: Array(text.utf8))
        case .live(let id, let resource):
            if let offer = restartOffer {
                restartOffer = nil
                inFlight = .restart(id: id, offer: offer)
                return patch(resource, TrickleFragment.text(of: offer), ifMatch: "*")
            }
            return candidateRequest(id, resource)
        case .idle, .describing: return nil
        }
    }

    /// All candidates that wait, in one request (RFC 9725 §4.3.2).
    private mutating func candidateRequest(_ id: String, _ resource: Resource) -> HTTPClientRequest? {
        let current = SessionDescriptionText.value(of: "ice-ufrag", in: resource.offer)
        candidates.removeAll { $0.usernameFragment != nil && $0.usernameFragment != current }
        guard resource.takesCandidates, !candidates.isEmpty, candidatesNotBefore == nil else { return nil }
        let sent = candidates
        candidates = []
        inFlight = .candidates(id: id, sent)
        let described = SessionDescriptionText.adding(
            sent.filter { !$0.isEndOfCandidates }, isEnd: sent.contains(where: \.isEndOfCandidates),
            to: SessionDescriptionText.withoutCandidates(resource.offer))
        return patch(resource, TrickleFragment.text(of: described), ifMatch: resource.entityTag)
    }

    private func patch(_ resource: Resource, _ fragment: String, ifMatch: String?) -> HTTPClientRequest {
        var headers = [(name: "Content-Type", value: Self.fragmentType)]
        if let ifMatch { headers.append(("If-Match", ifMatch)) }
        return HTTPClientRequest(
            "PATCH", resource.url, headers: headers, token: resource.token, body: Array(fragment.utf8),
            timeout: .seconds(10))
    }
}
