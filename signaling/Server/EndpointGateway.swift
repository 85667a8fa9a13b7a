import EmisoraCore
import EmisoraSignalingProtocol

/// WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep) as two thin doors onto the rooms: each session is a participant that
/// joins, hands the HTTP client's offer to the other side, and the other side's answer back.
///
/// One mutation, then drain `pollResponse()`. `RoomDirectory`'s outputs to a connection of ours come in by
/// `handle(_:for:directory:)`. What the rooms say, and the ends of sessions, stand in an extension.
struct EndpointGateway<Random: RandomNumberGenerator & Sendable>: Sendable {
    typealias Directory = RoomDirectory<Random>
    typealias Session = EndpointSession<Directory.ConnectionID>

    static var fragmentType: String { "application/trickle-ice-sdpfrag" }

    private var random: Random
    private let answerTimeout: Duration
    let gatheringTimeout: Duration
    private let limits: ServerLimits
    private let access: AccessPolicy
    private let iceServers: ICEServerList
    var sessions: [String: Session] = [:]
    var sessionOfConnection: [Directory.ConnectionID: String] = [:]
    /// For sessions that are to begin; what goes on in one is bounded by its own.
    private var beginnings = SiteAllowances()
    private var responses: [(HTTPResponse, HTTPRequestID)] = []
    /// Of whatever happens next: what the rooms say comes without a time of its own.
    var now = Instant.zero

    init(
        random: Random, answerTimeout: Duration, gatheringTimeout: Duration, limits: ServerLimits = ServerLimits(),
        access: AccessPolicy = .open, iceServers: ICEServerList = ICEServerList()
    ) {
        self.random = random
        self.access = access
        self.iceServers = iceServers
        self.answerTimeout = answerTimeout
        self.gatheringTimeout = gatheringTimeout
        self.limits = limits
    }

    // MARK: Requests

    /// `path`: what follows `/whip/` or `/whep/`, split at slashes, names not yet checked.
    mutating func handle(
        _ request: HTTPRequest, to kind: EndpointKind, path: [Substring], id: HTTPRequestID,
        directory: inout Directory, now: Instant
    ) {
        guard (1...3).contains(path.count), path.allSatisfy({ SignalingProtocol.isWellFormed(name: $0) }) else {
            let base = "/\(kind.rawValue)/ROOM"
            return respond(.problem(404, "\(kind.protocolName) is at \(base) and \(base)/STREAM."), to: id)
        }
        let isSession = path.count == 3
        // Also of who has no token: each costs a look at it.
        if request.method == .post,
            !beginnings.spend(from: request.address, bytes: request.body.count, limits, now: now)
        {
            return respond(.tooMany, to: id)
        }
        // What a token began it may end after its time, too, and keep connected; the session's id is known to its owner
        // alone. TURN credentials, which OPTIONS hands out, are for tokens that are valid now.
        let isLive = isSession && [.patch, .delete].contains(request.method)
        let verdict = access.authorize(request.token, for: String(path[0]), mayBeExpired: isLive)
        switch (request.method, isSession, verdict) {
        case (.options, _, _): respond(preflight(verdict), to: id)
        // RFC 9725 §4.2: reserved, and answered with success and nothing.
        case (.get, _, _), (.head, _, _): respond(HTTPResponse(status: 204), to: id)
        case (_, _, .refused(let why)): respond(.unauthorized(why), to: id)
        case (.post, false, .granted(let grant)):
            let stream = path.count == 2 ? String(path[1]) : nil
            create(
                request, kind, room: String(path[0]), stream: stream, grant: grant, id: id, directory: &directory,
                now: now)
        case (.patch, true, _): patch(request, kind, session: path, id: id, directory: &directory, now: now)
        case (.delete, true, _):
            // RFC 9725 §4.3.1: whatever `If-Match` says.
            respond(delete(kind, path, directory: &directory), to: id)
        default:
            let allowed = isSession ? "GET, HEAD, PATCH, DELETE, OPTIONS" : "GET, HEAD, POST, OPTIONS"
            respond(.problem(405, "Allowed here: \(allowed).").adding("Allow", allowed), to: id)
        }
    }

    private mutating func preflight(_ verdict: AccessPolicy.Verdict) -> HTTPResponse {
        // A browser asks without the token; who shows one is told of the servers before it makes its offer.
        let links = if case .granted = verdict { links() } else { [String]() }
        return HTTPResponse(
            status: 204,
            headers: [
                ("Access-Control-Allow-Methods", "POST, PATCH, DELETE, OPTIONS"),
                ("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match"),
                ("Access-Control-Max-Age", "86400"), ("Accept-Post", "application/sdp"),
                ("Accept-Patch", Self.fragmentType),
            ] + links.map { ("Link", $0) })
    }

