import EmisoraCore
import EmisoraSignalingProtocol

@testable import EmisoraSignalingServer

/// Nodes joined by a bus of their own, in virtual time: every message between them goes when the test lets it.
struct NodeWorld {
    typealias Directory = RoomDirectory<CountingGenerator>
    typealias ConnectionID = Directory.ConnectionID

    struct Client: Hashable {
        var node: Int
        var connection: ConnectionID
    }

    var nodes: [Directory] = []
    var isConnected: [Bool] = []
    /// Those that have no clock, and no clients.
    var killed: Set<Int> = []
    var now = Instant.zero
    var got: [Client: [SignalingMessage]] = [:]
    /// Those that read too slowly for what others say.
    var failing: Set<Client> = []
    /// What the bus knows of names, until then.
    var names: [String: (holder: String, until: Instant)] = [:]
    /// On their way, in order.
    var bus: [(to: Int, event: BackplaneEvent)] = []
    private var ids: [String] = []
    private var starts = 0

    init(_ count: Int = 2) {
        for node in 0..<count { begin(node) }
        settle()
    }

    private mutating func begin(_ node: Int) {
        starts += 1
        var limits = ServerLimits()
        limits.resumeGrace = .seconds(10)
        let key = TokenKey(derivedFrom: SecretFile(Array("for all nodes, which share it all".utf8)), for: "tests")
        let id = "node-0123456789-\(starts)"
        let begun = Directory(
            random: CountingGenerator(from: UInt64(starts) << 32), limits: limits,
            access: AccessPolicy(key: nil, resumptionKey: key, unixTime: { 0 }), node: id)
        if node < nodes.count {
            (nodes[node], ids[node]) = (begun, id)
        } else {
            nodes.append(begun)
            ids.append(id)
            isConnected.append(false)
        }
        mend(node, settles: false)
    }

    // MARK: The bus

    mutating func happened(_ event: BackplaneEvent, at node: Int) {
        nodes[node].happened(event, now: now)
        drain(node)
    }

    mutating func drain(_ node: Int) {
        while let output = nodes[node].pollOutput() {
            switch output {
            case .relay(let message, let from, let to, canFail: true)
            where failing.contains(Client(node: node, connection: to)):
                nodes[node].relayFailed(message, from: from, to: to)
            case .send(let message, let to), .relay(let message, _, let to, _):
                got[Client(node: node, connection: to), default: []].append(message)
            case .close: break
            case .backplane(let command): if isConnected[node] { carry(command, from: node) }
            }
        }
    }

    private mutating func carry(_ command: BackplaneCommand, from node: Int) {
        names = names.filter { $0.value.until > now }
        switch command {
        case .publish(let bytes, let to):
            for other in nodes.indices where isConnected[other] && (to == nil || to == ids[other]) {
                bus.append((other, .received(bytes)))
            }
        case .claim(let claim, let ticket):
            let key = claim.room + "/" + claim.stream
            let isOurs = names[key].map { $0.holder == claim.holder || $0.holder == claim.over } ?? true
            if isOurs { names[key] = (claim.holder, now + StreamClaim.lifetime) }
            bus.append((node, .claimed(ticket: ticket, isOurs: isOurs)))
        case .release(let claim):
            let key = claim.room + "/" + claim.stream
            if names[key]?.holder == claim.holder { names[key] = nil }
        }
    }

    /// Lets everything arrive.
    mutating func settle() {
        while !bus.isEmpty {
            let (to, event) = bus.removeFirst()
            happened(event, at: to)
        }
    }

    /// Lets one node hear the first of what is on its way there: each has a pace of its own, and answers come by another
    /// connection than what other nodes say.
    mutating func deliver(_ count: Int, to node: Int, answers: Bool) {
        for _ in 0..<count {
            let next = bus.firstIndex {
                if case .claimed = $0.event { $0.to == node && answers } else { $0.to == node && !answers }
            }
            guard let next else { return }
            happened(bus.remove(at: next).event, at: node)
        }
    }

    /// Nothing comes or goes any more, and the node does not know it yet.
    mutating func sever(_ node: Int) {
        isConnected[node] = false
        bus.removeAll { $0.to == node }
    }

    mutating func cut(_ node: Int) {
        sever(node)
        happened(.disconnected, at: node)
    }

    mutating func mend(_ node: Int, settles: Bool = true) {
        isConnected[node] = true
        happened(.connected, at: node)
        if settles { settle() }
    }

    // MARK: Nodes and time

    mutating func kill(_ node: Int) {
        sever(node)
        killed.insert(node)
    }

    /// It has forgotten everything.
    mutating func restart(_ node: Int) {
        killed.remove(node)
        begin(node)
    }

    /// Second by second.
    mutating func pass(_ seconds: Int) {
        for _ in 0..<seconds {
            now = now + .seconds(1)
            for node in nodes.indices where !killed.contains(node) {
                nodes[node].handleTimeout(now: now)
                drain(node)
            }
            settle()
        }
    }

    // MARK: Clients

    mutating func say(_ message: SignalingMessage, _ client: Client) {
        guard !killed.contains(client.node) else { return }
        nodes[client.node].handle(message, from: client.connection, now: now)
        drain(client.node)
    }

    mutating func lose(_ client: Client) {
        guard !killed.contains(client.node) else { return }
        nodes[client.node].lost(client.connection, now: now)
        drain(client.node)
    }

    /// What a client got since the last look.
    mutating func heard(_ client: Client) -> [SignalingMessage] {
        got.removeValue(forKey: client) ?? []
    }

    /// A client, and with what it can come back.
    mutating func enter(_ node: Int, resume: SessionResumption? = nil) throws -> (Client, SessionResumption) {
        let client = Client(node: node, connection: nodes[node].connect(allowedRoom: "demo"))
        say(.join(version: 1, room: "demo", resume: resume), client)
        for case .welcome(_, let id, _, _, _, let ticket?) in got[client] ?? [] {
            return (client, SessionResumption(id: id, secret: ticket.secret))
        }
        throw SignalingError(.notJoined, "\(heard(client))")
    }

    /// The same, once all nodes know.
    mutating func join(_ node: Int, resume: SessionResumption? = nil) throws -> (Client, SessionResumption) {
        let entered = try enter(node, resume: resume)
        settle()
        return entered
    }

    mutating func streams(at node: Int) -> [String] { nodes[node].liveRooms.first?.streams ?? [] }
}
