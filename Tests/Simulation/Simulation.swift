import EmisoraCore

/// What the simulator runs: a protocol machine that is fed with datagrams and time.
package protocol SimulatedPeer: AnyObject {
    func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant)
    func handleTimeout(now: Instant)
    var nextDeadline: Instant? { get }
    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit?
}

/// Two peers, two links, one virtual clock: a discrete-event loop. The same seed gives the same run, byte for byte,
/// which `traceHash` proves.
///
/// With a server as a third there is an internet between them: a datagram gets where its destination is routed to, or to
/// the NAT whose address that is, else nowhere. Without one, all that one peer sends arrives at the other.
///
/// ```swift
/// let simulation = Simulation(left, right, conditions: conditions, seed: 1)
/// simulation.run(until: .zero + .seconds(60)) { left.isConnected && right.isConnected }
/// ```
package final class Simulation {
    package enum Side: Int {
        case left
        case right
        case server
    }

    package private(set) var now: Instant = .zero + .seconds(1)
    /// FNV-1a over time, direction and bytes of every datagram that was delivered.
    package private(set) var traceHash: UInt64 = 0xCBF2_9CE4_8422_2325
    /// A machine asked to be called at once over and over, without time passing: a busy loop in production.
    package private(set) var isStalled = false
    package var links: [SimulatedLink]
    /// Sees every datagram before the link does; `false` loses it. For scripted faults.
    package var filter: ((Side, RawSpan) -> Bool)?
    /// The NAT that each side sits behind, by `Side.rawValue`; `nil`: none.
    package var nats: [SimulatedNAT?] = [nil, nil, nil]
    /// Whose an address is that can be sent to from anywhere; only with a server.
    package var routes: [IPAddress: Side] = [:]

    private let peers: [any SimulatedPeer]
    private var queue: [Delivery] = []
    private var sequence = 0
    private var scheduled: [(at: Instant, action: (Instant) -> Void)] = []

    private struct Delivery {
        let at: Instant
        let order: Int
        let side: Side
        let receiver: Side
        let source: SocketAddress
        let destination: SocketAddress
        let bytes: [UInt8]
    }

    package init(
        _ left: any SimulatedPeer, _ right: any SimulatedPeer, server: (any SimulatedPeer)? = nil,
        conditions: SimulatedLink.Conditions, seed: UInt64
    ) {
        peers = [left, right] + (server.map { [$0] } ?? [])
        links = [0, 0xFFFF, 0xFFFF_FFFF].prefix(peers.count).map { SimulatedLink(conditions, seed: seed ^ $0) }
    }

    /// Runs `action` at a virtual instant.
    package func schedule(at instant: Instant, _ action: @escaping (Instant) -> Void) {
        let position = scheduled.firstIndex { $0.at > instant } ?? scheduled.count
        scheduled.insert((instant, action), at: position)
    }

    /// Runs until `condition` holds after an event, or until `limit`; answers whether the condition held.
    @discardableResult
    package func run(until limit: Instant, _ condition: () -> Bool = { false }) -> Bool {
        drain()
        var stepsWithoutProgress = 0
        while !condition() {
            var next = limit
            if let first = queue.first { next = min(next, first.at) }
            if let first = scheduled.first { next = min(next, first.at) }
            for peer in peers { if let deadline = peer.nextDeadline { next = min(next, deadline) } }
            guard next < limit else {
                now = limit
                return condition()
            }
            // A machine whose deadline stays in the past fails its test instead of hanging it.
            stepsWithoutProgress = next > now ? 0 : stepsWithoutProgress + 1
            guard stepsWithoutProgress < 10_000 else {
                isStalled = true
                return false
            }
            now = max(now, next)
            step()
            drain()
        }
        return true
    }

    private func step() {
        while let first = scheduled.first, first.at <= now {
            scheduled.removeFirst()
            first.action(now)
        }
        while let first = queue.first, first.at <= now {
            queue.removeFirst()
            deliver(first)
        }
        for peer in peers {
            if let deadline = peer.nextDeadline, deadline <= now { peer.handleTimeout(now: now) }
        }
    }

    private func deliver(_ delivery: Delivery) {
        let receiver = delivery.receiver.rawValue
        var destination = delivery.destination
        if let nat = nats[receiver] {
            guard let inside = nat.inside(of: destination, from: delivery.source) else { return }
            destination = inside
        }
        hash(UInt64(bitPattern: delivery.at.nanoseconds))
        hash(UInt64(delivery.side.rawValue))
        for byte in delivery.bytes { traceHash = (traceHash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        var bytes = delivery.bytes
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        peers[receiver].handle(datagram: &raw, from: delivery.source, to: destination, now: now)
    }

    private func hash(_ value: UInt64) {
        traceHash = (traceHash ^ value) &* 0x100_0000_01B3
    }

    private func drain() {
        var buffer = [UInt8](repeating: 0, count: 2_048)
        for side in [Side.left, .right, .server].prefix(peers.count) {
            // Bounded, so that a machine that never runs dry fails a test instead of hanging it.
            for _ in 0..<10_000 {
                var span = buffer.mutableSpan
                var raw = span.mutableBytes
                guard let transmit = peers[side.rawValue].pollTransmit(into: &raw, now: now) else { break }
                send(Array(buffer[..<transmit.byteCount]), transmit, from: side)
            }
        }
    }

    private func send(_ bytes: [UInt8], _ transmit: Transmit, from side: Side) {
        if let filter, !filter(side, bytes.span.bytes) { return }
        let source = nats[side.rawValue]?.outside(of: transmit.source, to: transmit.destination) ?? transmit.source
        guard let receiver = receiver(of: transmit.destination.ip, from: side) else { return }
        for at in links[side.rawValue].arrivals(byteCount: bytes.count, now: now) {
            sequence += 1
            let delivery = Delivery(
                at: at, order: sequence, side: side, receiver: receiver, source: source,
                destination: transmit.destination, bytes: bytes)
            let position = queue.firstIndex { ($0.at, $0.order) > (delivery.at, delivery.order) } ?? queue.count
            queue.insert(delivery, at: position)
        }
    }

    private func receiver(of ip: IPAddress, from side: Side) -> Side? {
        guard peers.count > 2 else { return side == .left ? .right : .left }
        if let known = routes[ip] { return known }
        return [Side.left, .right].first { $0 != side && nats[$0.rawValue]?.address == ip }
    }
}
