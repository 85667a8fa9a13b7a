import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// ICE over TCP (RFC 6544), for peers behind firewalls that let no UDP through.
@Suite struct TCPCandidateTests {
    @Test("RFC 6544 §4.2: TCP ranks below UDP and above relays, the directions as they are likely to work")
    func priorities() throws {
        let duel = TCPDuel()
        duel.left.agent.addServerReflexive(
            SocketAddress(ip: Addresses.natOutside, port: 1), base: Addresses.left, server: Addresses.stranger.ip,
            now: duel.now)
        duel.left.agent.addRelayed(
            Addresses.stranger, mapped: Addresses.left, server: Addresses.stranger.ip, preference: 0xFFFF, now: duel.now
        )
        let other = SocketAddress(ip: Addresses.left2.ip, port: 443)
        duel.left.agent.addPassiveHost(other, now: duel.now)
        let candidates = duel.left.agent.localCandidates
        let passive = candidates.filter { $0.transport == .tcp }
        #expect(passive.map(\.address) == [TCPDuel.listener, other])
        #expect(passive.allSatisfy { $0.type == .host && $0.base == $0.address })
        // direction-pref of passive host candidates is 4.
        #expect(passive.map { $0.priority >> 8 & 0xFFFF } == [0x9FFF, 0x9FFE])
        #expect(Set(candidates.map(\.priority)).count == candidates.count)
        for candidate in candidates where candidate.transport == .udp {
            #expect(passive.allSatisfy { ($0.priority < candidate.priority) == (candidate.type != .relayed) })
        }
        let udp = try #require(candidates.first { $0.type == .host && $0.transport == .udp })
        #expect(!passive.map(\.foundation).contains(udp.foundation))
    }

