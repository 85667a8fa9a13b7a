import EmisoraCore
import EmisoraSignalingProtocol

/// WHEP (draft-ietf-wish-whep) as a thin door onto the rooms: each session is a participant that joins, subscribes
/// with the HTTP client's offer and hands back the publisher's answer.
///
/// One mutation, then drain `pollResponse()`. `RoomDirectory`'s outputs to a connection of ours come in by
/// `handle(_:for:now:)`.
struct WHEPGateway<Random: RandomNumberGenerator & Sendable>: Sendable {
    typealias Directory = RoomDirectory<Random>

    private struct Session {
        var room: String
        var stream: String
        var connection: Directory.ConnectionID
        /// The request that waits for the answer; nil once answered.
        var waiting: (request: HTTPRequestID, deadline: Instant)?
        /// The answer, while its publisher still finds candidates, and those found.
        var held: (sdp: String, candidates: [TrickledCandidate])?
        /// `a=ice-ufrag` of the offer: a fragment with another one asks for an ICE restart.
        var usernameFragment: String?
    }

    private static var maximumHeldCandidates: Int { 64 }
    /// Of a candidate's line with all its extensions.
    private static var maximumCandidateByteCount: Int { 512 }

    private var random: Random
    private let answerTimeout: Duration
    private let sessionLimit: Int
    private let access: AccessPolicy
    private let iceServers: ICEServerList
    private var sessions: [String: Session] = [:]
    private var sessionOfConnection: [Directory.ConnectionID: String] = [:]
    private var responses: [(HTTPResponse, HTTPRequestID)] = []

    init(
        random: Random, answerTimeout: Duration, sessionLimit: Int = 1_000, access: AccessPolicy = .open,
        iceServers: ICEServerList = ICEServerList()
    ) {
        self.random = random
        self.access = access
        self.iceServers = iceServers
        self.answerTimeout = answerTimeout
        self.sessionLimit = sessionLimit
    }

    // MARK: Requests

    /// `path`: what follows `/whep/`, split at slashes, names not yet checked.
    mutating func handle(
        _ request: HTTPRequest, path: [Substring], id: HTTPRequestID, directory: inout Directory, now: Instant
    ) {
        guard (1...3).contains(path.count), path.allSatisfy({ SignalingProtocol.isWellFormed(name: $0) }) else {
            return respond(.problem(404, "WHEP is at /whep/ROOM and /whep/ROOM/STREAM."), to: id)
        }
        let isSession = path.count == 3
        // What a token began it may end after its time, too; the session's id is known to its owner alone.
        let verdict = access.authorize(request.token, for: String(path[0]), mayBeExpired: isSession)
        switch (request.method, isSession, verdict) {
        case (.options, _, _):
            // A browser asks without the token; who shows one is told of the servers before it makes its offer.
            let links = if case .granted = verdict { links() } else { [String]() }
            respond(
                HTTPResponse(
                    status: 204,
                    headers: [
                        ("Access-Control-Allow-Methods", "POST, PATCH, DELETE, OPTIONS"),
                        ("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match"),
                        ("Access-Control-Max-Age", "86400"), ("Accept-Post", "application/sdp"),
                        ("Accept-Patch", "application/trickle-ice-sdpfrag"),
                    ] + links.map { ("Link", $0) }), to: id)
        case (.get, _, _), (.head, _, _):
            respond(HTTPResponse(status: 204), to: id)
        case (_, _, .refused(let why)):
            respond(.unauthorized(why), to: id)
        case (.post, false, .granted(let grant)):
            let stream = path.count == 2 ? String(path[1]) : nil
            start(
                request, room: String(path[0]), stream: stream, grant: grant, id: id, directory: &directory, now: now)
        case (.patch, true, _):
            respond(trickle(request, session: path, directory: &directory), to: id)
        case (.delete, true, _):
            respond(delete(path, directory: &directory), to: id)
        default:
            let allowed = isSession ? "GET, HEAD, PATCH, DELETE, OPTIONS" : "GET, HEAD, POST, OPTIONS"
            respond(.problem(405, "Allowed here: \(allowed).").adding("Allow", allowed), to: id)
        }
    }

