import EmisoraCore
import EmisoraSignalingProtocol

/// What the rooms want done between the nodes. Nothing comes of it in a server that stands alone.
enum BackplaneCommand: Equatable, Sendable {
    /// To the node of that id, or to all.
    case publish([UInt8], to: String?)
    /// Asks for a stream's name, or keeps it; a `BackplaneEvent.claimed` says whether it is the holder's.
    case claim(StreamClaim, ticket: UInt64)
    /// Gives a name up, where the holder has it.
    case release(StreamClaim)
}

/// A stream's name within the whole service.
struct StreamClaim: Equatable, Sendable {
    var room: String
    var stream: String
    /// The id of the participant that publishes it.
    var holder: String
    /// Somebody who is away, and gives way.
    var over: String?

    /// How long a name is kept for a node of which nothing more is heard.
    static var lifetime: Duration { .seconds(30) }
}

/// What comes from between the nodes.
enum BackplaneEvent: Equatable, Sendable {
    /// The other nodes can be reached from here on; what was said before may not have got through.
    case connected
    case disconnected
    case received([UInt8])
    case claimed(ticket: UInt64, isOurs: Bool)
}

/// A node's own part in the service, and what it knows of the others.
struct Cluster<ConnectionID: Hashable & Sendable>: Sendable {
    struct Node: Sendable {
        /// It has begun to list its participants; those that it has not named again so far.
        var unlisted: Set<String>?
        /// Not heard of since then it is lost.
        var deadline: Instant
        /// Of what came later its participants may not have been told.
        var lastArrival: UInt64
    }

    struct PendingClaim: Sendable {
        var claim: StreamClaim
        var properties: StreamProperties?
        var connection: ConnectionID
        /// The stream is live already: its name is only kept, or asked for after the fact.
        var isLive: Bool
    }

    static var heartbeat: Duration { .seconds(1) }
    static var silence: Duration { .seconds(4) }
    static var renewal: Duration { .seconds(10) }
    static var maximumNodes: Int { 256 }
    static var maximumMembers: Int { 100_000 }
    static var maximumWaiting: Int { 512 }

    /// 128 random bits, others at each start.
    let id: String
    var isConnected = false
    var nodes: [String: Node] = [:]
    /// Participants of other nodes, by id: where they are here, and what was last said of them.
    var remote: [String: (connection: ConnectionID, member: NodeMember)] = [:]
    /// What the other nodes were told of participants of this one.
    var announced: [ConnectionID: NodeMember] = [:]
    /// Whose state may differ from that.
    var touched: Set<ConnectionID> = []
    var departures: [ConnectionID: SubscriptionEndReason] = [:]
    var pending: [UInt64: PendingClaim] = [:]
    var lastTicket: UInt64 = 0
    /// For a node, or all of them, while the bus is gone.
    var waiting: [(NodeMessage, String?)] = []
    var nextHeartbeat: Instant?
    var nextRenewal: Instant?

    init(id: String) {
        self.id = id
    }

    var nextDeadline: Instant? {
        guard isConnected else { return nil }
        return [nextHeartbeat, nextRenewal, nodes.values.lazy.map(\.deadline).min()].compactMap(\.self).min()
    }
}

/// Where a participant's connection is.
enum ParticipantHome: Equatable, Sendable {
    case here
    case node(String)
    /// Its node is lost. It is away on every node that knew it, until it comes back to any.
    case nowhere
}
