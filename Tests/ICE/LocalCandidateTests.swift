import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// Our own candidates: what is told of them, and what is used.
@Suite struct LocalCandidateTests {
    private static let server = IPAddress(v4: 0xCB00_7101)
    private static let outside = SocketAddress(ip: Addresses.natOutside, port: 40_000)
    private static let relayed = SocketAddress(ip: IPAddress(v4: 0xCB00_7102), port: 50_000)

    private static func agent(_ options: ICEOptions = ICEOptions()) -> ICEAgent {
        ICEAgent(role: .controlling, options: options, pacer: TransactionPacer(), random: RandomSource(SeededRandom(1)))
    }

    private static func told(_ agent: inout ICEAgent) -> [ICECandidate] {
        var candidates: [ICECandidate] = []
        while let event = agent.pollEvent() { if case .localCandidate(let one) = event { candidates.append(one) } }
        return candidates
    }

    @Test func candidatesAreToldAsTheyAreFoundAndThenTheEndOnce() {
        var agent = Self.agent()
        agent.addLocalHost(Addresses.left, now: .zero)
        agent.addServerReflexive(Self.outside, base: Addresses.left, server: Self.server, now: .zero)
        agent.addRelayed(
            Self.relayed, mapped: Self.outside, server: Self.server, preference: 0x7FFF, now: .zero)
        agent.endLocalCandidates(now: .zero)
        agent.endLocalCandidates(now: .zero)
        var events: [ICEEvent] = []
        while let event = agent.pollEvent() { events.append(event) }
        #expect(events == agent.localCandidates.map(ICEEvent.localCandidate) + [.localCandidatesEnded])
        #expect(agent.localCandidates.map(\.type) == [.host, .serverReflexive, .relayed])
        // RFC 8445 §5.1.2.1.
        #expect(agent.localCandidates.map { $0.priority >> 24 } == [126, 100, 0])
        #expect(agent.localCandidates.map(\.base) == [Addresses.left, Addresses.left, Self.relayed])
        #expect(agent.localCandidates.map(\.relatedAddress) == [nil, Addresses.left, Self.outside])
    }

    @Test func aServerReflexiveAddressThatTellsNothingNewIsLeftOut() {
        var agent = Self.agent()
        agent.addLocalHost(Addresses.left, now: .zero)
        agent.addServerReflexive(Addresses.left, base: Addresses.left, server: Self.server, now: .zero)
        agent.addServerReflexive(Self.outside, base: Addresses.left, server: Self.server, now: .zero)
        agent.addServerReflexive(Self.outside, base: Addresses.left, server: IPAddress(v4: 9), now: .zero)
        #expect(Self.told(&agent).map(\.address) == [Addresses.left, Self.outside])
    }

    @Test func foundationsAreSharedByWhatHasTypeBaseAndServerInCommon() {
        var agent = Self.agent()
        let sameHost = SocketAddress(ip: Addresses.left.ip, port: 5_555)
        agent.addLocalHost(Addresses.left, now: .zero)
        agent.addLocalHost(sameHost, now: .zero)
        agent.addLocalHost(Addresses.left2, now: .zero)
        for (port, base) in [(1, Addresses.left), (2, sameHost), (3, Addresses.left2)] as [(UInt16, SocketAddress)] {
            agent.addServerReflexive(
                SocketAddress(ip: Addresses.natOutside, port: port), base: base, server: Self.server, now: .zero)
        }
        let other = SocketAddress(ip: Addresses.natOutside, port: 4)
        agent.addServerReflexive(other, base: Addresses.left, server: IPAddress(v4: 9), now: .zero)
        let foundations = Self.told(&agent).map(\.foundation)
        #expect(foundations[0] == foundations[1])
        #expect(foundations[3] == foundations[4])
        #expect(Set(foundations).count == 5)
        #expect(Set(agent.localCandidates.map(\.priority)).count == 6)
    }

    @Test func aServerReflexiveCandidateIsCheckedFromItsBaseAndOnce() {
        let peer = AgentPeer(.controlling, seed: 1, addresses: [Addresses.left])
        let other = AgentPeer(.controlled, seed: 2, addresses: [Addresses.right])
        peer.agent.addServerReflexive(Self.outside, base: Addresses.left, server: Self.server, now: Duel.start)
        peer.agent.addRelayed(
            Self.relayed, mapped: Self.outside, server: Self.server, preference: 1, now: Duel.start)
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        peer.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        for millisecond in 0..<400 {
            let now = Duel.start + .milliseconds(millisecond)
            if let deadline = peer.nextDeadline, deadline <= now { peer.handleTimeout(now: now) }
            _ = peer.drain(now: now)
        }
        #expect(peer.sent.map(\.transmit.source) == [Addresses.left, Self.relayed])
    }

    @Test func behindANATOneToOneTheAddressOutsideIsToldAndTheSocketUsed() {
        let left = AgentPeer(
            .controlling, seed: 1, options: ICEOptions(publicAddresses: [Addresses.left.ip: Addresses.natOutside]),
            addresses: [Addresses.left])
        let outside = SocketAddress(ip: Addresses.natOutside, port: Addresses.left.port)
        #expect(left.agent.localCandidates.map(\.address) == [outside])
        #expect(left.agent.localCandidates.map(\.type) == [.host])
        let right = AgentPeer(.controlled, seed: 2, addresses: [Addresses.right])
        let simulation = Simulation(left, right, conditions: .init(), seed: 1)
        simulation.nats[0] = SimulatedNAT(address: Addresses.natOutside, firstPort: Addresses.left.port)
        left.agent.setRemoteCredentials(right.agent.localCredentials, now: simulation.now)
        right.agent.setRemoteCredentials(left.agent.localCredentials, now: simulation.now)
        left.agent.addRemoteCandidate(right.agent.localCandidates[0], now: simulation.now)
        right.agent.addRemoteCandidate(left.agent.localCandidates[0], now: simulation.now)
        #expect(simulation.run(until: simulation.now + .seconds(2)) { left.agent.state == .connected })
        #expect(left.agent.selectedPath?.local == Addresses.left)
        #expect(left.agent.statistics.selectedLocal?.address == outside)
        #expect(left.agent.statistics.selectedLocal?.type == .host)
        #expect(right.agent.selectedPath?.remote == outside)
        #expect(right.agent.statistics.selectedRemote?.type == .host)
    }

