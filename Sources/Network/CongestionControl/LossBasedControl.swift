import EmisoraCore

/// The rate that loss allows: below 2 % up, by 8 % a second once a limit is known, to 10 % held, above it times
/// (1 − loss / 2).
///
/// draft-ietf-rmcat-gcc-02 §6, as libwebrtc's `SendSideBandwidthEstimation` had it before its second loss estimator.
/// Loss that the path has whatever is sent (``InherentLoss``) does not count.
struct LossBasedControl: Sendable {
    /// Fewer packets say too little about their share of losses …
    private static let leastPackets = 20
    private static let mostPackets = 1 << 24
    /// … and a single burst of them too.
    private static let leastInterval: Duration = .milliseconds(200)
    private static let low = 0.02
    private static let high = 0.1
    private static let collapse = 0.25

    private(set) var bitsPerSecond: Double
    /// Of the last interval that was judged: 0…1, and what of it counts as congestion's.
    private(set) var loss = 0.0
    private(set) var congestionLoss = 0.0
    private(set) var inherent = InherentLoss()
    private var expected = 0
    private var lost = 0
    private var intervalBegunAt: Instant?
    private var lastDecreaseAt: Instant?
    private var lastIncreaseAt: Instant?

    init(bitsPerSecond: Double) {
        self.bitsPerSecond = bitsPerSecond
    }

    mutating func cap(at limit: Double) { bitsPerSecond = min(bitsPerSecond, limit) }

    /// Goes on from a rate that is known from before, without what was counted meanwhile.
    mutating func restart(at rate: Double) {
        bitsPerSecond = rate
        expected = 0
        lost = 0
        intervalBegunAt = nil
    }

    /// Takes how many packets of `expected` were lost; `sentBitsPerSecond` at what rate they were sent, where known.
    /// Answers whether it lowered the rate.
    mutating func update(
        lost newLost: Int, expected newExpected: Int, sentBitsPerSecond: Double?, queue: Duration,
        roundTripTime: Duration, growth: Double, now: Instant
    ) -> Bool {
        // No interval has more packets than this. Corrections of earlier losses can make the count negative.
        expected = min(Self.mostPackets, expected + max(0, min(Self.mostPackets, newExpected)))
        lost = max(
            -Self.mostPackets, min(Self.mostPackets, lost + max(-Self.mostPackets, min(Self.mostPackets, newLost))))
        let begun = intervalBegunAt ?? now
        intervalBegunAt = begun
        guard expected >= Self.leastPackets, now - begun >= Self.leastInterval else { return false }
        loss = max(0, min(1, Double(lost) / Double(expected)))
        if let sentBitsPerSecond {
            inherent.update(
                lost: max(0, lost), expected: expected, bitsPerSecond: sentBitsPerSecond, queue: queue, now: now)
        }
        expected = 0
        lost = 0
        intervalBegunAt = now
        congestionLoss = max(0, loss - inherent.share)
        return judge(sentBitsPerSecond: sentBitsPerSecond, roundTripTime: roundTripTime, growth: growth, now: now)
    }

    private mutating func judge(
        sentBitsPerSecond: Double?, roundTripTime: Duration, growth: Double, now: Instant
    ) -> Bool {
        let loss = congestionLoss
        if loss < Self.low {
            let elapsed = lastIncreaseAt.map { min(1, (now - $0).inSeconds) } ?? 0.2
            bitsPerSecond = bitsPerSecond * (1 + growth * elapsed) + 1_000 * elapsed
            lastIncreaseAt = now
            return false
        }
        lastIncreaseAt = now
        guard loss > Self.high else { return false }
        // A decrease shows only after a round trip and the next report.
        if let last = lastDecreaseAt, now - last < .milliseconds(300) + roundTripTime { return false }
        lastDecreaseAt = now
        let before = bitsPerSecond
        bitsPerSecond *= 1 - loss / 2
        // Far above what the path carries, what got through tells more than the rule does; with reports a second apart
        // the rule alone would take until a circuit breaker trips.
        if loss > Self.collapse, let sentBitsPerSecond {
            bitsPerSecond = min(bitsPerSecond, max(sentBitsPerSecond * (1 - loss), before / 4))
        }
        return true
    }
}

/// The share of packets that a path loses at any rate, such as a radio link's.
///
/// When a lower rate has the same share of losses, and what arrives shrank with it, the losses are not congestion's: a
/// full queue would have let as much through as before. Only without a standing queue.
struct InherentLoss: Sendable {
    private struct Sample: Sendable {
        var bitsPerSecond: Double
        var loss: Double
        var at: Instant
    }

    private static let interval: Duration = .milliseconds(1_500)
    private static let limit = 0.3

    /// 0…0.3.
    private(set) var share = 0.0
    private var reference: Sample?
    private var lost = 0
    private var expected = 0
    private var weighedRate = 0.0
    private var begunAt: Instant?

    init() {}

    mutating func update(
        lost newLost: Int, expected newExpected: Int, bitsPerSecond: Double, queue: Duration, now: Instant
    ) {
        lost += newLost
        expected += newExpected
        weighedRate += bitsPerSecond * Double(newExpected)
        let begun = begunAt ?? now
        begunAt = begun
        guard now - begun >= Self.interval, expected >= 50 else { return }
        let sample = Sample(
            bitsPerSecond: weighedRate / Double(expected), loss: min(1, Double(lost) / Double(expected)), at: now)
        lost = 0
        expected = 0
        weighedRate = 0
        begunAt = now
        // It got better: what is left of it is all that is inherent. Slowly, since a single sample is also luck.
        if sample.loss < share { share += 0.1 * (sample.loss - share) }
        judge(sample, queue: queue)
    }

    private mutating func judge(_ sample: Sample, queue: Duration) {
        guard let before = reference, sample.at - before.at < .seconds(30), sample.bitsPerSecond <= before.bitsPerSecond
        else {
            reference = sample.loss > 0.05 ? sample : nil
            return
        }
        // Too near to tell the one from the other.
        guard sample.bitsPerSecond <= 0.8 * before.bitsPerSecond else { return }
        let congestion = max(0, 1 - before.bitsPerSecond * (1 - before.loss) / max(1, sample.bitsPerSecond))
        if abs(sample.loss - before.loss) < abs(sample.loss - congestion), queue < .milliseconds(50) {
            share = min(Self.limit, max(share, min(sample.loss, before.loss)))
        }
        reference = sample.loss > 0.05 ? sample : nil
    }
}
