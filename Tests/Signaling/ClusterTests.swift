import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// Nodes joined by a bus of their own, in virtual time: every message between them goes when the test lets it.
struct NodeWorld {
    typealias Directory = RoomDirectory<CountingGenerator>
    typealias ConnectionID = Directory.ConnectionID

    struct Client: Hashable {
        var node: Int
        var connection: ConnectionID
    }

    var nodes: [Directory]
    var isConnected: [Bool]
    var now = Instant.zero
    var got: [Client: [SignalingMessage]] = [:]
    var names: [String: String] = [:]
    /// On their way, in order.
    var bus: [(to: Int, event: BackplaneEvent)] = []

    static func id(_ node: Int) -> String { "node-0123456789-\(node)" }

    init(_ count: Int = 2) {
        nodes = (0..<count).map { node in
            var limits = ServerLimits()
            limits.resumeGrace = .seconds(10)
            let key = TokenKey(derivedFrom: SecretFile(Array("for all nodes, which share it all".utf8)), for: "tests")
            return Directory(
                random: CountingGenerator(from: UInt64(node) << 32), limits: limits,
                access: AccessPolicy(key: nil, resumptionKey: key, unixTime: { 0 }), node: Self.id(node))
        }
        isConnected = Array(repeating: true, count: count)
        for node in nodes.indices { happened(.connected, at: node) }
        settle()
    }

    mutating func happened(_ event: BackplaneEvent, at node: Int) {
        nodes[node].happened(event, now: now)
        drain(node)
    }

    mutating func drain(_ node: Int) {
        while let output = nodes[node].pollOutput() {
            switch output {
            case .send(let message, let to), .relay(let message, _, let to, _): got[Client(node: node, connection: to), default: []].append(message)
            case .close: break
            case .backplane(let command): if isConnected[node] { carry(command, from: node) }
            }
        }
    }

    private mutating func carry(_ command: BackplaneCommand, from node: Int) {
        switch command {
        case .publish(let bytes, let to):
            for other in nodes.indices where isConnected[other] && (to == nil || to == Self.id(other)) {
                bus.append((other, .received(bytes)))
            }
        case .claim(let claim, let ticket):
            let key = claim.room + "/" + claim.stream
            let isOurs = names[key].map { $0 == claim.holder || $0 == claim.over } ?? true
            if isOurs { names[key] = claim.holder }
            bus.append((node, .claimed(ticket: ticket, isOurs: isOurs)))
        case .release(let claim):
            let key = claim.room + "/" + claim.stream
            if names[key] == claim.holder { names[key] = nil }
        }
    }

    /// Lets everything arrive.
    mutating func settle() {
        while !bus.isEmpty {
            let (to, event) = bus.removeFirst()
            if isConnected[to] { happened(event, at: to) }
        }
    }

    mutating func cut(_ node: Int) {
        isConnected[node] = false
        happened(.disconnected, at: node)
    }

    mutating func mend(_ node: Int) {
        isConnected[node] = true
        happened(.connected, at: node)
        settle()
    }

    /// Second by second; a killed node has no clock.
    mutating func pass(_ seconds: Int, without killed: Int? = nil) {
        for _ in 0..<seconds {
            now = now + .seconds(1)
            for node in nodes.indices where node != killed {
                nodes[node].handleTimeout(now: now)
                drain(node)
            }
            settle()
        }
    }

    mutating func say(_ message: SignalingMessage, _ client: Client) {
        nodes[client.node].handle(message, from: client.connection, now: now)
        drain(client.node)
    }

    /// What a client got since the last look.
    mutating func heard(_ client: Client) -> [SignalingMessage] {
        got.removeValue(forKey: client) ?? []
    }

    mutating func join(_ node: Int, resume: SessionResumption? = nil) throws -> (Client, SessionResumption) {
        let client = Client(node: node, connection: nodes[node].connect(allowedRoom: "demo"))
        say(.join(version: 1, room: "demo", resume: resume), client)
        settle()
        for case .welcome(_, let id, _, _, _, let ticket?) in got[client] ?? [] {
            return (client, SessionResumption(id: id, secret: ticket.secret))
        }
        throw SignalingError(.notJoined, "\(heard(client))")
    }

    mutating func streams(at node: Int) -> [String] { nodes[node].liveRooms.first?.streams ?? [] }
}

@Suite struct ClusterTests {
    static let subscription = "0123456789abcdef"

    /// A publisher of `camera` on the last node, and a viewer on the first that has its answer.
    static func watched(nodes: Int = 2) throws -> (NodeWorld, NodeWorld.Client, SessionResumption, NodeWorld.Client) {
        var world = NodeWorld(nodes)
        let (publisher, who) = try world.join(nodes - 1)
        world.say(.publish(stream: "camera"), publisher)
        world.settle()
        let (viewer, _) = try world.join(0)
        let subscribe = SignalingMessage.subscribe(subscription: subscription, stream: "camera", sdp: "o")
        world.say(subscribe, viewer)
        world.settle()
        #expect(world.heard(publisher).last == subscribe)
        let answer = SignalingMessage.answer(subscription: subscription, sdp: "a")
        world.say(answer, publisher)
        world.settle()
        #expect(world.heard(viewer).last == answer)
        return (world, publisher, who, viewer)
    }

    static func resuming(_ who: SessionResumption) -> SessionResumption {
        var resumption = who
        var holdings = SessionHoldings()
        holdings.publishes = ["camera"]
        holdings.sending = ["camera": [subscription]]
        resumption.holdings = holdings
        return resumption
    }

