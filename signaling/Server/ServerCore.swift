import EmisoraCore
import EmisoraSignalingProtocol

/// Everything the server decides, without sockets: bytes and requests in, bytes and responses out.
///
/// Composes the rooms, the WHIP and WHEP doors and the pages; bounds what one client may do. One mutation, then drain
/// `pollOutput()`; call `handleTimeout(now:)` at `nextDeadline`.
struct ServerCore<Random: RandomNumberGenerator & Sendable>: Sendable {
    typealias Directory = RoomDirectory<Random>
    typealias ConnectionID = Directory.ConnectionID

    enum Output: Equatable, Sendable {
        case send([UInt8], to: ConnectionID)
        /// Close once everything sent has gone out.
        case close(ConnectionID)
        /// It reads too slowly: end it at once.
        case hangUp(ConnectionID)
        /// It has joined a room.
        case admitted(ConnectionID)
        case respond(HTTPResponse, to: HTTPRequestID)
        case backplane(BackplaneCommand)
    }

    struct Settings: Sendable {
        /// How long an HTTP client waits for the other side's answer.
        var answerTimeout: Duration = .seconds(10)
        /// How long after its answer the other side may find candidates that go with it.
        var gatheringTimeout: Duration = .seconds(2)
        var limits = ServerLimits()
        var access = AccessPolicy.open
        var origins = OriginPolicy.any
        var hosts = HostPolicy.any
        /// STUN and TURN servers that are handed out to all who join.
        var iceServers = ICEServerList()
        /// This server's id among several that share their rooms; `nil`: it stands alone.
        var node: String?
        /// Whether figures are read elsewhere than from the loop itself.
        var publishesMetrics = false
        /// Whether the loop offers the tests' echo beside signaling.
        var echoes = false

        init() {}
    }

    private let settings: Settings
    private(set) var counters = ServerCounters()
    var roomCounters: RoomCounters { directory.counters }
    private var directory: Directory
    private var endpoints: EndpointGateway<Random>
    /// What may still come; of those that are listened to.
    private var allowances: [ConnectionID: Allowance] = [:]
    /// What has not gone out yet; of those that are spoken to.
    private var backlogs: [ConnectionID: Backlog<ConnectionID>] = [:]
    /// Of those that have said something to all.
    private var signalBudgets: [ConnectionID: SignalBudget] = [:]
    /// Of those that have not joined yet.
    private var joinDeadlines: [ConnectionID: Instant] = [:]
    /// Of requests that will be answered, where a page of another server asks.
    private var origins: [HTTPRequestID: String] = [:]
    private var outputs: [Output] = []
    private var nextOutput = 0

    init(random: Random, settings: Settings = Settings()) {
        self.settings = settings
        directory = Directory(
            random: random, limits: settings.limits, access: settings.access, iceServers: settings.iceServers,
            node: settings.node)
        // A generator is a value: two copies of a seeded one would make the same ids, in tests only, and these two
        // make ids of different things.
        endpoints = EndpointGateway(
            random: random, answerTimeout: settings.answerTimeout, gatheringTimeout: settings.gatheringTimeout,
            limits: settings.limits,
            access: settings.access, iceServers: settings.iceServers)
    }

    // MARK: Websocket

    /// A websocket connection to `/room`; name and token are checked when the client joins, so that it gets a typed
    /// error.
    ///
    /// - Parameters:
    ///   - address: Where it comes from.
    ///   - token: What came with the request for the connection.
    mutating func opened(
        room: String, from address: IPAddress? = nil, token: BearerToken? = nil, now: Instant
    ) -> ConnectionID {
        let connection = directory.connect(allowedRoom: room, from: address, token: token)
        allowances[connection] = Allowance(settings.limits, now: now)
        backlogs[connection] = Backlog(limit: settings.limits.backlogBytes)
        joinDeadlines[connection] = now + settings.limits.strangerTimeout
        return connection
    }

    mutating func received(_ message: [UInt8], from connection: ConnectionID, now: Instant) {
        endpoints.now = now
        guard spendAllowance(of: connection, bytes: message.count, now: now) else { return }
        do {
            let message = try SignalingMessage(json: message)
            counters.received(message)
            try spendSignalBudget(on: message, of: connection, now: now)
            directory.handle(message, from: connection, now: now)
        } catch {
            directory.refuse(error, to: connection)
        }
        if let deadline = joinDeadlines[connection], directory.hasJoined(connection) {
            joinDeadlines[connection] = nil
            counters.joined(after: settings.limits.strangerTimeout - (deadline - now))
            outputs.append(.admitted(connection))
        }
        settle()
    }