    /// The HTTP client went away while it waited.
    mutating func abandon(_ request: HTTPRequestID, directory: inout Directory) {
        guard let (id, session) = sessions.first(where: { $0.value.exchange?.request == request }) else { return }
        if session.exchange?.purpose == .creation {
            end(id, reason: .left, directory: &directory)
        } else {
            sessions[id]?.exchange?.request = nil
        }
    }

    // MARK: A new session

    private mutating func create(
        _ request: HTTPRequest, _ kind: EndpointKind, room: String, stream: String?, grant: Grant, id: HTTPRequestID,
        directory: inout Directory, now: Instant
    ) {
        guard request.mediaType == "application/sdp" else {
            return respond(.problem(415, "An offer comes as application/sdp."), to: id)
        }
        guard let offer = String(validating: request.body, as: UTF8.self) else {
            return respond(.problem(400, "The body is not text in UTF-8."), to: id)
        }
        if let fault = SessionDescriptionText.fault(inOffer: offer, sends: kind.clientSends) {
            return respond(Self.problem(for: fault, at: kind), to: id)
        }
        // Whose token is for one stream need not name it again.
        let name = kind == .whip ? stream ?? grant.stream : stream
        let live: String? =
            switch kind {
            case .whip: directory.receivedStream(in: room, named: name)
            case .whep: directory.liveStream(in: room, named: name)
            }
        guard let live else {
            let absent = kind == .whip ? "Nobody receives here" : "No such stream is live"
            return respond(
                .problem(404, "\(absent); is the room right, and is the \(kind.partner) there?"), to: id)
        }
        guard kind == .whep || grant.mayPublish(live) else {
            return respond(.problem(403, "The token does not allow to publish this stream."), to: id)
        }
        let entityTag = makeEntityTag()
        guard sessions.count < limits.httpSessions,
            sessions.values.count(where: { $0.room == room }) < limits.httpSessionsPerRoom,
            sessions.values.count(where: { $0.site == request.address.site }) < limits.httpSessionsPerAddress
        else {
            return respond(.problem(503, "The server takes no more sessions.").adding("Retry-After", "10"), to: id)
        }
        let session = SignalingProtocol.makeIdentifier(using: &random)
        let connection = directory.connect(allowedRoom: room, grant: grant)
        sessions[session] = Session(
            kind: kind, room: room, stream: live, connection: connection, site: request.address.site, offer: offer,
            entityTag: entityTag, allowance: Allowance(limits, now: now),
            exchange: .init(purpose: .creation, request: id, deadline: now + answerTimeout))
        sessionOfConnection[connection] = session
        directory.handle(.join(version: SignalingProtocol.version, room: room), from: connection)
        switch kind {
        case .whip: directory.ingest(subscription: session, stream: live, sdp: offer, from: connection)
        case .whep: directory.handle(.subscribe(subscription: session, stream: live, sdp: offer), from: connection)
        }
    }

    private static func problem(for fault: SessionDescriptionText.Fault, at kind: EndpointKind) -> HTTPResponse {
        switch fault {
        case .noOffer: .problem(400, "The body is not an SDP offer of audio or video.")
        case .wrongDirection:
            .problem(
                400,
                kind.clientSends
                    ? "Every media section of a WHIP offer is sendonly or sendrecv."
                    : "No media section of the offer wants to receive; a WHEP offer is recvonly.")
        case .unsupportedTracks: .problem(422, "At most one audio and one video track can be sent here.")
        }
    }

    /// STUN and TURN servers as HTTP headers; with credentials of the session's own, or of nobody's.
    mutating func links(for session: String? = nil) -> [String] {
        iceServers.servers(for: session ?? SignalingProtocol.makeIdentifier(using: &random))
            .flatMap(ICEServerLink.links)
    }

    mutating func makeEntityTag() -> String { "\"\(SignalingProtocol.makeIdentifier(using: &random))\"" }

    // MARK: Trickle and restart

