import EmisoraCore

/// The rate that the growth of delay allows: up while delay is steady, to 85 % of what arrives when it grows.
///
/// draft-ietf-rmcat-gcc-02 §5.5: additive increase near a capacity that showed itself before, multiplicative elsewhere.
struct DelayBasedControl: Sendable {
    private enum State: Sendable {
        case hold
        case increase
    }

    /// What arrived when delay grew: where the path's capacity lies.
    private struct Capacity: Sendable {
        var mean: Double
        /// Of the deviation relative to the mean's square root scale, as the draft has it: 0.4…2.5 kbit/s.
        var variance = 0.4

        mutating func add(_ sample: Double) {
            let error = (sample - mean) / 1_000
            mean += 0.05 * (sample - mean)
            variance = max(0.4, min(2.5, 0.95 * variance + 0.05 * error * error / max(1, mean / 1_000)))
        }

        var deviation: Double { (variance * mean / 1_000).squareRoot() * 1_000 }
        var upper: Double { mean + 3 * deviation }
        var lower: Double { mean - 3 * deviation }
    }

    /// How long after a decrease the capacity that showed itself then is believed in.
    private static let capacityMemory: Duration = .seconds(5)

    private(set) var bitsPerSecond: Double
    private var state = State.hold
    private var capacity: Capacity?
    private var lastDecreaseAt: Instant?
    private var lastUpdateAt: Instant?

    init(bitsPerSecond: Double) {
        self.bitsPerSecond = bitsPerSecond
    }

    /// Takes over a rate from elsewhere: nothing above it has been tried.
    mutating func cap(at limit: Double) { bitsPerSecond = min(bitsPerSecond, limit) }

    /// - Parameters:
    ///   - isBusy: Whether about as much is sent as may be. Of a path that carries little since little is sent, what
    ///     arrives does not tell the capacity.
    ///   - queue: How long packets wait at the least; while that is long, nothing is raised.
    ///   - growth: By what share of itself the rate may grow in a second.
    mutating func update(
        _ usage: DelayTrend.Usage, acknowledged: Double?, isBusy: Bool, queue: Duration, roundTripTime: Duration,
        growth: Double, now: Instant
    ) {
        defer { lastUpdateAt = now }
        if let acknowledged, let capacity, acknowledged > capacity.upper { self.capacity = nil }
        switch usage {
        case .over:
            decrease(acknowledged: acknowledged, isBusy: isBusy, roundTripTime: roundTripTime, now: now)
        case .under: state = .hold
        case .normal:
            guard queue < .milliseconds(100) else { return }
            // The interval right after a hold does not count: what is acknowledged then is the rate before.
            guard state == .increase, let last = lastUpdateAt else {
                state = .increase
                return
            }
            increase(
                by: min(1, (now - last).inSeconds), growth: growth, acknowledged: acknowledged,
                roundTripTime: roundTripTime, now: now)
        }
    }

    private mutating func decrease(acknowledged: Double?, isBusy: Bool, roundTripTime: Duration, now: Instant) {
        // The last decrease takes a round trip to show, unless it was far from enough.
        let patience = max(.milliseconds(10), min(.milliseconds(200), roundTripTime))
        let isFarTooMuch = isBusy && acknowledged.map { $0 < bitsPerSecond / 2 } ?? false
        if let last = lastDecreaseAt, now - last < patience, !isFarTooMuch { return }
        if !isBusy {
            bitsPerSecond *= 0.85
        } else if let acknowledged {
            if let before = capacity, acknowledged < before.lower { capacity = nil }
            if capacity == nil { capacity = Capacity(mean: acknowledged) } else { capacity?.add(acknowledged) }
            // One step at most halves it: what arrives in a moment may be little for other reasons.
            bitsPerSecond = min(bitsPerSecond, max(0.85 * acknowledged, bitsPerSecond / 2))
        } else {
            bitsPerSecond /= 2
        }
        lastDecreaseAt = now
        state = .hold
    }

    private mutating func increase(
        by seconds: Double, growth: Double, acknowledged: Double?, roundTripTime: Duration, now: Instant
    ) {
        var raised: Double
        if capacity != nil, lastDecreaseAt.map({ now - $0 < Self.capacityMemory }) ?? false {
            // Near the known capacity: about a packet for each time in which an answer comes.
            let bitsPerFrame = bitsPerSecond / 30
            let packetBits = bitsPerFrame / (bitsPerFrame / 9_600).rounded(.up)
            let responseTime = roundTripTime.inSeconds + 0.1
            raised = bitsPerSecond + max(4_000, packetBits / responseTime) * seconds
        } else {
            // To first order for the short steps between two messages.
            raised = bitsPerSecond + max(1_000, bitsPerSecond * growth * seconds)
        }
        // An encoder that sends less than it may proves nothing about more.
        if let acknowledged { raised = min(raised, 1.5 * acknowledged + 10_000) }
        bitsPerSecond = max(bitsPerSecond, raised)
    }
}