    /// A message was longer than the protocol allows; its bytes were not kept.
    mutating func receivedOversized(_ byteCount: Int, from connection: ConnectionID, now: Instant) {
        guard spendAllowance(of: connection, bytes: byteCount, now: now) else { return }
        directory.refuse(
            SignalingError(
                .messageTooLarge, "A message has at most \(SignalingProtocol.maximumMessageSize) bytes."),
            to: connection)
        settle()
    }

    /// The oldest of the messages to it has gone out. Gives whether there are outputs now.
    @discardableResult
    mutating func sent(to connection: ConnectionID) -> Bool {
        backlogs[connection]?.removeFirst()
        guard let backlog = backlogs[connection], backlog.byteCount <= settings.limits.backlogBytes / 4 else {
            return false
        }
        directory.catchUp(connection)
        settle()
        return nextOutput < outputs.count
    }

    mutating func closed(_ connection: ConnectionID, now: Instant) {
        allowances[connection] = nil
        backlogs[connection] = nil
        signalBudgets[connection] = nil
        joinDeadlines[connection] = nil
        endpoints.now = now
        directory.lost(connection, now: now)
        settle()
    }

    private mutating func spendAllowance(of connection: ConnectionID, bytes: Int, now: Instant) -> Bool {
        guard var allowance = allowances[connection] else { return false }
        if allowance.spend(bytes: bytes, settings.limits, now: now) {
            allowances[connection] = allowance
            return true
        }
        allowances[connection] = nil
        counters.count(.websocket)
        directory.refuse(SignalingError(.tooManyMessages, "Messages come too fast."), to: connection)
        settle()
        outputs.append(.close(connection))
        return false
    }

    private mutating func spendSignalBudget(
        on message: SignalingMessage, of connection: ConnectionID, now: Instant
    ) throws(SignalingError) {
        guard case .signal(let signal) = message else { return }
        let count = directory.relayedByteCount(of: signal, from: connection)
        guard count > 0 else { return }
        var budget = signalBudgets[connection] ?? SignalBudget(settings.limits, now: now)
        let isGranted = budget.take(count, now: now)
        signalBudgets[connection] = budget
        guard isGranted else {
            throw SignalingError(
                .limitReached, "Signals to all come too fast for a room of this size; say less, or wait a little.",
                inReplyTo: message.type)
        }
    }

    // MARK: Other nodes

    mutating func happened(_ event: BackplaneEvent, now: Instant) {
        directory.happened(event, now: now)
        settle()
    }

    /// Tells the other nodes that this one ends, and its participants may come to them.
    mutating func ends() {
        directory.ends()
        settle()
    }

    // MARK: HTTP

    mutating func requested(_ request: HTTPRequest, id: HTTPRequestID, now: Instant) {
        endpoints.now = now
        guard settings.hosts.allows(request.host) else {
            return outputs.append(.respond(.misdirected, to: id))
        }
        let path = request.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        if let kind = path.first.flatMap({ EndpointKind(rawValue: String($0)) }) {
            guard settings.origins.allows(request.origin, host: request.host) else {
                let detail = "Pages of this origin may not use the server; its operator allows them by --allow-origin."
                return outputs.append(.respond(.problem(403, detail), to: id))
            }
            origins[id] = request.origin
            endpoints.handle(
                request, to: kind, path: Array(path.dropFirst()), id: id, directory: &directory, now: now)
        } else {
            outputs.append(.respond(page(request, path: path), to: id))
        }
        settle()
    }

    /// The client went away before it had its response.
    mutating func abandoned(_ request: HTTPRequestID) {
        origins[request] = nil
        endpoints.abandon(request, directory: &directory)
        settle()
    }

