import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import EmisoraTURN
import Testing

/// An agent with its servers, composed as a session composes them, and a stream of numbered datagrams for media.
final class Endpoint: SimulatedPeer {
    var agent: ICEAgent
    var gatherer: CandidateGatherer
    var onLocalCandidate: (ICECandidate) -> Void = { _ in }
    var onEnd: () -> Void = {}
    private(set) var states: [ICEState] = []
    /// What was sent, by where to.
    private(set) var destinations: Set<SocketAddress> = []
    private(set) var received: [UInt32] = []
    private(set) var hasEnded = false
    private var outgoing: [UInt32] = []
    private var nextNumber: UInt32 = 0

    init(
        _ role: ICERole, at address: SocketAddress, servers: [CandidateGatherer.Server], options: ICEOptions,
        pacer: TransactionPacer = TransactionPacer(), seed: UInt64, now: Instant
    ) {
        agent = ICEAgent(
            role: role, options: options, pacer: pacer, random: RandomSource(SeededRandom(seed)))
        gatherer = CandidateGatherer(
            servers: servers, pacer: pacer, random: RandomSource(SeededRandom(seed &+ 99)))
        agent.addLocalHost(address, now: now)
    }

    func start(now: Instant) {
        gatherer.start(now: now)
        settle(now)
    }

    func sendMedia() {
        outgoing.append(nextNumber)
        nextNumber += 1
    }

    func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {
        switch gatherer.handle(datagram: datagram.bytes, from: remote, to: local, now: now) {
        case .handled: break
        case .ignored: take(datagram.bytes, ICEPath(local: local, remote: remote), now: now)
        case .data(let range, let relayed, let peer):
            take(datagram.bytes.extracting(range), ICEPath(local: relayed, remote: peer), now: now)
        }
        settle(now)
    }

    private func take(_ datagram: RawSpan, _ path: ICEPath, now: Instant) {
        if STUNMessage.looksLikeSTUN(datagram) {
            _ = agent.handle(datagram: datagram, path: path, now: now)
        } else if agent.isValidated(path), datagram.byteCount == 5 {
            received.append(UInt32(bigEndian: datagram.unsafeLoadUnaligned(fromByteOffset: 1, as: UInt32.self)))
        }
    }

    func handleTimeout(now: Instant) {
        gatherer.handleTimeout(now: now)
        agent.handleTimeout(now: now)
        settle(now)
    }

    var nextDeadline: Instant? {
        let deadline = min(gatherer.nextDeadline ?? .distantFuture, agent.nextDeadline ?? .distantFuture)
        return deadline == .distantFuture ? nil : deadline
    }

    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        settle(now)
        while true {
            if let transmit = gatherer.pollTransmit(into: &buffer, now: now) { return sent(transmit) }
            guard let transmit = agent.pollTransmit(into: &buffer, now: now) ?? media(into: &buffer) else { return nil }
            guard gatherer.isRelayed(transmit.source) else { return sent(transmit) }
            if let wrapped = gatherer.wrap(transmit, in: &buffer, now: now) { return sent(wrapped) }
        }
    }

    private func media(into buffer: inout MutableRawSpan) -> Transmit? {
        guard let path = agent.selectedPath, !outgoing.isEmpty else { return nil }
        buffer.storeBytes(of: 0x80, toByteOffset: 0, as: UInt8.self)
        buffer.storeBytes(of: outgoing.removeFirst().bigEndian, toByteOffset: 1, as: UInt32.self)
        return Transmit(byteCount: 5, source: path.local, destination: path.remote)
    }

    private func sent(_ transmit: Transmit) -> Transmit {
        destinations.insert(transmit.destination)
        return transmit
    }

    private func settle(_ now: Instant) {
        while let event = gatherer.pollEvent() {
            switch event {
            case .serverReflexive(let address, let base, let server):
                agent.addServerReflexive(address, base: base, server: server, now: now)
            case .relayed(let address, let mapped, let server, let preference):
                agent.addRelayed(address, mapped: mapped, server: server, preference: preference, now: now)
            case .relayedAddressLost(let address, _): agent.removeLocal(base: address, now: now)
            case .serverFailed, .redirected: break
            case .finished: agent.endLocalCandidates(now: now)
            }
        }
        while let event = agent.pollEvent() {
            switch event {
            case .localCandidate(let candidate): onLocalCandidate(candidate)
            case .localCandidatesEnded:
                hasEnded = true
                onEnd()
            case .stateChanged(let state): states.append(state)
            case .selectedPathChanged, .connectionWanted: break
            }
        }
    }
}