    @Test func whereUDPIsBlockedTheConnectionCarriesBothSides() throws {
        let duel = TCPDuel()
        duel.introduce()
        #expect(duel.run(.seconds(2)) { duel.areConnected })
        let path = try #require(duel.right.agent.selectedPath)
        #expect(path == duel.connections.first)
        #expect(duel.left.agent.selectedPath == ICEPath(local: path.remote, remote: path.local, transport: .tcp))
        let left = duel.left.agent.statistics
        #expect(left.selectedLocal?.transport == .tcp && left.selectedLocal?.type == .host)
        #expect(left.selectedLocal?.address == TCPDuel.listener)
        #expect(left.selectedRemote?.transport == .tcp && left.selectedRemote?.type == .peerReflexive)
        // RFC 6544 §7.1: what the check says of its sender's priority is that of a peer-reflexive active candidate.
        #expect(
            left.selectedRemote.map { $0.priority >> 29 } == duel.right.agent.statistics.selectedLocal.map { _ in 2 })
        let right = duel.right.agent.statistics
        #expect(right.selectedLocal?.type == .host && right.selectedLocal?.address == path.local)
        #expect(right.selectedRemote?.type == .host && right.selectedRemote?.address == TCPDuel.listener)
        #expect(right.selectedLocal.map { $0.priority >> 21 & 7 } == 6)
        #expect(duel.left.agent.isValidated(ICEPath(local: path.remote, remote: path.local, transport: .tcp)))
        #expect(!duel.left.agent.isValidated(ICEPath(local: path.remote, remote: path.local)))
    }

    @Test("RFC 6544 §6.2: a passive candidate is paired with who connects, not with who could be sent to")
    func passiveIsPairedWithWhoConnects() {
        let duel = TCPDuel()
        duel.isReachable = false
        duel.introduce()
        duel.run(.seconds(5))
        #expect(duel.left.sent.allSatisfy { $0.transmit.transport == .udp })
        #expect(duel.left.wanted.isEmpty)
        #expect(duel.right.wanted == [TCPDuel.listener])
    }

    @Test func whileUDPWorksNobodyConnects() {
        let duel = TCPDuel()
        duel.hasUDP = true
        duel.introduce()
        #expect(duel.run(.seconds(2)) { duel.areConnected })
        duel.run(.seconds(30))
        #expect(duel.right.wanted.isEmpty)
        #expect(duel.right.agent.selectedPath?.transport == .udp)
        // A firewall closes: TCP takes over within what it takes to notice.
        duel.hasUDP = false
        #expect(duel.run(.seconds(20)) { duel.right.agent.selectedPath?.transport == .tcp })
        #expect(duel.run(.seconds(20)) { duel.left.agent.selectedPath?.transport == .tcp && duel.areConnected })
    }

    @Test func ofTwoPathsThatWorkUDPIsTaken() {
        let duel = TCPDuel()
        duel.introduce()
        #expect(duel.run(.milliseconds(330)) { !duel.connections.isEmpty })
        duel.hasUDP = true
        #expect(duel.run(.seconds(4)) { duel.areConnected && duel.right.agent.selectedPath?.transport == .udp })
        #expect(duel.run(.seconds(4)) { duel.left.agent.selectedPath?.transport == .udp })
    }

    @Test("RFC 8489 §6.2.2: over a connection nothing is sent twice")
    func nothingIsRepeated() throws {
        let duel = TCPDuel()
        duel.introduce()
        #expect(duel.run(.seconds(1)) { !duel.connections.isEmpty })
        duel.silent = duel.connections
        duel.run(.seconds(30))
        #expect(duel.right.sent.count { $0.transmit.transport == .tcp } == 1)
        #expect(duel.right.sent.count { $0.transmit.transport == .udp } >= 5)
    }

    @Test func consentKeepsAConnectionAndItsLossEndsIt() throws {
        let duel = TCPDuel()
        duel.introduce()
        #expect(duel.run(.seconds(2)) { duel.areConnected })
        duel.run(.seconds(120))
        #expect(duel.areConnected)
        duel.silent = duel.connections
        let since = duel.now
        #expect(duel.run(.seconds(60)) { if case .failed = duel.left.agent.state { true } else { false } })
        #expect((24.0...31.0).contains((duel.now - since).inSeconds))
    }

    @Test func aConnectionThatEndsIsMadeAgain() throws {
        let duel = TCPDuel()
        duel.introduce()
        #expect(duel.run(.seconds(2)) { duel.areConnected })
        let first = try #require(duel.right.agent.selectedPath)
        duel.disconnect(first)
        #expect(duel.left.agent.state == .disconnected && duel.left.agent.selectedPath == nil)
        #expect(duel.run(.seconds(2)) { duel.areConnected })
        let second = try #require(duel.right.agent.selectedPath)
        #expect(second != first)
        #expect(duel.left.agent.selectedPath?.remote == second.local)
        #expect(!duel.left.agent.remoteCandidates.contains { $0.address == first.local })
    }

    @Test func aConnectionThatEndsAgainAndAgainIsNotMadeForEver() {
        let duel = TCPDuel()
        duel.introduce()
        for _ in 0..<10 {
            duel.run(.seconds(3)) { !duel.connections.isEmpty }
            for path in duel.connections { duel.disconnect(path) }
        }
        duel.run(.seconds(20))
        #expect(duel.right.wanted.count == 3)
    }

    @Test func aRestartFindsItsWayOverTCPAgain() throws {
        let duel = TCPDuel()
        duel.introduce()
        #expect(duel.run(.seconds(2)) { duel.areConnected })
        let first = try #require(duel.right.agent.selectedPath)
        duel.left.agent.restart()
        duel.right.agent.restart()
        duel.introduce()
        #expect(duel.left.agent.selectedPath?.remote == first.local)
        #expect(duel.run(.seconds(3)) { duel.areConnected && duel.right.agent.selectedPath != first })
        #expect(duel.left.agent.selectedPath?.transport == .tcp)
    }

    @Test func whoMayTellRelaysAloneNeitherListensNorConnects() {
        let left = TCPDuel(leftOptions: ICEOptions(isRelayOnly: true))
        left.introduce()
        #expect(left.left.agent.localCandidates.isEmpty)
        #expect(left.right.wanted.isEmpty)
        let right = TCPDuel(rightOptions: ICEOptions(isRelayOnly: true))
        right.introduce()
        right.run(.seconds(5))
        #expect(right.right.wanted.isEmpty && right.right.sent.isEmpty)
    }

    @Test func behindANATOneToOneTheAddressOutsideIsTold() {
        let duel = TCPDuel(leftOptions: ICEOptions(publicAddresses: [Addresses.left.ip: Addresses.natOutside]))
        let passive = duel.left.agent.localCandidates.filter { $0.transport == .tcp }
        #expect(passive.map(\.address) == [SocketAddress(ip: Addresses.natOutside, port: TCPDuel.listener.port)])
        #expect(passive.map(\.base) == [TCPDuel.listener])
    }

    @Test func oneAddressOverBothIsTwoPaths() throws {
        var agent = ICEAgent(
            role: .controlled, pacer: TransactionPacer(), random: RandomSource(SeededRandom(1)))
        agent.addLocalHost(Addresses.left, now: .zero)
        agent.addPassiveHost(Addresses.left, now: .zero)
        #expect(agent.localCandidates.map(\.transport) == [.udp, .tcp])
        agent.removeLocal(base: Addresses.left, transport: .tcp, now: .zero)
        #expect(agent.localCandidates.map(\.transport) == [.udp])
        agent.addPassiveHost(Addresses.left, now: .zero)
        agent.removeLocal(base: Addresses.left, now: .zero)
        #expect(agent.localCandidates.map(\.transport) == [.tcp])
    }

    @Test func aPeerThatIsReachedOverTCPAloneIsToldSoWhenItFails() {
        let duel = TCPDuel()
        duel.isReachable = false
        duel.right.agent.setRemoteCredentials(duel.left.agent.localCredentials, now: duel.now)
        for candidate in duel.left.agent.localCandidates where candidate.transport == .tcp {
            duel.right.agent.addRemoteCandidate(candidate, now: duel.now)
        }
        duel.run(.seconds(60))
        guard case .failed(let reason) = duel.right.agent.state else {
            Issue.record("it has not failed")
            return
        }
        #expect(reason.contains("TCP alone"))
    }
}
