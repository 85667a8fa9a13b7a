import EmisoraCore

/// Whether packets take longer and longer, from the gradient of their one-way delay.
///
/// The idea is that of draft-ietf-rmcat-gcc-02 §5, with a line fitted to the smoothed delay in place of its Kalman
/// filter, as libwebrtc does since 2016, and with its constants: bursts of 5 ms are one group (§5.2), a window of 20
/// groups, a threshold that adapts (§5.4). Clocks need not agree: only differences count.
struct DelayTrend: Sendable {
    enum Usage: Equatable, Sendable {
        case normal
        /// The queue on the path grows: more is sent than it carries.
        case over
        /// The queue drains.
        case under
    }

    private struct Group: Sendable {
        var firstSentAt: Instant
        var lastSentAt: Instant
        var firstArrival: Duration
        var lastArrival: Duration
    }

    private static let burst: Duration = .milliseconds(5)
    private static let windowLength = 20
    private static let smoothing = 0.9
    private static let gain = 4.0
    private static let deltaLimit = 60.0

    private(set) var usage = Usage.normal
    private var current: Group?
    private var previous: Group?
    private var origin: Duration?
    private var accumulated = 0.0
    private var smoothed = 0.0
    private var deltaCount = 0.0
    /// Milliseconds of arrival and smoothed delay.
    private var window: [(at: Double, delay: Double)] = []
    private var threshold = 12.5
    private var lastThresholdUpdate: Double?
    private var overuseTime: Double?
    private var overuseCount = 0
    private var lastTrend = 0.0

    mutating func handle(_ feedback: TransportFeedback) {
        for packet in feedback.packets {
            guard let arrival = packet.arrival else { continue }
            add(sentAt: packet.sentAt, arrival: arrival)
        }
    }

    private mutating func add(sentAt: Instant, arrival: Duration) {
        guard var group = current else {
            current = Group(firstSentAt: sentAt, lastSentAt: sentAt, firstArrival: arrival, lastArrival: arrival)
            return
        }
        // Older than the group: told of late, nothing to learn.
        guard sentAt >= group.firstSentAt else { return }
        // Packets that a queue on the way let go together are one group too, though they were sent apart.
        let arrivedTogether =
            arrival - group.lastArrival <= Self.burst && arrival - group.firstArrival < .milliseconds(100)
            && arrival - group.lastArrival < sentAt - group.lastSentAt
        if sentAt - group.firstSentAt <= Self.burst || arrivedTogether {
            group.lastSentAt = max(group.lastSentAt, sentAt)
            group.lastArrival = max(group.lastArrival, arrival)
            current = group
            return
        }
        if let previous {
            let sendDelta = (group.lastSentAt - previous.lastSentAt).inMilliseconds
            let arrivalDelta = (group.lastArrival - previous.lastArrival).inMilliseconds
            // A clock that jumps, or a path that changed: begin anew.
            if abs(arrivalDelta - sendDelta) > 3_000 {
                restart()
            } else if arrivalDelta >= 0 {
                update(delta: arrivalDelta - sendDelta, sendDelta: sendDelta, arrival: group.lastArrival)
            }
        }
        previous = group
        current = Group(firstSentAt: sentAt, lastSentAt: sentAt, firstArrival: arrival, lastArrival: arrival)
    }

    private mutating func restart() {
        self = DelayTrend()
    }

    private mutating func update(delta: Double, sendDelta: Double, arrival: Duration) {
        let start = origin ?? arrival
        origin = start
        let at = (arrival - start).inMilliseconds
        deltaCount = min(deltaCount + 1, Self.deltaLimit)
        accumulated += delta
        smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
        window.append((at, smoothed))
        if window.count > Self.windowLength { window.removeFirst() }
        guard window.count == Self.windowLength, let slope = slope() else { return }
        detect(trend: deltaCount * slope * Self.gain, slope: slope, sendDelta: sendDelta, at: at)
    }

    /// Least squares through the window.
    private func slope() -> Double? {
        let count = Double(window.count)
        let meanAt = window.reduce(0) { $0 + $1.at } / count
        let meanDelay = window.reduce(0) { $0 + $1.delay } / count
        var numerator = 0.0
        var denominator = 0.0
        for (at, delay) in window {
            numerator += (at - meanAt) * (delay - meanDelay)
            denominator += (at - meanAt) * (at - meanAt)
        }
        return denominator > 0 ? numerator / denominator : nil
    }

    private mutating func detect(trend: Double, slope: Double, sendDelta: Double, at: Double) {
        if trend > threshold {
            overuseTime = overuseTime.map { $0 + sendDelta } ?? sendDelta / 2
            overuseCount += 1
            // A single late burst is not yet a growing queue.
            if let time = overuseTime, time > 10, overuseCount > 1, slope >= lastTrend {
                overuseTime = 0
                overuseCount = 0
                usage = .over
            }
        } else {
            overuseTime = nil
            overuseCount = 0
            usage = trend < -threshold ? .under : .normal
        }
        lastTrend = slope
        adaptThreshold(to: abs(trend), at: at)
    }

    /// Lifts the threshold above what other flows do to the queue, so that they do not starve this one (§5.4).
    private mutating func adaptThreshold(to magnitude: Double, at: Double) {
        let elapsed = min(100, max(0, at - (lastThresholdUpdate ?? at)))
        lastThresholdUpdate = at
        guard magnitude <= threshold + 15 else { return }
        let speed = magnitude < threshold ? 0.039 : 0.0087
        threshold = max(6, min(600, threshold + speed * (magnitude - threshold) * elapsed))
    }
}