/// Two endpoints, each behind a NAT or not, and a server that both can reach.
final class RelayedDuel {
    enum NAT {
        case none
        case cone
        case symmetric
    }

    let left: Endpoint
    let right: Endpoint
    let server: SimulatedTURNServer
    let simulation: Simulation
    private(set) var toldByLeft: [ICECandidate] = []
    private(set) var toldByRight: [ICECandidate] = []

    static let outsideRight = SocketAddress(ip: Addresses.rightNAT, port: 6_000)

    init(
        seed: UInt64 = 1, loss: Double = 0, left leftNAT: NAT, right rightNAT: NAT, hasTURN: Bool = true,
        pacer: TransactionPacer? = nil, leftOptions: ICEOptions = ICEOptions(), rightOptions: ICEOptions = ICEOptions()
    ) {
        let start = Instant.zero + .seconds(1)
        server = makeServer(seed: seed)
        // Without a NAT the machine has the address that the NAT would have.
        let rightAddress = rightNAT == .none ? Self.outsideRight : Addresses.right
        func servers(_ local: SocketAddress) -> [CandidateGatherer.Server] {
            [.init(.stun, address: Addresses.server, local: local)]
                + (hasTURN ? [.init(.turn(credentials, family: .v4), address: Addresses.server, local: local)] : [])
        }
        left = Endpoint(
            .controlling, at: Addresses.left, servers: servers(Addresses.left), options: leftOptions,
            pacer: pacer ?? TransactionPacer(), seed: seed, now: start)
        right = Endpoint(
            .controlled, at: rightAddress, servers: servers(rightAddress), options: rightOptions,
            pacer: pacer ?? TransactionPacer(), seed: seed &+ 7_777, now: start)
        var conditions = SimulatedLink.Conditions()
        conditions.loss = loss
        simulation = Simulation(left, right, server: server, conditions: conditions, seed: seed)
        simulation.routes = [Addresses.server.ip: .server, Addresses.relay: .server]
        func nat(_ kind: NAT, _ address: IPAddress) -> SimulatedNAT? {
            switch kind {
            case .none: nil
            case .cone: SimulatedNAT(address: address)
            case .symmetric: SimulatedNAT(address: address, mapping: .addressAndPortDependent)
            }
        }
        simulation.nats[0] = nat(leftNAT, Addresses.leftNAT)
        simulation.nats[1] = nat(rightNAT, Addresses.rightNAT)
        if rightNAT == .none { simulation.routes[Addresses.rightNAT] = .right }
    }

    /// Exchanges credentials at once and candidates as they come, 20 ms later.
    func introduce() {
        left.agent.setRemoteCredentials(right.agent.localCredentials, now: simulation.now)
        right.agent.setRemoteCredentials(left.agent.localCredentials, now: simulation.now)
        left.onLocalCandidate = { [unowned self] candidate in
            toldByLeft.append(candidate)
            trickle { $0.right.agent.addRemoteCandidate(candidate, now: $1) }
        }
        right.onLocalCandidate = { [unowned self] candidate in
            toldByRight.append(candidate)
            trickle { $0.left.agent.addRemoteCandidate(candidate, now: $1) }
        }
        left.onEnd = { [unowned self] in trickle { $0.right.agent.remoteEndOfCandidates(now: $1) } }
        right.onEnd = { [unowned self] in trickle { $0.left.agent.remoteEndOfCandidates(now: $1) } }
        left.start(now: simulation.now)
        right.start(now: simulation.now)
    }

