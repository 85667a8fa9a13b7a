import EmisoraCore
import EmisoraCrypto
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation

/// An agent as the simulator drives it, with a diary.
final class AgentPeer: SimulatedPeer {
    var agent: ICEAgent
    private(set) var events: [(at: Instant, event: ICEEvent)] = []
    /// What the agent sent, newest last.
    private(set) var sent: [(at: Instant, transmit: Transmit, bytes: [UInt8])] = []
    /// Addresses from and to which nothing gets through any more.
    var cut: Set<SocketAddress> = []

    init(
        _ role: ICERole, seed: UInt64, options: ICEOptions = ICEOptions(), pacer: TransactionPacer = TransactionPacer(),
        addresses: [SocketAddress]
    ) {
        agent = ICEAgent(role: role, options: options, pacer: pacer, random: RandomSource(SeededRandom(seed)))
        for address in addresses { agent.addLocalHost(address, now: .zero) }
    }

    func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {
        guard !cut.contains(remote), !cut.contains(local) else { return }
        _ = agent.handle(datagram: datagram.bytes, path: ICEPath(local: local, remote: remote), now: now)
        collect(now)
    }

    func handleTimeout(now: Instant) {
        agent.handleTimeout(now: now)
        collect(now)
    }

    var nextDeadline: Instant? { agent.nextDeadline }

    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        collect(now)
        guard let transmit = agent.pollTransmit(into: &buffer, now: now) else { return nil }
        let bytes = buffer.bytes.extracting(0..<transmit.byteCount).withUnsafeBytes { Array($0) }
        sent.append((now, transmit, bytes))
        return transmit
    }

    private func collect(_ now: Instant) {
        while let event = agent.pollEvent() { events.append((now, event)) }
    }

    /// Hands one datagram in from outside the simulation; gives the replies.
    func inject(
        _ bytes: [UInt8], from remote: SocketAddress, to local: SocketAddress, now: Instant
    ) -> (input: ICEInput, sent: [(transmit: Transmit, bytes: [UInt8])]) {
        let input = agent.handle(datagram: bytes.span.bytes, path: ICEPath(local: local, remote: remote), now: now)
        return (input, drain(now: now))
    }

    func drain(now: Instant) -> [(transmit: Transmit, bytes: [UInt8])] {
        var buffer = [UInt8](repeating: 0, count: 1_500)
        var result: [(transmit: Transmit, bytes: [UInt8])] = []
        while result.count < 1_000 {
            var span = buffer.mutableSpan
            var raw = span.mutableBytes
            guard let transmit = pollTransmit(into: &raw, now: now) else { break }
            result.append((transmit, Array(buffer[..<transmit.byteCount])))
        }
        return result
    }

    var states: [ICEState] {
        events.compactMap { if case .stateChanged(let state) = $0.event { state } else { nil } }
    }

    /// All that a forged message must leave as it is.
    var fingerprint: [String] {
        [
            "\(agent.state)", "\(agent.role)", "\(String(describing: agent.selectedPath))",
            "\(agent.remoteCandidates)", "\(agent.localCandidates)", "\(agent.localCredentials)",
            "\(String(describing: agent.remoteCredentials))", "\(String(describing: agent.nextDeadline))",
            "\(events.count)",
        ]
    }

    var hasFailed: Bool { if case .failed = agent.state { true } else { false } }
}

/// Addresses of the documentation networks (RFC 5737, RFC 3849).
enum Addresses {
    static let left = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 5_000)
    static let left2 = SocketAddress(ip: IPAddress(v4: 0xC000_0203), port: 5_001)
    static let leftV6 = SocketAddress(ip: IPAddress(v6High: 0x2001_0DB8_0000_0000, low: 1), port: 5_002)
    static let right = SocketAddress(ip: IPAddress(v4: 0xC633_6401), port: 6_000)
    static let rightV6 = SocketAddress(ip: IPAddress(v6High: 0x2001_0DB8_0000_0000, low: 2), port: 6_002)
    static let stranger = SocketAddress(ip: IPAddress(v4: 0xCB00_7101), port: 9_999)
    static let natOutside = IPAddress(v4: 0xCB00_7150)
}