    static func candidatesGoBothWays(_ world: inout NodeWorld, _ one: NodeWorld.Client, _ other: NodeWorld.Client) {
        let candidate = SignalingMessage.candidate(subscription: subscription, candidate: .endOfCandidates)
        for (from, to) in [(one, other), (other, one)] {
            world.say(candidate, from)
            world.settle()
            #expect(world.heard(to).last == candidate)
        }
    }

    @Test func endsGoAcross() throws {
        for isViewers in [true, false] {
            var (world, publisher, _, viewer) = try Self.watched()
            world.say(.leave, isViewers ? viewer : publisher)
            world.settle()
            let left = SignalingMessage.subscriptionEnded(subscription: Self.subscription, reason: .left)
            #expect(world.heard(isViewers ? publisher : viewer).filter { $0 == left }.count == 1)
            #expect(world.streams(at: 0) == (isViewers ? ["camera"] : []))
        }
    }

    @Test func ofTwoThatPublishANameAtOnceOneHasIt() throws {
        var world = NodeWorld()
        let (one, _) = try world.join(0)
        let (other, _) = try world.join(1)
        world.say(.publish(stream: "camera"), one)
        world.say(.publish(stream: "camera"), other)
        world.settle()
        #expect(world.heard(other).contains { if case .error(let e) = $0 { e.code == .streamTaken } else { false } })
        #expect(world.streams(at: 0) == ["camera"])
        #expect(world.streams(at: 1) == ["camera"])
        world.say(.unpublish(stream: "camera"), one)
        world.settle()
        world.say(.publish(stream: "camera"), other)
        world.settle()
        #expect(world.streams(at: 0) == ["camera"])
    }

    @Test func aLostNodesPublisherIsWaitedForAndResumesElsewhere() throws {
        var (world, _, who, viewer) = try Self.watched(nodes: 3)
        world.isConnected[2] = false
        world.pass(6, without: 2)
        #expect(world.streams(at: 0) == ["camera"])
        #expect(world.heard(viewer).isEmpty)
        let (again, _) = try world.join(1, resume: Self.resuming(who))
        world.settle()
        #expect(world.streams(at: 0) == ["camera"])
        Self.candidatesGoBothWays(&world, viewer, again)
        world.pass(20, without: 2)
        #expect(!world.heard(viewer).contains { $0.type == "subscriptionEnded" })
    }

    @Test func aLostNodesPublisherThatStaysAwayIsGoneAfterTheGrace() throws {
        var (world, _, _, viewer) = try Self.watched()
        world.isConnected[1] = false
        world.pass(20, without: 1)
        #expect(
            world.heard(viewer).contains(.subscriptionEnded(subscription: Self.subscription, reason: .signalingLost)))
        #expect(world.streams(at: 0).isEmpty)
        #expect(world.names.isEmpty)
    }

    @Test func whoResumesOnAnotherNodeWhileTheOldOneLivesIsTakenOver() throws {
        var (world, publisher, who, viewer) = try Self.watched(nodes: 3)
        let (again, _) = try world.join(1, resume: Self.resuming(who))
        world.settle()
        #expect(world.heard(publisher).contains { if case .error(let e) = $0 { e.code == .takenOver } else { false } })
        #expect(world.streams(at: 2) == ["camera"])
        Self.candidatesGoBothWays(&world, viewer, again)
    }

    @Test func aPartitionHealsAndOfTwoStreamsOfOneNameOneIsLeft() throws {
        var (world, publisher, _, viewer) = try Self.watched()
        world.cut(0)
        world.cut(1)
        world.pass(30)
        #expect(world.heard(viewer).isEmpty)
        world.say(.publish(stream: "other"), viewer)
        world.say(.publish(stream: "other"), publisher)
        #expect(world.streams(at: 0) == ["camera", "other"])
        world.mend(0)
        world.mend(1)
        #expect(world.streams(at: 0).sorted() == ["camera", "other"])
        #expect(world.streams(at: 1).sorted() == ["camera", "other"])
        let heard = world.heard(publisher)
        #expect(heard.contains { if case .error(let e) = $0 { e.code == .streamTaken } else { false } })
        #expect(world.names.count == 2)
        Self.candidatesGoBothWays(&world, viewer, publisher)
    }

    @Test func whatWasSaidToAnUnreachableNodeArrivesAfterwards() throws {
        var (world, publisher, _, viewer) = try Self.watched()
        world.cut(0)
        let second = SignalingMessage.subscribe(subscription: Self.subscription + "1", stream: "camera", sdp: "o")
        world.say(second, viewer)
        world.mend(0)
        #expect(world.heard(publisher).contains(second))
    }

    @Test func nonsenseOnTheBusChangesNothing() throws {
        var (world, publisher, _, viewer) = try Self.watched()
        let texts = [
            "", "{", "[]", #"{"version":1}"#, #"{"version":2,"node":"node-0123456789-7","type":"hello"}"#,
            #"{"version":1,"node":"x","type":"hello"}"#, #"{"version":1,"node":"node-0123456789-7","type":"member"}"#,
            #"{"version":1,"node":"node-0123456789-7","type":"left","id":"\#(Self.subscription)"}"#,
            #"{"version":1,"node":"node-0123456789-7","type":"member","member":{"id":"0123456789abcdef0","room":"a b","#
                + #""streams":[],"receives":[],"isAway":false}}"#,
        ]
        for text in texts { world.happened(.received(Array(text.utf8)), at: 0) }
        world.happened(.received(Array(repeating: 0x7B, count: 1 << 20)), at: 0)
        world.happened(.claimed(ticket: 4711, isOurs: true), at: 0)
        world.settle()
        #expect(world.streams(at: 0) == ["camera"])
        Self.candidatesGoBothWays(&world, viewer, publisher)
    }
}
