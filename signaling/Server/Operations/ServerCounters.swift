import EmisoraOperations
import EmisoraSignalingProtocol

/// What has happened in a server's rooms. Keys are from fixed lists: types of messages, codes of errors.
struct ServerCounters: Equatable, Sendable {
    /// The doors at which a client has an `Allowance`.
    enum Door: String, CaseIterable, Sendable {
        case websocket, http
    }

    private(set) var messagesReceived: [String: UInt64] = [:]
    private(set) var messagesSent: [String: UInt64] = [:]
    private(set) var errors: [String: UInt64] = [:]
    private(set) var rateLimited = RoomCounters.zeros(Door.self)
    private(set) var joinTime = MetricHistogram()

    mutating func received(_ message: SignalingMessage) {
        messagesReceived[message.type, default: 0] &+= 1
    }

    mutating func sent(_ message: SignalingMessage) {
        messagesSent[message.type, default: 0] &+= 1
        if case .error(let error) = message { errors[error.code.rawValue, default: 0] &+= 1 }
    }

    /// A client has used up its allowance there.
    mutating func count(_ door: Door) { rateLimited[door.rawValue, default: 0] &+= 1 }

    mutating func joined(after time: Duration) {
        joinTime.observe(Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18)
    }
}

/// What there is in a server's rooms.
struct ServerLoad: Equatable, Sendable {
    var rooms = 0
    var participants = 0
    /// Of these: those whose connection is lost, and who are waited for.
    var participantsAway = 0
    var streams = 0
    var subscriptions = 0
    var websockets = 0
    var httpSessions: [String: UInt64] = [:]
}

extension RoomDirectory {
    var load: ServerLoad {
        var load = ServerLoad()
        load.rooms = rooms.count
        load.participantsAway = away.count
        for room in rooms.values {
            load.participants += room.participants.count
            load.streams += room.streams.count
            load.subscriptions += room.subscriptions.count
        }
        return load
    }
}

extension EndpointGateway {
    var sessionCounts: [String: UInt64] {
        var counts = [EndpointKind.whip.rawValue: UInt64(0), EndpointKind.whep.rawValue: 0]
        for session in sessions.values { counts[session.kind.rawValue, default: 0] += 1 }
        return counts
    }
}