    private mutating func patch(
        _ request: HTTPRequest, _ kind: EndpointKind, session path: [Substring], id: HTTPRequestID,
        directory: inout Directory, now: Instant
    ) {
        guard let (session, state) = find(kind, path), state.exchange?.purpose != .creation else {
            return respond(.problem(404, "There is no such session; it may have ended."), to: id)
        }
        guard spend(messages: 1, bytes: request.body.count, of: session, now: now) else {
            return respond(.tooMany, to: id)
        }
        guard request.mediaType == Self.fragmentType else {
            return respond(
                .problem(415, "A change comes as \(Self.fragmentType).").adding("Accept-Patch", Self.fragmentType),
                to: id)
        }
        guard let text = String(validating: request.body, as: UTF8.self), let fragment = TrickleFragment(parsing: text)
        else {
            return respond(.problem(400, "The body is not an SDP fragment with candidates or credentials."), to: id)
        }
        guard let condition = IfMatch(request.ifMatch) else {
            return respond(
                .problem(428, "Send If-Match: the last ETag with candidates, * with an ICE restart."), to: id)
        }
        guard condition.matches(state.entityTag) else {
            return respond(.problem(412, "If-Match names an earlier ICE session; send the last ETag."), to: id)
        }
        let isOfThisSession =
            fragment.usernameFragment == nil || state.usernameFragment == nil
            || fragment.usernameFragment == state.usernameFragment
        if isOfThisSession {
            // To the other side each of them is a message.
            let further = max(0, fragment.candidates.count - 1)
            guard spend(messages: further, bytes: 0, of: session, now: now) else {
                return respond(.tooMany, to: id)
            }
            for candidate in fragment.candidates(placedIn: state.offer) {
                directory.handle(.candidate(subscription: session, candidate: candidate), from: state.connection)
            }
            // RFC 9725 §4.3.2: without an entity-tag, since it is the same ICE session.
            respond(HTTPResponse(status: 204), to: id)
        } else {
            restart(session, state, fragment, condition, id: id, directory: &directory, now: now)
        }
    }

    private mutating func spend(messages: Int, bytes: Int, of session: String, now: Instant) -> Bool {
        guard var allowance = sessions[session]?.allowance,
            allowance.spend(messages: messages, bytes: bytes, limits, now: now)
        else { return false }
        sessions[session]?.allowance = allowance
        return true
    }

    private mutating func restart(
        _ session: String, _ state: Session, _ fragment: TrickleFragment, _ condition: IfMatch, id: HTTPRequestID,
        directory: inout Directory, now: Instant
    ) {
        guard condition == .any else {
            return respond(
                .problem(412, "These credentials are not those of the session; a restart has If-Match: *."), to: id)
        }
        guard let credentials = fragment.credentials, credentials.isWellFormed else {
            return respond(.problem(400, "A restart needs a=ice-ufrag and a=ice-pwd as RFC 8839 has them."), to: id)
        }
        guard state.exchange == nil else {
            return respond(.problem(409, "A restart is under way.").adding("Retry-After", "1"), to: id)
        }
        let offer = SessionDescriptionText.restarted(state.offer, with: credentials, fragment)
        guard offer.utf8.count <= SignalingProtocol.maximumMessageSize else {
            return respond(.problem(413, "The session's description would become too long."), to: id)
        }
        let exchange = Session.Exchange(purpose: .restart(offer: offer), request: id, deadline: now + answerTimeout)
        sessions[session]?.exchange = exchange
        directory.handle(.offer(subscription: session, sdp: offer), from: state.connection)
    }

    private mutating func delete(
        _ kind: EndpointKind, _ path: [Substring], directory: inout Directory
    ) -> HTTPResponse {
        guard let (id, _) = find(kind, path) else {
            return .problem(404, "There is no such session; it may have ended.")
        }
        end(id, reason: .bye, directory: &directory)
        return HTTPResponse(status: 200)
    }

    private func find(_ kind: EndpointKind, _ path: [Substring]) -> (String, Session)? {
        let id = String(path[2])
        guard let session = sessions[id], session.kind == kind, session.room == path[0], session.stream == path[1]
        else { return nil }
        return (id, session)
    }

    // MARK: Responses

    mutating func pollResponse() -> (HTTPResponse, HTTPRequestID)? {
        responses.isEmpty ? nil : responses.removeFirst()
    }

    mutating func respond(_ response: HTTPResponse, to request: HTTPRequestID) {
        // What a page may read beside the body, where its origin is allowed.
        let exposed = "Location, Link, ETag, Retry-After, Accept-Patch, Accept-Post"
        responses.append((response.adding("Access-Control-Expose-Headers", exposed), request))
    }
}