    /// The HTTP client went away while it waited.
    mutating func abandon(_ request: HTTPRequestID, directory: inout Directory) {
        guard let (id, _) = sessions.first(where: { $0.value.waiting?.request == request }) else { return }
        end(id, reason: .left, directory: &directory)
    }

    private mutating func start(
        _ request: HTTPRequest, room: String, stream: String?, grant: Grant, id: HTTPRequestID,
        directory: inout Directory, now: Instant
    ) {
        guard request.mediaType == "application/sdp" else {
            return respond(.problem(415, "An offer comes as application/sdp."), to: id)
        }
        guard let offer = String(validating: request.body, as: UTF8.self), SessionDescriptionText.isOffer(offer) else {
            return respond(.problem(400, "The body is not an SDP offer to receive audio or video."), to: id)
        }
        guard let streams = directory.streams(in: room) else {
            return respond(.problem(404, "There is no room \(room)."), to: id)
        }
        guard let stream = stream ?? streams.first, streams.contains(stream) else {
            return respond(.problem(404, "No such stream is live in the room \(room)."), to: id)
        }
        guard sessions.count < sessionLimit else {
            return respond(.problem(503, "The server takes no more WHEP sessions.").adding("Retry-After", "10"), to: id)
        }
        let session = SignalingProtocol.makeIdentifier(using: &random)
        let connection = directory.connect(allowedRoom: room, grant: grant)
        sessions[session] = Session(
            room: room, stream: stream, connection: connection, waiting: (id, now + answerTimeout),
            usernameFragment: SessionDescriptionText.value(of: "ice-ufrag", in: offer))
        sessionOfConnection[connection] = session
        directory.handle(.join(version: SignalingProtocol.version, room: room), from: connection)
        directory.handle(.subscribe(subscription: session, stream: stream, sdp: offer), from: connection)
    }

    private mutating func trickle(
        _ request: HTTPRequest, session path: [Substring], directory: inout Directory
    ) -> HTTPResponse {
        guard let (id, session) = find(path) else { return .problem(404, "There is no such session.") }
        guard request.mediaType == "application/trickle-ice-sdpfrag" else {
            return .problem(415, "Candidates come as application/trickle-ice-sdpfrag.")
        }
        guard let text = String(validating: request.body, as: UTF8.self),
            let candidates = SessionDescriptionText.candidates(inFragment: text)
        else { return .problem(400, "The body is not an SDP fragment with candidates.") }
        let fragment = SessionDescriptionText.value(of: "ice-ufrag", in: text)
        guard fragment == nil || session.usernameFragment == nil || fragment == session.usernameFragment else {
            return .problem(422, "ICE restarts are not supported; begin a new session.")
        }
        for candidate in candidates {
            directory.handle(.candidate(subscription: id, candidate: candidate), from: session.connection)
        }
        return HTTPResponse(status: 204)
    }

    private mutating func delete(_ path: [Substring], directory: inout Directory) -> HTTPResponse {
        guard let (id, _) = find(path) else { return .problem(404, "There is no such session.") }
        end(id, reason: .bye, directory: &directory)
        return HTTPResponse(status: 200)
    }

    private func find(_ path: [Substring]) -> (String, Session)? {
        let id = String(path[2])
        guard let session = sessions[id], session.room == path[0], session.stream == path[1] else { return nil }
        return (id, session)
    }

    // MARK: Messages from the room

    func owns(_ connection: Directory.ConnectionID) -> Bool {
        sessionOfConnection[connection] != nil
    }

    mutating func handle(
        _ message: SignalingMessage, for connection: Directory.ConnectionID, directory: inout Directory
    ) {
        guard let id = sessionOfConnection[connection], let session = sessions[id] else { return }
        switch message {
        case .answer(id, let sdp):
            guard session.waiting != nil else { return }
            if SessionDescriptionText.tricklesOn(sdp) {
                sessions[id]?.held = (sdp, [])
            } else {
                deliver(sdp, of: id, session)
            }
        case .candidate(id, let candidate):
            guard let held = session.held else { return }
            if !candidate.isEndOfCandidates {
                if held.candidates.count < Self.maximumHeldCandidates,
                    candidate.candidate.utf8.count <= Self.maximumCandidateByteCount
                {
                    sessions[id]?.held?.candidates.append(candidate)
                }
            } else {
                deliver(SessionDescriptionText.adding(held.candidates, to: held.sdp), of: id, session)
            }
        case .subscriptionEnded(id, let reason):
            answer(session, with: Self.problem(for: reason))
            forget(id, directory: &directory)
        case .error(let error) where session.waiting != nil:
            let response =
                switch error.code {
                case .streamNotFound, .roomNotFound: HTTPResponse.problem(404, "The stream is not live.")
                default: HTTPResponse.problem(503, "The room takes no more viewers.").adding("Retry-After", "10")
                }
            answer(session, with: response)
            forget(id, directory: &directory)
        default:
            // What a publisher finds after its answer was handed on HTTP has no way to send.
            break
        }
    }

