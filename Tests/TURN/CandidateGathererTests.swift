import EmisoraCore
import EmisoraSTUN
import EmisoraSimulation
import EmisoraTURN
import Testing

/// A gatherer as the simulator drives it.
final class GathererPeer: SimulatedPeer {
    var gatherer: CandidateGatherer
    private(set) var events: [CandidateGatherer.Event] = []
    private(set) var sent: [(at: Instant, transmit: Transmit)] = []

    init(_ servers: [CandidateGatherer.Server], pacer: TransactionPacer = TransactionPacer()) {
        gatherer = CandidateGatherer(servers: servers, pacer: pacer, random: RandomSource(SeededRandom(8)))
    }

    func start(now: Instant) {
        gatherer.start(now: now)
        collect()
    }

    func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {
        _ = gatherer.handle(datagram: datagram.bytes, from: remote, to: local, now: now)
        collect()
    }

    func handleTimeout(now: Instant) {
        gatherer.handleTimeout(now: now)
        collect()
    }

    var nextDeadline: Instant? { gatherer.nextDeadline }

    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        let transmit = gatherer.pollTransmit(into: &buffer, now: now)
        if let transmit { sent.append((now, transmit)) }
        return transmit
    }

    private func collect() {
        while let event = gatherer.pollEvent() { events.append(event) }
    }
}

/// A machine that never says anything.
final class Mute: SimulatedPeer {
    func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {}
    func handleTimeout(now: Instant) {}
    var nextDeadline: Instant? { nil }
    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? { nil }
}

@Suite struct CandidateGathererTests {
    private static let dead = SocketAddress(ip: Addresses.stranger.ip, port: 3_478)
    private static let outside = SocketAddress(ip: Addresses.leftNAT, port: 40_000)
    private static let relayed = SocketAddress(ip: Addresses.relay, port: 50_000)

    private static func stun(_ address: SocketAddress = Addresses.server) -> CandidateGatherer.Server {
        .init(.stun, address: address, local: Addresses.left)
    }

    private static func turn(_ address: SocketAddress = Addresses.server) -> CandidateGatherer.Server {
        .init(.turn(credentials, family: .v4), address: address, local: Addresses.left)
    }

    private static func simulation(
        _ peer: GathererPeer, _ server: SimulatedTURNServer = makeServer(), loss: Double = 0, seed: UInt64 = 1
    ) -> Simulation {
        var conditions = SimulatedLink.Conditions()
        conditions.loss = loss
        let simulation = Simulation(peer, Mute(), server: server, conditions: conditions, seed: seed)
        simulation.nats[0] = SimulatedNAT(address: Addresses.leftNAT)
        simulation.routes = [Addresses.server.ip: .server, Addresses.relay: .server]
        return simulation
    }

