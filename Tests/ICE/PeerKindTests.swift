import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// Peers that do ICE otherwise than in full and by RFC 8445.
@Suite struct PeerKindTests {
    @Test("RFC 8445 §2.5: a lite peer never asks, is nominated at once and keeps its consent")
    func aLitePeerIsConnectedTo() {
        let left = AgentPeer(.controlling, seed: 1, addresses: [Addresses.left, Addresses.left2])
        let lite = LitePeer(at: [Addresses.right])
        let simulation = Simulation(left, lite, conditions: .init(), seed: 1)
        left.agent.setRemoteCredentials(LitePeer.credentials, now: simulation.now)
        left.agent.addRemoteCandidate(lite.candidates[0], now: simulation.now)
        #expect(
            simulation.run(until: simulation.now + .milliseconds(200)) {
                left.agent.state == .connected && lite.nominated != nil
            })
        #expect(lite.nominated == left.agent.selectedPath?.local)
        let before = left.agent.selectedPath
        simulation.run(until: simulation.now + .seconds(120))
        #expect(left.agent.state == .connected)
        #expect(left.agent.selectedPath == before)
        // Consent every five seconds, give or take a fifth.
        #expect((24...40).contains(lite.requests.count))
        #expect(lite.requests.allSatisfy { $0.isFromControlling })
    }

    @Test func aLitePeerThatGoesSilentIsGivenUpAndOneThatComesBackIsNot() {
        for (pause, survives) in [(Duration.seconds(20), true), (.seconds(40), false)] {
            let left = AgentPeer(.controlling, seed: 2, addresses: [Addresses.left])
            let lite = LitePeer(at: [Addresses.right])
            let simulation = Simulation(left, lite, conditions: .init(), seed: 2)
            left.agent.setRemoteCredentials(LitePeer.credentials, now: simulation.now)
            left.agent.addRemoteCandidate(lite.candidates[0], now: simulation.now)
            simulation.run(until: simulation.now + .seconds(1))
            #expect(left.agent.state == .connected)
            lite.isSilent = true
            simulation.run(until: simulation.now + pause)
            lite.isSilent = false
            simulation.run(until: simulation.now + .seconds(10))
            #expect((left.agent.state == .connected) == survives)
            #expect(left.hasFailed == !survives)
        }
    }

    @Test(
        "RFC 5245 §8.1.1.2: of all that an aggressive peer nominates the best pair counts",
        arguments: 0..<8 as Range<UInt64>)
    func anAggressivePeerIsFollowedToItsBestPair(seed: UInt64) {
        var conditions = SimulatedLink.Conditions()
        conditions.delay = .milliseconds(15)
        conditions.jitter = .milliseconds(10)
        conditions.loss = seed < 4 ? 0 : 0.2
        let left = AgentPeer(
            .controlled, seed: seed, addresses: [Addresses.left, Addresses.left2, Addresses.leftV6])
        let bold = AggressivePeer(at: [Addresses.right, Addresses.rightV6])
        let simulation = Simulation(left, bold, conditions: conditions, seed: seed)
        left.agent.setRemoteCredentials(AggressivePeer.credentials, now: simulation.now)
        for candidate in bold.candidates { left.agent.addRemoteCandidate(candidate, now: simulation.now) }
        bold.meet(left.agent.localCredentials, at: left.agent.localCandidates.map(\.address))
        #expect(simulation.run(until: simulation.now + .seconds(5)) { left.agent.state == .connected })
        simulation.run(until: simulation.now + .seconds(20))
        #expect(left.agent.state == .connected)
        #expect(left.agent.role == .controlled)
        let best = bold.bestPair(among: left.agent.localCandidates)
        guard conditions.loss == 0 else {
            // Nominations that are lost look as if the peer had moved, so which pair counts at the moment is open.
            #expect(left.agent.selectedPath.map(left.agent.isValidated) == true)
            return
        }
        #expect(left.agent.selectedPath == best)
        // It goes on nominating all pairs each second, and the choice stands all the same.
        let changes = left.events.count { if case .selectedPathChanged = $0.event { true } else { false } }
        simulation.run(until: simulation.now + .seconds(30))
        #expect(left.agent.selectedPath == best)
        #expect(left.events.count { if case .selectedPathChanged = $0.event { true } else { false } } == changes)
        #expect(changes <= 4)
    }
}

/// A peer that says what it is told to, as the simulator drives it.
private class ScriptedPeer: SimulatedPeer {
    let candidates: [ICECandidate]
    private var outgoing: [(Transmit, [UInt8])] = []

    init(at addresses: [SocketAddress]) {
        candidates = addresses.enumerated().map { index, address in
            ICECandidate(
                foundation: "\(index)", priority: 0x7E00_00FF | UInt32(65_535 - index) << 8, address: address,
                type: .host)
        }
    }

