import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation

/// Two agents with TCP between them, in virtual time: the left one listens, the right one connects where it is told to.
final class TCPDuel {
    /// One end of the duel.
    struct Side {
        var agent: ICEAgent
        var events: [(at: Instant, event: ICEEvent)] = []
        var sent: [(at: Instant, transmit: Transmit)] = []

        var wanted: [SocketAddress] {
            events.compactMap { if case .connectionWanted(let to) = $0.event { to } else { nil } }
        }

        fileprivate mutating func collect(_ now: Instant) {
            while let event = agent.pollEvent() { events.append((now, event)) }
        }
    }

    private struct Delivery {
        let at: Instant
        let toLeft: Bool
        let path: ICEPath
        let bytes: [UInt8]
    }

    static let listener = SocketAddress(ip: Addresses.left.ip, port: 443)
    private static let delay: Duration = .milliseconds(20)

    var left: Side
    var right: Side
    private(set) var now = Instant.zero + .seconds(1)
    /// Whether UDP gets through.
    var hasUDP = false
    /// Whether the listener is reached; else connections are never made.
    var isReachable = true
    /// Connections that stand, as the right side sees them.
    private(set) var connections: Set<ICEPath> = []
    /// Connections that swallow what is sent.
    var silent: Set<ICEPath> = []
    private var deliveries: [Delivery] = []
    private var connecting: [(at: Instant, path: ICEPath)] = []
    private var nextPort: UInt16 = 40_000

    init(leftOptions: ICEOptions = ICEOptions(), rightOptions: ICEOptions = ICEOptions()) {
        func agent(_ role: ICERole, _ seed: UInt64, _ options: ICEOptions) -> ICEAgent {
            ICEAgent(role: role, options: options, pacer: TransactionPacer(), random: RandomSource(SeededRandom(seed)))
        }
        left = Side(agent: agent(.controlled, 1, leftOptions))
        right = Side(agent: agent(.controlling, 2, rightOptions))
        left.agent.addLocalHost(Addresses.left, now: now)
        left.agent.addPassiveHost(Self.listener, now: now)
        right.agent.addLocalHost(Addresses.right, now: now)
    }

    func introduce() {
        left.agent.setRemoteCredentials(right.agent.localCredentials, now: now)
        right.agent.setRemoteCredentials(left.agent.localCredentials, now: now)
        for candidate in left.agent.localCandidates { right.agent.addRemoteCandidate(candidate, now: now) }
        for candidate in right.agent.localCandidates { left.agent.addRemoteCandidate(candidate, now: now) }
    }

    /// The connection ends; both sides are told.
    func disconnect(_ path: ICEPath) {
        connections.remove(path)
        right.agent.didDisconnect(path, now: now)
        left.agent.didDisconnect(Self.mirrored(path), now: now)
    }

    /// Runs on for that long, or until the condition holds.
    @discardableResult
    func run(_ duration: Duration, until condition: () -> Bool = { false }) -> Bool {
        let end = now + duration
        while true {
            settle()
            if condition() { return true }
            let next = [
                left.agent.nextDeadline, right.agent.nextDeadline, deliveries.map(\.at).min(),
                connecting.map(\.at).min(),
            ].compactMap { $0 }.min()
            guard let next, next <= end else {
                now = end
                return condition()
            }
            now = max(now, next)
            deliver()
            if let deadline = left.agent.nextDeadline, deadline <= now { left.agent.handleTimeout(now: now) }
            if let deadline = right.agent.nextDeadline, deadline <= now { right.agent.handleTimeout(now: now) }
        }
    }

    var areConnected: Bool { left.agent.state == .connected && right.agent.state == .connected }

    private func deliver() {
        for one in connecting where one.at <= now && isReachable {
            connections.insert(one.path)
            right.agent.didConnect(one.path, now: now)
        }
        connecting.removeAll { $0.at <= now }
        for one in deliveries where one.at <= now {
            if one.toLeft {
                _ = left.agent.handle(datagram: one.bytes.span.bytes, path: one.path, now: now)
            } else {
                _ = right.agent.handle(datagram: one.bytes.span.bytes, path: one.path, now: now)
            }
        }
        deliveries.removeAll { $0.at <= now }
    }

    private func settle() {
        let known = right.events.count
        left.collect(now)
        right.collect(now)
        for one in right.events[known...] {
            guard case .connectionWanted(let remote) = one.event else { continue }
            let local = SocketAddress(ip: Addresses.right.ip, port: nextPort)
            nextPort += 1
            connecting.append((now + Self.delay * 2, ICEPath(local: local, remote: remote, transport: .tcp)))
        }
        drain(isLeft: true)
        drain(isLeft: false)
    }

    private func drain(isLeft: Bool) {
        var buffer = [UInt8](repeating: 0, count: 1_500)
        while true {
            var span = buffer.mutableSpan
            var raw = span.mutableBytes
            let next =
                isLeft
                ? left.agent.pollTransmit(into: &raw, now: now) : right.agent.pollTransmit(into: &raw, now: now)
            guard let transmit = next else { return }
            if isLeft { left.sent.append((now, transmit)) } else { right.sent.append((now, transmit)) }
            let path = ICEPath(
                local: transmit.source, remote: transmit.destination, transport: transmit.transport)
            let connection = isLeft ? Self.mirrored(path) : path
            let passes =
                path.transport == .udp ? hasUDP : connections.contains(connection) && !silent.contains(connection)
            guard passes else { continue }
            deliveries.append(
                Delivery(
                    at: now + Self.delay, toLeft: !isLeft, path: Self.mirrored(path),
                    bytes: Array(buffer[..<transmit.byteCount])))
        }
    }

    private static func mirrored(_ path: ICEPath) -> ICEPath {
        ICEPath(local: path.remote, remote: path.local, transport: path.transport)
    }
}