    @Test func whatStunAndTurnTellIsToldOnceAndThenTheEnd() {
        let peer = GathererPeer([Self.stun(), Self.turn(), Self.turn()])
        let simulation = Self.simulation(peer)
        peer.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(1))
        #expect(
            peer.events == [
                .serverReflexive(Self.outside, base: Addresses.left, server: Addresses.server.ip),
                .relayed(Self.relayed, mapped: Self.outside, server: Addresses.server.ip, preference: 0x7FFF),
                .finished,
            ])
        #expect(peer.gatherer.isRelayed(Self.relayed))
        #expect(!peer.gatherer.isRelayed(Addresses.left))
    }

    @Test func aRelayAloneTellsBothAddresses() {
        let peer = GathererPeer([Self.turn()])
        let simulation = Self.simulation(peer)
        peer.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(1))
        #expect(peer.events.count == 3)
        #expect(
            peer.events.first == .serverReflexive(Self.outside, base: Addresses.left, server: Addresses.server.ip))
    }

    @Test(arguments: 0..<30 as Range<UInt64>)
    func withAThirdOfAllDatagramsLostAllIsFoundOrFailsWithAReason(seed: UInt64) {
        let server = makeServer()
        let peer = GathererPeer([Self.stun(), Self.turn()])
        let simulation = Self.simulation(peer, server, loss: 0.3, seed: seed)
        peer.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(60))
        #expect(peer.events.count { $0 == .finished } == 1)
        let failures = peer.events.count { if case .serverFailed = $0 { true } else { false } }
        let relays = peer.events.count { if case .relayed = $0 { true } else { false } }
        #expect(failures + relays >= 1)
        #expect(server.secondAllocates == 0)
        #expect(!simulation.isStalled)
    }

    @Test func aDeadServerHoldsTheEndUpForTenSecondsOnly() {
        let peer = GathererPeer([Self.stun(Self.dead), Self.turn(Self.dead), Self.stun()])
        let simulation = Self.simulation(peer)
        let start = simulation.now
        peer.start(now: start)
        simulation.run(until: start + .seconds(60)) { peer.events.contains(.finished) }
        #expect(simulation.now - start == .seconds(10))
        #expect(peer.events.count == 3)
        let sent = peer.sent.count { $0.transmit.destination == Self.dead }
        simulation.run(until: start + .seconds(100))
        // The questions end there, too.
        #expect(peer.sent.count { $0.transmit.destination == Self.dead } == sent)
    }

    @Test func withoutServersTheEndComesAtOnce() {
        let peer = GathererPeer([])
        peer.start(now: .zero)
        #expect(peer.events == [.finished])
        #expect(peer.nextDeadline == nil)
    }

    @Test func serversAreAskedFiveMillisecondsApart() {
        let servers = (0..<10).map { Self.stun(SocketAddress(ip: Addresses.server.ip, port: 3_000 + UInt16($0))) }
        let peer = GathererPeer(servers)
        let simulation = Self.simulation(peer)
        let start = simulation.now
        peer.start(now: start)
        simulation.run(until: start + .milliseconds(200))
        #expect(peer.sent.map { ($0.at - start).inMilliseconds } == (0..<10).map { 5.0 * Double($0) })
    }

    @Test func theMappingIsKeptAliveByOneServerAndARestartedNATIsNoticed() {
        let server = makeServer()
        let peer = GathererPeer([Self.stun(), Self.turn()])
        let simulation = Self.simulation(peer, server)
        peer.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(100))
        // 3 to begin with; then every 15 s one that asks and one that keeps the relay reachable.
        #expect((12 + 3...14 + 3).contains(peer.sent.count))
        #expect(server.requests[.binding] == 7)
        simulation.nats[0]?.rebind()
        simulation.run(until: simulation.now + .seconds(20))
        let moved = SocketAddress(ip: Addresses.leftNAT, port: 40_001)
        #expect(
            peer.events.suffix(2) == [
                .serverReflexive(moved, base: Addresses.left, server: Addresses.server.ip),
                // To the server that is another client.
                .relayedAddressLost(Self.relayed, reason: TURNError.allocationLost.description),
            ])
    }

    @Test func aServerThatSendsOnIsFollowedButNotInACircle() {
        let server = makeServer()
        server.refusal = (300, true)
        server.alternate = Addresses.server
        let peer = GathererPeer([Self.turn()])
        var simulation = Self.simulation(peer, server)
        peer.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(5))
        #expect(peer.events.count == 2)
        #expect(server.requests[.allocate] == 2)

        // The one that it names does not exist.
        server.alternate = Self.dead
        let other = GathererPeer([Self.turn()])
        simulation = Self.simulation(other, server)
        other.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(20))
        #expect(other.sent.contains { $0.transmit.destination == Self.dead })
        #expect(other.events.last == .finished)
        #expect(other.events.count == 2)
    }

    @Test func aServerThatSendsAConnectionOnIsFollowedByAnotherOne() throws {
        let server = makeServer()
        server.refusal = (300, true)
        server.alternate = SocketAddress(ip: Addresses.server.ip, port: 3_479)
        let first = CandidateGatherer.Server(
            .turn(credentials, family: .v4), address: Addresses.server, local: Addresses.left, isStream: true)
        let local = SocketAddress(ip: Addresses.left.ip, port: 5_555)
        let alternate = try #require(server.alternate)

        let failing = GathererPeer([first])
        var simulation = Self.simulation(failing, server)
        failing.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(1))
        #expect(failing.events == [.redirected(first, to: alternate)])
        failing.gatherer.moveFailed(first, reason: "no way", now: simulation.now)
        failing.handleTimeout(now: simulation.now)
        #expect(failing.events.suffix(2) == [.serverFailed(first, reason: "no way"), .finished])

        let peer = GathererPeer([first])
        simulation = Self.simulation(peer, server)
        peer.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(1))
        #expect(peer.events == [.redirected(first, to: alternate)])
        let answer = peer.gatherer.move(first, to: alternate, local: local, now: simulation.now)
        let moved = try #require(answer)
        #expect(moved.address == alternate && moved.local == local && moved.isStream)
        let again = peer.gatherer.move(first, to: alternate, local: local, now: simulation.now)
        #expect(again == nil)
        // Nobody answers there.
        simulation.run(until: simulation.now + .seconds(15))
        #expect(peer.sent.last?.transmit.destination == alternate && peer.sent.last?.transmit.source == local)
        #expect(peer.events.count == 3 && peer.events.last == .finished)
        guard case .serverFailed(moved, _) = peer.events[1] else {
            Issue.record("\(peer.events)")
            return
        }
    }

    @Test func closingGivesTheRelayedAddressBack() {
        let server = makeServer()
        let peer = GathererPeer([Self.turn()])
        let simulation = Self.simulation(peer, server)
        peer.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(1))
        #expect(server.allocations.count == 1)
        peer.gatherer.close(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(1))
        #expect(server.allocations.isEmpty)
        #expect(peer.gatherer.hasEnded)
        #expect(peer.nextDeadline == nil)
    }

    @Test func aRelayedAddressThatIsLostIsToldSo() {
        let server = makeServer()
        let peer = GathererPeer([Self.turn()])
        let simulation = Self.simulation(peer, server)
        peer.start(now: simulation.now)
        simulation.run(until: simulation.now + .seconds(1))
        server.restart()
        simulation.run(until: simulation.now + .seconds(600))
        #expect(
            peer.events.last
                == .relayedAddressLost(Self.relayed, reason: TURNError.allocationLost.description))
        #expect(!peer.gatherer.isRelayed(Self.relayed))
    }

    @Test(arguments: [false, true])
    func aSocketThatIsGoneTakesItsRelayedAddressWithIt(whileAsking: Bool) {
        let peer = GathererPeer([Self.turn()])
        let simulation = Self.simulation(peer)
        peer.start(now: simulation.now)
        if !whileAsking { simulation.run(until: simulation.now + .seconds(1)) }
        peer.gatherer.socketFailed(local: Addresses.left, reason: "gone", now: simulation.now)
        peer.handleTimeout(now: simulation.now)
        if whileAsking {
            #expect(peer.events == [.serverFailed(Self.turn(), reason: "gone"), .finished])
        } else {
            #expect(peer.events.last == .relayedAddressLost(Self.relayed, reason: "gone"))
            #expect(peer.gatherer.base(ofRelayed: Self.relayed) == nil)
        }
    }
}
