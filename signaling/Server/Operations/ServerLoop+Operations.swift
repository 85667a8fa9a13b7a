import CEmisoraWebsockets
import EmisoraCore
import EmisoraOperations
import EmisoraSignalingProtocol

/// What the loop counts and says for those who run the server, and how it ends without hurry.
///
/// ```
/// serving ──beginDrain──▶ draining ──all have left, or time is up──▶ closing (1001) ──all gone, or 2 s──▶ over
/// ```
extension ServerLoop {
    struct Drain {
        var deadline: Instant
        var isClosing = false
    }

    private static var closingTime: Duration { .seconds(2) }

    // MARK: Counting

    func count(refusal: ServerMetrics.Refusal) {
        traffic.refusals[refusal.rawValue, default: 0] &+= 1
        log.record(
            .debug, "connection.refused", "A connection was refused.", ["reason": .text(refusal.rawValue)])
    }

    func count(response status: Int, to exchange: Exchange) {
        traffic.responses["\(status)", default: 0] &+= 1
        let time = exchange.submittedAt.map { (Instant.monotonic - $0).inSeconds } ?? 0
        traffic.answerTime.observe(time)
        // Paths have names of rooms, and ids by which a session is ended.
        log.record(
            .debug, "http.response", "A request was answered.",
            [
                "method": .text(exchange.request.method.rawValue), "status": .integer(status),
                "seconds": .number(time),
            ])
    }

    /// Names that others in the room know, too; nothing by which somebody could act for a participant.
    func joined(_ socket: OpaquePointer) {
        guard let connection = sockets[socket]?.connection, let (room, id) = core.place(of: connection) else { return }
        let place: [String: Log.Value] = ["room": .text(room), "participant": .text(id)]
        sockets[socket]?.place = place
        log.record(.debug, "participant.joined", "A participant joined.", place)
    }

    func publishMetrics() {
        metrics.publish(
            .init(
                load: core.load, counters: core.counters, roomCounters: core.roomCounters, traffic: traffic,
                connections: gate.connectionCount))
    }

    /// Whether it is from a program of this machine: not from afar, by no proxy that says so, and no page that was led
    /// here by a name of its own.
    func isLocal(_ socket: OpaquePointer, host: String?) -> Bool {
        let peer = peer(of: lws_get_socket_fd(socket))
        // ::ffff:127.0.0.0/104 is IPv4's on a socket of both families.
        let isMapped = peer.family == .v6 && peer.high == 0 && peer.low >> 24 == 0xFFFF_7F
        guard peer.isLoopback || isMapped,
            lws_hdr_total_length(socket, WSI_TOKEN_X_FORWARDED_FOR) == 0,
            lws_hdr_total_length(socket, WSI_TOKEN_HTTP_VIA) == 0
        else { return false }
        return host == nil || host.flatMap { Authority($0) }?.isLoopback == true
    }

    /// Responses that the core has no part in.
    func operationsResponse(to request: HTTPRequest) -> HTTPResponse? {
        // Counting costs what there is to count, which is nobody's to ask for but theirs.
        if request.path == "/metrics", pages.readers == .thisMachine, request.isLocal { publishMetrics() }
        if let response = pages.response(to: request) { return response }
        return drainState != nil && request.method == .post ? OperationsPages.draining : nil
    }

    // MARK: Draining

    var isDrained: Bool {
        guard let drainState else { return false }
        let now = Instant.monotonic
        if drainState.isClosing { return sockets.isEmpty || now >= drainState.deadline }
        return false
    }

    func beginDrain(_ time: Duration) {
        guard drainState == nil else { return }
        drainState = Drain(deadline: .monotonic + time)
        metrics.readiness = .draining
        log.record(
            .info, "server.draining", "No new clients are taken; those that there are have time to leave.",
            ["seconds": .number(time.inSeconds), "websockets": .integer(sockets.count)])
        for (socket, state) in sockets where state.connection.map({ !core.hasJoined($0) }) ?? true { goAway(socket) }
        continueDrain()
        drain()
    }

    /// Looks whether it is time to close, and closes.
    func continueDrain() {
        guard let state = drainState, !state.isClosing else { return }
        let now = Instant.monotonic
        let isEmpty = sockets.isEmpty && exchanges.isEmpty && core.httpSessionCount == 0
        guard isEmpty || now >= state.deadline else { return }
        drainState = Drain(deadline: now + Self.closingTime, isClosing: true)
        for socket in sockets.keys { goAway(socket) }
    }

    /// Ends a websocket with 1001 (RFC 6455 §7.4.1), which tells its client to try again.
    func goAway(_ socket: OpaquePointer) {
        sockets[socket]?.goesAway = true
        closeWhenSent(socket)
    }
}
