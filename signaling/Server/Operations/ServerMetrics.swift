import EmisoraOperations
import Synchronization

/// The server's figures for Prometheus, and whether it takes somebody new; written by its thread, read by any.
final class ServerMetrics: Sendable {
    enum Readiness: String, Sendable {
        case starting, ready, draining
        /// What it needs to be of use is not there.
        case waiting
    }

    /// Why a connection was refused, or ended without having been of use.
    enum Refusal: String, CaseIterable, Sendable {
        /// No more of that address, or no more at all.
        case limit
        /// It gave way to a newer one, or showed nothing in time.
        case stranger
        /// A page of another site.
        case origin
        /// By a name that is not the server's.
        case host
        /// The server is about to end.
        case draining
        /// It did not read what it was sent.
        case slowReader
    }

    /// What the loop counts itself, beside what the core does.
    struct Traffic: Sendable {
        var receivedBytes: UInt64 = 0
        var sentBytes: UInt64 = 0
        var refusals = RoomCounters.zeros(Refusal.self)
        var responses: [String: UInt64] = [:]
        var answerTime = MetricHistogram()
    }

    struct Snapshot: Sendable {
        var load = ServerLoad()
        var counters = ServerCounters()
        var roomCounters = RoomCounters()
        var traffic = Traffic()
        var connections = 0
    }

    private struct State {
        var readiness = Readiness.starting
        var snapshot = Snapshot()
    }

    private let state = Mutex(State())

    var readiness: Readiness {
        get { state.withLock { $0.readiness } }
        set { state.withLock { $0.readiness = newValue } }
    }

    func publish(_ snapshot: Snapshot) {
        state.withLock { $0.snapshot = snapshot }
    }

    /// No names of rooms or streams: what there is of each is bounded, and says nothing about anybody.
    func exposition() -> String {
        let (readiness, now) = state.withLock { ($0.readiness, $0.snapshot) }
        var text = PrometheusText()
        func gauge(_ name: String, _ help: String, _ value: Int) {
            text.family("emisora_server_\(name)", .gauge, help, Double(value))
        }
        gauge(
            "ready", "Whether new clients are taken: 1, or 0 while the server starts or drains.",
            readiness == .ready ? 1 : 0)
        gauge("rooms", "Rooms with somebody in them.", now.load.rooms)
        gauge("participants", "Participants of all rooms, HTTP sessions included.", now.load.participants)
        gauge(
            "participants_away", "Of these: those whose connection is lost, and who are waited for.",
            now.load.participantsAway)
        gauge("streams", "Streams that are live.", now.load.streams)
        gauge("subscriptions", "Pairs of a sender and a receiver.", now.load.subscriptions)
        gauge("connections", "TCP connections.", now.connections)
        gauge("websockets", "Websocket connections, joined or not.", now.load.websockets)
        text.family(
            "emisora_server_http_sessions", .gauge, "Sessions of WHIP and WHEP clients.", by: "kind",
            now.load.httpSessions)
        text.family(
            "emisora_server_messages_received_total", .counter, "Signaling messages from clients.", by: "type",
            now.counters.messagesReceived)
        text.family(
            "emisora_server_messages_sent_total", .counter, "Signaling messages to clients.", by: "type",
            now.counters.messagesSent)
        text.family(
            "emisora_server_errors_total", .counter, "Messages of clients that were refused.", by: "code",
            now.counters.errors)
        text.family(
            "emisora_server_messages_lost_total", .counter, "Messages that found no room at whom they were for.",
            by: "reason", now.roomCounters.lost)
        text.family(
            "emisora_server_sessions_resumed_total", .counter,
            "Sessions that came back over another connection, by what was known of them.", by: "from",
            now.roomCounters.resumed)
        text.family(
            "emisora_server_sessions_expired_total", .counter, "Sessions that were waited for in vain.",
            Double(now.roomCounters.expired))
        text.family(
            "emisora_server_rate_limited_total", .counter, "Times that a client had used up its allowance.", by: "door",
            now.counters.rateLimited)
        text.family(
            "emisora_server_received_bytes_total", .counter, "Bytes of messages and of bodies of requests.",
            Double(now.traffic.receivedBytes))
        text.family(
            "emisora_server_sent_bytes_total", .counter, "Bytes of messages and of HTTP responses.",
            Double(now.traffic.sentBytes))
        text.family(
            "emisora_server_connections_refused_total", .counter, "Connections refused, or ended by the server.",
            by: "reason", now.traffic.refusals)
        text.family(
            "emisora_server_http_responses_total", .counter, "HTTP responses.", by: "status", now.traffic.responses)
        text.family(
            "emisora_server_join_duration_seconds", "From the opening of a websocket to being in a room.",
            now.counters.joinTime)
        text.family(
            "emisora_server_http_request_duration_seconds", "From a whole request to its response.",
            now.traffic.answerTime)
        ProcessMetrics.read().write(to: &text)
        return text.body
    }
}
