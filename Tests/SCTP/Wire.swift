import EmisoraCore
import EmisoraEventLoop
import EmisoraSCTP
import EmisoraSimulation

/// Two sides with data channels and a wire between them that loses packets.
///
/// usrsctp has one clock in a process, so the wire runs in real time, like everything else that uses it here.
final class Wire {
    enum Side: Int, CaseIterable {
        case client
        case server
        var other: Side { self == .client ? .server : .client }
    }

    let channels = [DataChannels(), DataChannels()]
    /// Of a hundred packets each way.
    var lossPercent = 0
    private(set) var packets = 0
    private(set) var lost = 0
    private var random: SeededRandom
    private var events: [[DataChannelEvent]] = [[], []]
    private let clock = ContinuousClock()

    init(seed: UInt64 = 1) { random = SeededRandom(seed) }

    subscript(side: Side) -> DataChannels { channels[side.rawValue] }

    var now: Instant { SystemClock.now() }

    func connect(maximumMessageByteCount: UInt64? = 262_144) {
        for side in Side.allCases {
            self[side].setMaximumMessageByteCount(maximumMessageByteCount)
            self[side].connect(isClient: side == .client, remotePort: 5_000, now: now)
        }
    }

    /// What one side was told since it was last asked.
    func takeEvents(_ side: Side) -> [DataChannelEvent] {
        defer { events[side.rawValue] = [] }
        return events[side.rawValue]
    }

    /// Carries what there is, both ways, and runs timers; whether anything moved.
    @discardableResult
    func turn() -> Bool {
        var moved = false
        for side in Side.allCases {
            if let deadline = self[side].nextDeadline, deadline <= now { self[side].handleTimeout(now: now) }
            while let packet = self[side].pollTransmit() {
                moved = true
                packets += 1
                if lossPercent > 0, random.next() % 100 < UInt64(lossPercent) {
                    lost += 1
                    continue
                }
                self[side.other].handle(packet.span.bytes, now: now)
            }
            while let event = self[side].pollEvent() { events[side.rawValue].append(event) }
        }
        return moved
    }

    /// Turns until the condition holds; `false` where that takes too long.
    func run(within limit: Duration = .seconds(30), until condition: () -> Bool) async throws -> Bool {
        let deadline = clock.now + limit
        while !condition() {
            guard clock.now < deadline else { return false }
            if !turn() { try await clock.sleep(for: .milliseconds(1)) }
        }
        return true
    }
}