    /// Hands the answer to the player; HTTP has no way to send candidates afterwards.
    private mutating func deliver(_ sdp: String, of id: String, _ session: Session) {
        guard let waiting = session.waiting else { return }
        sessions[id]?.waiting = nil
        sessions[id]?.held = nil
        respond(
            HTTPResponse(
                status: 201,
                headers: [
                    ("Content-Type", "application/sdp"),
                    ("Location", "/whep/\(session.room)/\(session.stream)/\(id)"),
                    ("Access-Control-Expose-Headers", "Location, Link"),
                    ("Accept-Patch", "application/trickle-ice-sdpfrag"),
                ] + links(for: id).map { ("Link", $0) }, body: Array(sdp.utf8)), to: waiting.request)
    }

    /// STUN and TURN servers as HTTP headers; with credentials of the session's own, or of nobody's.
    private mutating func links(for session: String? = nil) -> [String] {
        iceServers.servers(for: session ?? SignalingProtocol.makeIdentifier(using: &random)).flatMap(Self.links)
    }

    /// draft-ietf-wish-whep §4.4: how a player is told of servers.
    private static func links(_ server: ICEServerDescription) -> [String] {
        func quoted(_ text: String) -> String {
            "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
        }
        return server.urls.map { url in
            var link = "<\(url)>; rel=\"ice-server\""
            if let username = server.username, let credential = server.credential {
                link += "; username=\(quoted(username)); credential=\(quoted(credential)); credential-type=\"password\""
            }
            return link
        }
    }

    private static func problem(for reason: SubscriptionEndReason) -> HTTPResponse {
        switch reason {
        case .noCommonCodec: .problem(406, "The publisher has no codec in common with the offer.")
        case .invalidOffer: .problem(400, "The publisher could not read the offer.")
        case .tooManySubscribers:
            .problem(503, "The publisher takes no more viewers.").adding("Retry-After", "10")
        default: .problem(404, "The stream ended before it answered.")
        }
    }

    // MARK: Time

    var nextDeadline: Instant? {
        sessions.values.compactMap { $0.waiting?.deadline }.min()
    }

    mutating func handleTimeout(directory: inout Directory, now: Instant) {
        for (id, session) in sessions {
            guard let waiting = session.waiting, waiting.deadline <= now else { continue }
            // A publisher that waits for a server that does not answer has candidates that may do.
            if let held = session.held {
                deliver(SessionDescriptionText.adding(held.candidates, to: held.sdp), of: id, session)
                continue
            }
            respond(.problem(504, "The publisher did not answer in time."), to: waiting.request)
            sessions[id]?.waiting = nil
            end(id, reason: .timedOut, directory: &directory)
        }
    }

    mutating func pollResponse() -> (HTTPResponse, HTTPRequestID)? {
        responses.isEmpty ? nil : responses.removeFirst()
    }

    // MARK: Ends

    private mutating func end(_ id: String, reason: SubscriptionEndReason, directory: inout Directory) {
        guard let session = sessions[id] else { return }
        directory.handle(.bye(subscription: id, reason: reason), from: session.connection)
        forget(id, directory: &directory)
    }

    private mutating func forget(_ id: String, directory: inout Directory) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        sessionOfConnection[session.connection] = nil
        directory.disconnect(session.connection)
    }

    private mutating func answer(_ session: Session, with response: HTTPResponse) {
        guard let waiting = session.waiting else { return }
        respond(response, to: waiting.request)
    }

    private mutating func respond(_ response: HTTPResponse, to request: HTTPRequestID) {
        responses.append((response, request))
    }
}
