import EmisoraCore
import EmisoraSimulation
import Testing

/// The simulator that other tests trust.
@Suite struct SimulationTests {
    /// Sends numbered datagrams at a fixed pace and notes what arrives.
    final class Counter: SimulatedPeer {
        private let address: SocketAddress
        private let target: SocketAddress
        private let size: Int
        private let interval: Duration
        private var remaining: Int
        private var number = 0
        private(set) var nextDeadline: Instant?
        private(set) var received: [(at: Instant, number: Int, source: SocketAddress)] = []

        init(at address: SocketAddress, to target: SocketAddress, count: Int, size: Int = 100, every: Duration) {
            self.address = address
            self.target = target
            self.size = size
            interval = every
            remaining = count
            nextDeadline = count > 0 ? .zero + .seconds(1) : nil
        }

        private var due = 0

        func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {
            let number = datagram.bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)
            received.append((now, Int(number), remote))
        }

        func handleTimeout(now: Instant) {
            due += 1
            remaining -= 1
            nextDeadline = remaining > 0 ? now + interval : nil
        }

        func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
            guard due > 0 else { return nil }
            due -= 1
            buffer.storeBytes(of: UInt32(number), toByteOffset: 0, as: UInt32.self)
            number += 1
            return Transmit(byteCount: size, source: address, destination: target)
        }
    }

    static func run(
        _ conditions: SimulatedLink.Conditions, count: Int = 10_000, size: Int = 100,
        every: Duration = .milliseconds(1),
        seed: UInt64 = 1
    ) -> (simulation: Simulation, receiver: Counter) {
        let sender = Counter(at: Addresses.left, to: Addresses.right, count: count, size: size, every: every)
        let receiver = Counter(at: Addresses.right, to: Addresses.left, count: 0, every: every)
        let simulation = Simulation(sender, receiver, conditions: conditions, seed: seed)
        simulation.run(until: .zero + .seconds(100))
        return (simulation, receiver)
    }

    @Test func aCleanLinkDeliversAllInOrderAfterItsDelay() {
        let (_, receiver) = Self.run(.init())
        #expect(receiver.received.map(\.number) == Array(0..<10_000))
        #expect(receiver.received.first?.at == .zero + .milliseconds(1_010))
    }

    @Test func lossDuplicationAndReorderingComeInTheirShares() {
        var conditions = SimulatedLink.Conditions()
        conditions.loss = 0.2
        conditions.duplication = 0.1
        conditions.reordering = 0.1
        let (simulation, receiver) = Self.run(conditions)
        let numbers = receiver.received.map(\.number)
        #expect((7_800...8_200).contains(Set(numbers).count))
        #expect((700...900).contains(numbers.count - Set(numbers).count))
        #expect(zip(numbers, numbers.dropFirst()).contains { $0 > $1 })
        #expect(simulation.links[0].lost + simulation.links[0].delivered == 10_000)
    }

    @Test func gilbertElliottLossComesInBurstsOfTheExpectedLength() {
        var conditions = SimulatedLink.Conditions()
        conditions.burstStart = 0.01
        conditions.burstEnd = 0.1
        let (_, receiver) = Self.run(conditions)
        let numbers = receiver.received.map(\.number)
        let gaps = zip(numbers, numbers.dropFirst()).map { $1 - $0 - 1 }.filter { $0 > 0 }
        let mean = Double(gaps.reduce(0, +)) / Double(gaps.count)
        #expect((7.0...13.0).contains(mean))
    }

    @Test func aRateLimitSpacesPacketsAndAFullQueueLosesThem() {
        var conditions = SimulatedLink.Conditions()
        conditions.rate = .kilobitsPerSecond(500)
        conditions.queueByteCount = 10_000
        // A megabit and a half into half a megabit.
        let (_, receiver) = Self.run(conditions, count: 1_000, size: 1_500, every: .milliseconds(8))
        let seconds = (receiver.received.last?.at ?? .zero) - (receiver.received.first?.at ?? .zero)
        let rate = Double((receiver.received.count - 1) * 1_500 * 8) / seconds.inSeconds
        #expect((490_000...510_000).contains(rate))
    }

    @Test func whatExceedsTheMTUIsLost() {
        #expect(Self.run(.init(), count: 10, size: 1_500).receiver.received.count == 10)
        #expect(Self.run(.init(), count: 10, size: 1_501).receiver.received.isEmpty)
    }

    @Test func theTraceIsTheSameForTheSameSeedOnly() {
        var conditions = SimulatedLink.Conditions()
        conditions.loss = 0.1
        conditions.jitter = .milliseconds(20)
        #expect(Self.run(conditions).simulation.traceHash == Self.run(conditions).simulation.traceHash)
        #expect(Self.run(conditions).simulation.traceHash != Self.run(conditions, seed: 2).simulation.traceHash)
    }

    @Test func aNATShowsItsOwnAddressAndLetsOnlyTheInvitedIn() {
        let sender = Counter(at: Addresses.left, to: Addresses.right, count: 2, every: .seconds(2))
        let outside = SocketAddress(ip: Addresses.natOutside, port: 40_000)
        let receiver = Counter(at: Addresses.right, to: outside, count: 4, every: .seconds(1))
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 1)
        simulation.nats[0] = SimulatedNAT(address: Addresses.natOutside)
        simulation.schedule(at: .zero + .milliseconds(2_500)) { _ in simulation.nats[0]?.rebind() }
        simulation.run(until: .zero + .seconds(10))
        #expect(receiver.received.map(\.source.port) == [40_000, 40_001])
        // Its third and fourth datagrams come after the port was closed.
        #expect(sender.received.map(\.number) == [0, 1])
    }

    /// Asks to be called at once, always.
    final class Impatient: SimulatedPeer {
        func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {
        }
        func handleTimeout(now: Instant) {}
        var nextDeadline: Instant? { .zero }
        func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? { nil }
    }

    @Test func aMachineThatNeverLetsTimePassIsStalledAndDoesNotHang() {
        let simulation = Simulation(Impatient(), Impatient(), conditions: .init(), seed: 1)
        #expect(!simulation.run(until: .zero + .seconds(2)))
        #expect(simulation.isStalled)
    }
}