    private func trickle(_ action: @escaping (RelayedDuel, Instant) -> Void) {
        simulation.schedule(at: simulation.now + .milliseconds(20)) { [unowned self] now in action(self, now) }
    }

    @discardableResult
    func run(_ duration: Duration, until condition: () -> Bool = { false }) -> Bool {
        simulation.run(until: simulation.now + duration, condition)
    }

    var areConnected: Bool { left.agent.state == .connected && right.agent.state == .connected }

    /// Both send 100 datagrams a second for that long.
    func talk(_ duration: Duration) {
        let end = simulation.now + duration
        func tick(_ now: Instant) {
            left.sendMedia()
            right.sendMedia()
            if now + .milliseconds(10) < end { simulation.schedule(at: now + .milliseconds(10), tick) }
        }
        simulation.schedule(at: simulation.now, tick)
        run(duration + .milliseconds(500))
    }
}

@Suite struct RelayedConnectionTests {
    private static func isRelayed(_ path: ICEPath?) -> Bool {
        path.map { $0.local.ip == Addresses.relay || $0.remote.ip == Addresses.relay } ?? false
    }

    @Test func behindConesTheServerReflexiveAddressesMeet() {
        let duel = RelayedDuel(left: .cone, right: .cone, hasTURN: false)
        duel.introduce()
        #expect(duel.run(.seconds(3)) { duel.areConnected })
        duel.run(.seconds(1))
        #expect(duel.left.agent.selectedPath?.remote.ip == Addresses.rightNAT)
        #expect(duel.left.agent.statistics.selectedLocal?.type == .serverReflexive)
        #expect(duel.left.agent.statistics.selectedRemote?.type == .serverReflexive)
        #expect(duel.toldByLeft.map(\.type) == [.host, .serverReflexive])
        let reflexive = duel.toldByLeft[1]
        #expect(reflexive.address == SocketAddress(ip: Addresses.leftNAT, port: 40_000))
        #expect(reflexive.relatedAddress == Addresses.left)
        #expect(reflexive.priority == 100 << 24 | 65_535 << 8 | 255)
        #expect(Set(duel.toldByLeft.map(\.foundation)).count == 2)
        duel.talk(.seconds(2))
        #expect(duel.left.received.count == 200 && duel.right.received.count == 200)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func behindSymmetricNATsTheRelayConnectsInSpiteOfLoss(seed: UInt64) {
        let duel = RelayedDuel(seed: seed, loss: 0.1, left: .symmetric, right: .symmetric)
        duel.introduce()
        #expect(duel.run(.seconds(30)) { duel.areConnected })
        duel.run(.seconds(5))
        #expect(Self.isRelayed(duel.left.agent.selectedPath) && Self.isRelayed(duel.right.agent.selectedPath))
        duel.talk(.seconds(5))
        // At least two hops, each of which loses a tenth.
        #expect(duel.left.received.count > 300 && duel.right.received.count > 300)
        #expect(duel.server.channelMessages > 200)
        #expect(duel.server.secondAllocates == 0)
        duel.run(.seconds(900))
        #expect(duel.areConnected)
        #expect(!duel.simulation.isStalled)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func aSymmetricNATTowardsAMachineWithoutOneNeedsNoRelay(seed: UInt64) {
        let duel = RelayedDuel(seed: seed, loss: 0.1, left: .symmetric, right: .none, hasTURN: false)
        duel.introduce()
        #expect(duel.run(.seconds(30)) { duel.areConnected })
        duel.run(.seconds(5))
        // What STUN told is of no use there; the check itself shows the address.
        #expect(duel.right.agent.statistics.selectedRemote?.type == .peerReflexive)
        duel.talk(.seconds(2))
        #expect(duel.right.received.count > 120)
    }

