import FoundationEssentials

/// What the nodes of one signaling service say to each other, as one JSON object; never seen by clients.
///
/// A node tells of its own participants, in full each time, so that a message may be repeated, and a listing
/// (`hello` … `listed`) puts right whatever was missed.
package enum NodeMessage: Equatable, Sendable {
    /// The sender's listing follows; `asks`: it wants the receiver's, too.
    case hello(asks: Bool)
    case member(NodeMember)
    /// The participant is gone for good.
    case left(id: String, reason: SubscriptionEndReason)
    /// All participants of the sender have been told of.
    case listed
    /// The sender lives.
    case alive
    /// The sender ends; its participants may come back elsewhere.
    case ending
    /// For one participant of the receiver, or all.
    case relay(NodeRelay)
    case holding(NodeHolding)

    /// The version of these messages; nodes do not listen to others.
    package static let version = 1
    /// The longest message in bytes: one of a client with its envelope, every byte of it escaped.
    package static let maximumByteCount = 4 * SignalingProtocol.maximumMessageSize
    /// Of a client's message in it: the longest, or an HTTP client's longest offer, whose lines' ends are escaped.
    package static let maximumRelayedByteCount = 2 * SignalingProtocol.maximumMessageSize
    /// How often one session may come back.
    package static let turns = 0..<1 << 48
    /// Of names within one participant.
    package static let maximumNames = 256
}

/// A participant as other nodes know it.
package struct NodeMember: Equatable, Hashable, Codable, Sendable {
    package var id: String
    package var room: String
    /// What its token says of it.
    package var data: String?
    package var streams: [NodeStream]
    /// The names for which it takes what encoders send; `nil` for any.
    package var receives: [String?]
    /// Its connection is lost, and it may come back.
    package var isAway: Bool
    /// Which connection of its session it is, counted from zero: of two nodes that know it, the higher one has it.
    package var turn: Int

    package init(
        id: String, room: String, data: String? = nil, streams: [NodeStream] = [], receives: [String?] = [],
        isAway: Bool = false, turn: Int = 0
    ) {
        self.id = id
        self.room = room
        self.data = data
        self.streams = streams
        self.receives = receives
        self.isAway = isAway
        self.turn = turn
    }

    fileprivate var isValid: Bool {
        SignalingProtocol.isValid(subscription: id) && SignalingProtocol.isValid(name: room)
            && NodeMessage.turns.contains(turn) && data.map(AccessClaims.isAllowed(data:)) ?? true
            && streams.count <= NodeMessage.maximumNames && receives.count <= NodeMessage.maximumNames
            && streams.allSatisfy { SignalingProtocol.isValid(name: $0.name) && $0.properties?.isValid ?? true }
            && receives.allSatisfy { $0.map { SignalingProtocol.isValid(name: $0) } ?? true }
    }
}

/// A stream as other nodes know it.
package struct NodeStream: Equatable, Hashable, Codable, Sendable {
    package var name: String
    package var properties: StreamProperties?

    package init(_ name: String, properties: StreamProperties? = nil) {
        self.name = name
        self.properties = properties
    }
}

/// A message on its way to a participant of another node.
package struct NodeRelay: Equatable, Codable, Sendable {
    package var room: String
    package var from: String?
    /// `nil`: all participants of the room; of signals.
    package var to: String?
    package var message: SignalingMessage
    /// It was sent to where the participant had been.
    package var isForwarded: Bool

    package init(room: String, from: String?, to: String?, message: SignalingMessage, isForwarded: Bool = false) {
        self.room = room
        self.from = from
        self.to = to
        self.message = message
        self.isForwarded = isForwarded
    }

    fileprivate var isValid: Bool {
        SignalingProtocol.isValid(name: room)
            && [from, to].allSatisfy { $0.map { SignalingProtocol.isValid(subscription: $0) } ?? true }
            && message.json().count <= NodeMessage.maximumRelayedByteCount
    }
}

/// One side's word for a subscription, after its other side came to another node.
package struct NodeHolding: Equatable, Codable, Sendable {
    package var room: String
    package var from: String
    package var to: String
    package var subscription: String
    package var stream: String
    /// Whether `from` is who sends.
    package var sends: Bool
    /// The sending node knows of both sides, rather than of a client's word alone.
    package var stands: Bool
    /// The receiver shall say whether it holds it, too.
    package var asks: Bool

    package init(
        room: String, from: String, to: String, subscription: String, stream: String, sends: Bool, stands: Bool,
        asks: Bool
    ) {
        self.room = room
        self.from = from
        self.to = to
        self.subscription = subscription
        self.stream = stream
        self.sends = sends
        self.stands = stands
        self.asks = asks
    }

    fileprivate var isValid: Bool {
        SignalingProtocol.isValid(name: room) && SignalingProtocol.isValid(name: stream)
            && [from, to, subscription].allSatisfy { SignalingProtocol.isValid(subscription: $0) }
    }
}

extension NodeMessage {
    private struct Envelope: Codable {
        var version: Int
        var node: String
        var type: String
        var asks: Bool?
        var id: String?
        var reason: SubscriptionEndReason?
        var member: NodeMember?
        var relay: NodeRelay?
        var holding: NodeHolding?
    }

    /// Reads a message and the id of the node that sent it; `nil` for what no node of this version says.
    package static func read(json: [UInt8]) -> (node: String, message: Self)? {
        guard json.count <= maximumByteCount, let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(json)),
            envelope.version == version, SignalingProtocol.isValid(subscription: envelope.node)
        else { return nil }
        let message: Self? =
            switch envelope.type {
            case "hello": .hello(asks: envelope.asks ?? false)
            case "member": envelope.member.flatMap { $0.isValid ? .member($0) : nil }
            case "left":
                envelope.id.flatMap {
                    SignalingProtocol.isValid(subscription: $0) ? .left(id: $0, reason: envelope.reason ?? .left) : nil
                }
            case "listed": .listed
            case "alive": .alive
            case "ending": .ending
            case "relay": envelope.relay.flatMap { $0.isValid ? .relay($0) : nil }
            case "holding": envelope.holding.flatMap { $0.isValid ? .holding($0) : nil }
            default: nil
            }
        return message.map { (envelope.node, $0) }
    }

    /// This message as a node says it.
    package func json(from node: String) -> [UInt8] {
        var envelope = Envelope(version: Self.version, node: node, type: "")
        switch self {
        case .hello(let asks): (envelope.type, envelope.asks) = ("hello", asks)
        case .member(let member): (envelope.type, envelope.member) = ("member", member)
        case .left(let id, let reason):
            (envelope.type, envelope.id, envelope.reason) = ("left", id, reason)
        case .listed: envelope.type = "listed"
        case .alive: envelope.type = "alive"
        case .ending: envelope.type = "ending"
        case .relay(let relay): (envelope.type, envelope.relay) = ("relay", relay)
        case .holding(let holding): (envelope.type, envelope.holding) = ("holding", holding)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and booleans: nothing that JSON cannot hold.
        guard let data = try? encoder.encode(envelope) else { return Array("{}".utf8) }
        return Array(data)
    }
}