    func send(_ message: Forgery, from local: SocketAddress, to remote: SocketAddress) {
        guard let bytes = try? message.bytes() else { return }
        outgoing.append((Transmit(byteCount: bytes.count, source: local, destination: remote), bytes))
    }

    /// The request in a datagram, answered with success.
    func answer(
        _ datagram: RawSpan, from remote: SocketAddress, to local: SocketAddress, password: String
    ) -> STUNMessage? {
        guard let message = try? STUNMessage(parsing: datagram), message.type.messageClass == .request else {
            return nil
        }
        send(
            Forgery(
                type: STUNMessageType(.success), transactionID: message.transactionID, priority: nil, tieBreaker: nil,
                mappedAddress: remote, password: password),
            from: local, to: remote)
        return message
    }

    func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {}
    func handleTimeout(now: Instant) {}
    var nextDeadline: Instant? { nil }

    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        guard !outgoing.isEmpty else { return nil }
        let (transmit, bytes) = outgoing.removeFirst()
        for (index, byte) in bytes.enumerated() { buffer.storeBytes(of: byte, toByteOffset: index, as: UInt8.self) }
        return transmit
    }
}

/// Answers checks and sends none (RFC 8445 §2.5), as servers with public addresses do.
private final class LitePeer: ScriptedPeer {
    struct Request {
        var useCandidate: Bool
        var isFromControlling: Bool
    }

    // swift-format-ignore: NeverForceUnwrap
    static let credentials = ICECredentials(ufrag: "lite", password: "aPasswordOfALitePeerThatIsLong")!
    var isSilent = false
    private(set) var requests: [Request] = []
    /// Where the check with USE-CANDIDATE came from.
    private(set) var nominated: SocketAddress?

    override func handle(
        datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant
    ) {
        guard !isSilent,
            let message = answer(datagram.bytes, from: remote, to: local, password: Self.credentials.password)
        else { return }
        requests.append(
            Request(useCandidate: message.useCandidate, isFromControlling: message.iceControlling != nil))
        if message.useCandidate { nominated = remote }
    }
}

/// Nominates with each of its checks, all pairs, over and over (RFC 5245 §8.1.1.2).
private final class AggressivePeer: ScriptedPeer {
    // swift-format-ignore: NeverForceUnwrap
    static let credentials = ICECredentials(ufrag: "bold", password: "aPasswordOfAnAggressivePeerThatIsLong")!
    private var theirs: ICECredentials?
    private var paths: [(local: ICECandidate, remote: SocketAddress)] = []
    private var nextCheckAt: Instant?
    private var count = 0

    func meet(_ credentials: ICECredentials, at addresses: [SocketAddress]) {
        theirs = credentials
        for local in candidates {
            for remote in addresses where remote.ip.family == local.address.ip.family { paths.append((local, remote)) }
        }
        // The worst ones first, so that the choice has to move.
        paths.reverse()
        nextCheckAt = .zero
    }

    /// The path, as the other side sees it, with the highest pair priority (RFC 8445 §6.1.2.3, we control).
    func bestPair(among others: [ICECandidate]) -> ICEPath? {
        let pairs = candidates.flatMap { ours in
            others.filter { $0.address.ip.family == ours.address.ip.family }.map { (ours: ours, theirs: $0) }
        }
        func priority(_ pair: (ours: ICECandidate, theirs: ICECandidate)) -> UInt64 {
            let controlling = UInt64(pair.ours.priority)
            let controlled = UInt64(pair.theirs.priority)
            return min(controlling, controlled) << 32 + 2 * max(controlling, controlled)
                + (controlling > controlled ? 1 : 0)
        }
        return pairs.max { priority($0) < priority($1) }.map {
            ICEPath(local: $0.theirs.address, remote: $0.ours.address)
        }
    }

    override func handle(
        datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant
    ) {
        _ = answer(datagram.bytes, from: remote, to: local, password: Self.credentials.password)
    }

    /// All pairs 20 ms apart, then all again after a second.
    override func handleTimeout(now: Instant) {
        guard let due = nextCheckAt, due <= now, let theirs, !paths.isEmpty else { return }
        let path = paths[count % paths.count]
        count += 1
        nextCheckAt = now + (count % paths.count == 0 ? .seconds(1) : .milliseconds(20))
        send(
            Forgery(
                transactionID: STUNTransactionID(high: 7, low: UInt64(count)),
                username: "\(theirs.ufrag):\(Self.credentials.ufrag)", priority: path.local.priority,
                tieBreaker: (.max, true), useCandidate: true, password: theirs.password),
            from: path.local.address, to: path.remote)
    }

    override var nextDeadline: Instant? { nextCheckAt }
}