    private func page(_ request: HTTPRequest, path: [Substring]) -> HTTPResponse {
        let page: HTTPResponse? =
            switch path.joined(separator: "/") {
            case "": .html(RoomListPage.html(rooms: settings.access.isOpen ? directory.liveRooms : nil))
            case "healthz": .text(200, "application/json", "{\"status\":\"ok\",\"rooms\":\(directory.roomCount)}\n")
            case "assets/style.css": .text(200, "text/css; charset=utf-8", Stylesheet.css)
            case "assets/viewer.js": .text(200, "text/javascript; charset=utf-8", ViewerScript.javaScript)
            default:
                path.count == 1 && SignalingProtocol.isValid(name: path[0]) ? .html(ViewerPage.html) : nil
            }
        guard let page else { return .problem(404, "There is no such page; a room is at /ROOM.") }
        guard request.method == .get || request.method == .head else {
            return .problem(405, "Allowed here: GET, HEAD.").adding("Allow", "GET, HEAD")
        }
        return page.adding("Cache-Control", "no-store")
    }

    // MARK: What is there

    func hasJoined(_ connection: ConnectionID) -> Bool { directory.hasJoined(connection) }

    /// The room that it has joined, and its participant's id there.
    func place(of connection: ConnectionID) -> (room: String, id: String)? {
        guard let participant = directory.participants[connection], let room = participant.room else { return nil }
        return (room, participant.id)
    }

    var httpSessionCount: Int { endpoints.sessions.count }

    var load: ServerLoad {
        var load = directory.load
        load.websockets = backlogs.count
        load.httpSessions = endpoints.sessionCounts
        return load
    }

    // MARK: Time

    var nextDeadline: Instant? {
        [endpoints.nextDeadline, joinDeadlines.values.min(), directory.nextDeadline].compactMap(\.self).min()
    }

    mutating func handleTimeout(now: Instant) {
        endpoints.now = now
        endpoints.handleTimeout(directory: &directory, now: now)
        directory.handleTimeout(now: now)
        for (connection, deadline) in joinDeadlines where deadline <= now {
            joinDeadlines[connection] = nil
            directory.refuse(SignalingError(.notJoined, "No \"join\" came in time."), to: connection)
            settle()
            outputs.append(.close(connection))
        }
        settle()
    }

    mutating func pollOutput() -> Output? {
        guard nextOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            nextOutput = 0
            return nil
        }
        defer { nextOutput += 1 }
        return outputs[nextOutput]
    }

    /// Carries the rooms' outputs to the websocket clients and to the doors, whose own messages may bring more.
    private mutating func settle() {
        while let output = directory.pollOutput() {
            switch output {
            case .send(let message, let connection), .relay(let message, _, let connection, _):
                if endpoints.owns(connection) {
                    endpoints.handle(message, for: connection, directory: &directory)
                } else {
                    send(output, message, to: connection)
                }
            case .close(let connection):
                // Nothing that came behind its end counts any more.
                allowances[connection] = nil
                outputs.append(.close(connection))
            case .backplane(let command):
                outputs.append(.backplane(command))
            }
        }
        while let (response, request) = endpoints.pollResponse() {
            if response.status == HTTPResponse.tooMany.status { counters.count(.http) }
            outputs.append(.respond(sharing(response, for: request), to: request))
        }
    }

    private mutating func send(_ output: Directory.Output, _ message: SignalingMessage, to connection: ConnectionID) {
        guard let backlog = backlogs[connection] else { return }
        let bytes = message.json()
        let sender: ConnectionID? = if case .relay(_, let sender, _, _) = output { sender } else { nil }
        if case .relay(_, let sender, _, canFail: true) = output, !backlog.hasRoom(for: bytes.count, of: sender) {
            return directory.relayFailed(message, from: sender, to: connection)
        }
        guard backlog.hasRoom(for: bytes.count) else {
            backlogs[connection] = nil
            return outputs.append(.hangUp(connection))
        }
        backlogs[connection]?.append(bytes.count, of: sender)
        counters.sent(message)
        outputs.append(.send(bytes, to: connection))
    }

    /// What lets a page of another origin read the response (Fetch §3.2).
    private mutating func sharing(_ response: HTTPResponse, for request: HTTPRequestID) -> HTTPResponse {
        let origin = origins.removeValue(forKey: request)
        if settings.origins.allowsAll { return response.adding("Access-Control-Allow-Origin", "*") }
        let varying = response.adding("Vary", "Origin")
        return origin.map { varying.adding("Access-Control-Allow-Origin", $0) } ?? varying
    }
}

extension HTTPResponse {
    /// Our pages load their own script and style and talk to this server; nothing else may run in or around them.
    static func html(_ text: String) -> Self {
        .text(200, "text/html; charset=utf-8", text).adding(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
                + "media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    }
}