    @Test func symmetricNATsWithoutARelayFailWithAReason() {
        let duel = RelayedDuel(left: .symmetric, right: .symmetric, hasTURN: false)
        duel.introduce()
        #expect(!duel.run(.seconds(60)) { duel.left.agent.state == .connected })
        guard case .failed(let reason) = duel.left.agent.state else {
            Issue.record("\(duel.left.agent.state)")
            return
        }
        #expect(reason.contains("answered"))
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func whereOnlyRelaysMayBeUsedNoOtherAddressIsToldOrUsed(seed: UInt64) {
        let options = ICEOptions(isRelayOnly: true)
        let duel = RelayedDuel(
            seed: seed, loss: 0.1, left: .none, right: .none, leftOptions: options, rightOptions: options)
        // Without NATs both could reach each other at once, if they told.
        duel.simulation.routes[Addresses.left.ip] = .left
        duel.introduce()
        #expect(duel.run(.seconds(30)) { duel.areConnected })
        duel.talk(.seconds(5))
        #expect(duel.left.received.count > 250 && duel.right.received.count > 250)
        for told in [duel.toldByLeft, duel.toldByRight] {
            #expect(told.map(\.type) == [.relayed])
            #expect(told.map(\.relatedAddress) == [SocketAddress(ip: IPAddress(v4: 0), port: 9)])
            #expect(told.map(\.priority) == [0x7FFF << 8 | 255])
        }
        #expect(duel.left.destinations == [Addresses.server])
        #expect(duel.right.destinations == [Addresses.server])
        #expect(duel.left.agent.selectedPath?.local.ip == Addresses.relay)
        #expect(duel.left.agent.statistics.selectedLocal?.type == .relayed)
    }

    @Test func checksThatComeToAHiddenAddressAreNotAnswered() {
        let duel = RelayedDuel(left: .none, right: .none, leftOptions: ICEOptions(isRelayOnly: true))
        duel.simulation.routes[Addresses.left.ip] = .left
        duel.introduce()
        // Somebody guessed the address, and knows the credentials.
        duel.right.agent.addRemoteCandidate(
            ICECandidate(foundation: "1", priority: 2_000_000_000, address: Addresses.left, type: .host),
            now: duel.simulation.now)
        #expect(duel.run(.seconds(10)) { duel.areConnected })
        duel.run(.seconds(60))
        #expect(duel.left.destinations == [Addresses.server])
        #expect(duel.right.agent.selectedPath?.remote.ip == Addresses.relay)
    }

    @Test func aRelayOfOneSideIsEnough() {
        let duel = RelayedDuel(
            left: .symmetric, right: .symmetric, rightOptions: ICEOptions(filter: { $0.type != .relayed }))
        duel.introduce()
        #expect(duel.run(.seconds(10)) { duel.areConnected })
        duel.talk(.seconds(2))
        #expect(duel.left.received.count >= 190 && duel.right.received.count >= 190)
        #expect(duel.left.agent.selectedPath?.local.ip == Addresses.relay)
        #expect(duel.toldByRight.map(\.type) == [.host, .serverReflexive])
    }

    @Test func aServerThatForgetsMidCallLosesThePathAndAnotherRelayTakesOver() {
        let duel = RelayedDuel(left: .symmetric, right: .symmetric)
        duel.introduce()
        #expect(duel.run(.seconds(10)) { duel.areConnected })
        duel.run(.seconds(5))
        let lost = duel.left.agent.localCandidates.first { $0.type == .relayed }?.address
        // Only the left one's allocation is taken away.
        duel.left.gatherer.close(now: duel.simulation.now)
        if let lost { duel.left.agent.removeLocal(base: lost, now: duel.simulation.now) }
        #expect(
            duel.run(.seconds(30)) { duel.areConnected && duel.left.agent.selectedPath?.remote.ip == Addresses.relay })
        duel.talk(.seconds(2))
        #expect(duel.right.received.count >= 150)
    }

    @Test func theSameSeedGivesTheSameRunByteForByte() {
        func trace(_ seed: UInt64) -> UInt64 {
            let duel = RelayedDuel(seed: seed, loss: 0.2, left: .symmetric, right: .cone)
            duel.introduce()
            duel.run(.seconds(20))
            duel.talk(.seconds(2))
            return duel.simulation.traceHash
        }
        #expect(trace(5) == trace(5))
        #expect(trace(5) != trace(6))
    }
}