/// Two agents and the network between them; the left one controls unless told otherwise.
struct Duel {
    let left: AgentPeer
    let right: AgentPeer
    let simulation: Simulation

    static let start = Instant.zero + .seconds(1)

    init(
        seed: UInt64 = 1, roles: (ICERole, ICERole) = (.controlling, .controlled),
        conditions: SimulatedLink.Conditions = .init(), leftAddresses: [SocketAddress] = [Addresses.left],
        rightAddresses: [SocketAddress] = [Addresses.right]
    ) {
        left = AgentPeer(roles.0, seed: seed, addresses: leftAddresses)
        right = AgentPeer(roles.1, seed: seed &+ 7_777, addresses: rightAddresses)
        simulation = Simulation(left, right, conditions: conditions, seed: seed)
    }

    /// Credentials and, unless told otherwise, all candidates, exchanged at once.
    func introduce(candidates: Bool = true) {
        let now = simulation.now
        left.agent.setRemoteCredentials(right.agent.localCredentials, now: now)
        right.agent.setRemoteCredentials(left.agent.localCredentials, now: now)
        guard candidates else { return }
        for candidate in left.agent.localCandidates { right.agent.addRemoteCandidate(candidate, now: now) }
        for candidate in right.agent.localCandidates { left.agent.addRemoteCandidate(candidate, now: now) }
    }

    /// Runs on for that long, or until the condition holds.
    @discardableResult
    func run(_ duration: Duration, until condition: () -> Bool = { false }) -> Bool {
        simulation.run(until: simulation.now + duration, condition)
    }

    var areConnected: Bool { left.agent.state == .connected && right.agent.state == .connected }

    /// Both send to where the other receives.
    var agreeOnPath: Bool {
        guard let ours = left.agent.selectedPath, let theirs = right.agent.selectedPath else { return false }
        // What a NAT makes of our address is what the peer sends to.
        let outside = simulation.nats[0] == nil ? ours.local : left.agent.statistics.selectedLocal?.address
        return outside == theirs.remote && ours.remote == theirs.local
    }

    func connect(within limit: Duration = .seconds(5)) -> Bool {
        introduce()
        return run(limit) { areConnected && agreeOnPath }
    }
}

/// A Binding message made by hand.
struct Forgery {
    var type = STUNMessageType(.request)
    var transactionID = STUNTransactionID(high: 1, low: 2)
    var username: String?
    var priority: UInt32? = 0x6E00_01FF
    var tieBreaker: (value: UInt64, isControlling: Bool)? = (1, true)
    var useCandidate = false
    var mappedAddress: SocketAddress?
    var errorCode: UInt16?
    var password: String?
    /// Comprehension-required and unknown.
    var hasUnknownAttribute = false

    func bytes() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1_024)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        var builder = try STUNMessageBuilder(&raw, type: type, transactionID: transactionID)
        if let username { try builder.add(username: Array(username.utf8)) }
        if let priority { try builder.add(priority: priority) }
        if let tieBreaker { try builder.add(tieBreaker: tieBreaker.value, isControlling: tieBreaker.isControlling) }
        if useCandidate { try builder.addUseCandidate() }
        if let mappedAddress { try builder.add(xorMappedAddress: mappedAddress) }
        if let errorCode { try builder.add(errorCode: errorCode, reason: "") }
        if hasUnknownAttribute { try builder.add(attribute: 0x7ABC, value: [1, 2, 3]) }
        let byteCount = try builder.finish(key: password.map { HMACSHA1Key(Array($0.utf8).span.bytes) })
        return Array(buffer[..<byteCount])
    }
}

func parse(_ bytes: [UInt8]) throws -> STUNMessage {
    try STUNMessage(parsing: bytes.span.bytes)
}