    @Test func aFilteredAddressIsNeitherToldNorUsed() {
        let options = ICEOptions(filter: { $0.address.ip.family == .v6 })
        let peer = AgentPeer(.controlling, seed: 1, options: options, addresses: [Addresses.left, Addresses.leftV6])
        let other = AgentPeer(.controlled, seed: 2, addresses: [Addresses.right, Addresses.rightV6])
        #expect(peer.agent.localCandidates.map(\.address) == [Addresses.leftV6])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        for candidate in other.agent.localCandidates { peer.agent.addRemoteCandidate(candidate, now: Duel.start) }
        for millisecond in 0..<100 {
            peer.handleTimeout(now: Duel.start + .milliseconds(millisecond))
            _ = peer.drain(now: Duel.start + .milliseconds(millisecond))
        }
        #expect(peer.sent.map(\.transmit.destination) == [Addresses.rightV6])
    }

    @Test func whenASocketGoesAwayTheNextBestPathTakesOver() {
        let duel = Duel(leftAddresses: [Addresses.left, Addresses.left2])
        #expect(duel.connect())
        duel.run(.seconds(1))
        #expect(duel.left.agent.selectedPath?.local == Addresses.left)
        duel.left.agent.removeLocal(base: Addresses.left, now: duel.simulation.now)
        #expect(duel.left.agent.selectedPath?.local == Addresses.left2)
        #expect(duel.left.agent.state == .connected)
        #expect(duel.left.agent.localCandidates.map(\.address) == [Addresses.left2])
        let before = duel.left.sent.count
        duel.run(.seconds(20))
        #expect(duel.areConnected)
        #expect(duel.left.sent[before...].allSatisfy { $0.transmit.source == Addresses.left2 })
    }

    /// The other pair's check was answered minutes ago: that must not count as the peer's silence.
    @Test func afterAMinuteTheNextBestPathStillTakesOver() {
        let duel = Duel(leftAddresses: [Addresses.left, Addresses.left2])
        #expect(duel.connect())
        duel.run(.seconds(60))
        duel.left.agent.removeLocal(base: Addresses.left, now: duel.simulation.now)
        #expect(duel.left.agent.selectedPath?.local == Addresses.left2)
        duel.run(.seconds(60))
        #expect(duel.areConnected)
        #expect(duel.left.states.allSatisfy { if case .failed = $0 { false } else { true } })
    }

    @Test func afterAMinuteAPeerIsFollowedToItsOtherPath() throws {
        let duel = Duel(leftAddresses: [Addresses.left, Addresses.left2])
        #expect(duel.connect())
        duel.run(.seconds(60))
        let selected = try #require(duel.right.agent.selectedPath)
        let other = ICEPath(
            local: selected.local, remote: selected.remote == Addresses.left ? Addresses.left2 : Addresses.left)
        #expect(duel.right.agent.isValidated(other))
        duel.right.agent.follow(other, now: duel.simulation.now)
        duel.run(.seconds(60))
        #expect(duel.right.states.allSatisfy { if case .failed = $0 { false } else { true } })
        #expect(duel.areConnected)
    }

    @Test func whenTheLastSocketGoesAwayTheAgentWaitsAndThenSaysWhy() {
        let duel = Duel()
        #expect(duel.connect())
        duel.left.agent.removeLocal(base: Addresses.left, now: duel.simulation.now)
        #expect(duel.left.agent.state == .disconnected)
        #expect(duel.left.agent.selectedPath == nil)
        duel.run(.seconds(60))
        #expect(duel.left.agent.state == .failed(reason: "This side has no address that may be used."))
        #expect(!duel.simulation.isStalled)
    }

    @Test func withoutARelayTheReasonNamesIt() {
        let peer = AgentPeer(
            .controlling, seed: 1, options: ICEOptions(isRelayOnly: true), addresses: [Addresses.left])
        let other = AgentPeer(.controlled, seed: 2, addresses: [Addresses.right])
        #expect(peer.agent.localCandidates.isEmpty)
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        peer.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        peer.handleTimeout(now: Duel.start + .seconds(40))
        guard case .failed(let reason) = peer.agent.state else {
            Issue.record("\(peer.agent.state)")
            return
        }
        #expect(reason.contains("TURN"))
    }

    @Test func whenTheNetworkComesBackPairsThatFailedAreTriedAnewAtOnce() {
        let duel = Duel()
        duel.simulation.filter = { _, _ in false }
        duel.introduce()
        duel.run(.seconds(38))
        #expect(duel.left.agent.state == .checking)
        duel.simulation.filter = nil
        for peer in [duel.left, duel.right] { peer.agent.networkDidChange(now: duel.simulation.now) }
        #expect(duel.run(.seconds(1)) { duel.left.agent.state == .connected && duel.right.agent.state == .connected })
    }
}
