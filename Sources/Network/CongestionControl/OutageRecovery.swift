import EmisoraCore

/// What follows from a peer that says nothing for a while, and how the rate comes back when it speaks again.
///
///              no answer for a second               an answer
///     ┌───────────┐ ───────────▶ ┌────────┐ ───────────────────▶ ┌────────────┐
///     │ answered  │              │ silent │                      │ recovering │
///     └───────────┘ ◀─────────── └────────┘  as much as before,  └────────────┘
///           ▲                                 a limit, or 5 s           │
///           └───────────────────────────────────────────────────────────┘
///
/// The path that comes back may be another, narrower one. So little is sent while it is away; when it is back, half of what
/// was sent before is sent at once, and once that has arrived as it left, it doubles within a second up to what it was.
/// Where packets arrive slower than they left, the rate at which they do is what the path carries, as in probing by trains
/// of packets. Losses of the time without a path say nothing.
struct OutageRecovery: Sendable {
    private struct Recovery: Sendable {
        var goal: Double
        var begunAt: Instant
        /// Packets that were sent at half of the rate have arrived as they left.
        var isProven = false
    }

    /// Feedback comes ten times a second, reports once.
    private static let feedbackPatience: Duration = .seconds(1)
    private static let reportPatience: Duration = .seconds(3)
    private static let pause: Duration = .seconds(2)
    private static let longestRecovery: Duration = .seconds(5)
    /// Nearly what it was; from there on the rate grows as ever.
    private static let isBack = 0.85
    /// A train of packets that tells.
    private static let trainLength = 6
    private static let trainByteCount = 4_000
    private static let spreading = 1.25
    private static let spreadingSlack: Duration = .milliseconds(10)
    private static let shareOfCapacity = 0.85

    /// When the first packet left that nothing was heard since.
    private var unansweredSince: Instant?
    private var lastSentAt: Instant?
    /// What was sent when silence was noticed, and when that was.
    private var silence: (rate: Double, since: Instant)?
    private var recovery: Recovery?
    /// What was sent before and lost was lost with the path.
    private var lossCountsFrom: Instant = .zero
    private var awaitsArrival = false

    mutating func packetSent(now: Instant) {
        // After a pause the peer gets its time to answer again.
        let isAfterPause = lastSentAt.map { now - $0 > Self.pause } ?? true
        unansweredSince = isAfterPause ? now : unansweredSince ?? now
        lastSentAt = now
    }

    /// What may be sent in spite of the silence; `nil` while there is none. To be called some times a second.
    mutating func limit(
        target: Double, safe: Double, hasTransportFeedback: Bool, roundTripTime: Duration, now: Instant
    ) -> Double? {
        guard let unansweredSince, let lastSentAt, now - lastSentAt <= Self.pause else { return nil }
        if silence == nil {
            let patience = hasTransportFeedback ? Self.feedbackPatience : Self.reportPatience
            guard now - unansweredSince > max(patience, roundTripTime * 3) else { return nil }
            // One outage after the other is measured by the rate before the first.
            silence = (max(target, recovery?.goal ?? 0), now)
            recovery = nil
        }
        guard let silence else { return nil }
        let seconds = (now - silence.since).inSeconds
        // A quarter soon, then less and less; each second less than a third of it goes.
        var rate = silence.rate * (seconds < 0.25 ? 0.5 : 0.25)
        var left = seconds - 2
        while left > 0, rate > safe {
            rate *= 0.7
            left -= 1
        }
        return max(min(safe, silence.rate), rate)
    }

    /// The peer speaks. Answers the rate to go on from where it did not for longer than the patience.
    mutating func heard(target: Double, hasTransportFeedback: Bool, now: Instant) -> Double? {
        let patience = hasTransportFeedback ? Self.feedbackPatience : Self.reportPatience
        let wasSilent = silence != nil || unansweredSince.map { now - $0 > patience } ?? false
        let before = silence?.rate ?? target
        unansweredSince = nil
        silence = nil
        guard wasSilent else { return nil }
        recovery = Recovery(goal: before, begunAt: now)
        awaitsArrival = true
        return before / 2
    }

    /// Leaves out what was lost while there was no path: everything up to the first packet that came through.
    mutating func removeLosses(from feedback: inout TransportFeedback) {
        if awaitsArrival {
            let first = feedback.packets.first { $0.arrival != nil && $0.sentAt > lossCountsFrom }
            lossCountsFrom = first?.sentAt ?? feedback.receivedAt
            awaitsArrival = first == nil
        }
        let start = lossCountsFrom
        feedback.packets.removeAll { $0.arrival == nil && $0.sentAt < start }
    }

    /// Whether the rate may double within a second; to be asked after ``limit(shownBy:target:)``.
    mutating func isRecovering(target: Double, now: Instant) -> Bool {
        guard let recovery else { return false }
        guard target < recovery.goal * Self.isBack, now - recovery.begunAt < Self.longestRecovery else {
            self.recovery = nil
            return false
        }
        return recovery.isProven
    }

    /// The path showed a limit: what was before does not count any more.
    mutating func end() { recovery = nil }

    /// What the path carries, where packets of a message arrived notably slower than they left, and more than that is
    /// sent; `nil` otherwise.
    mutating func limit(shownBy feedback: TransportFeedback, target: Double) -> Double? {
        guard let begunAt = recovery?.begunAt else { return nil }
        let start = lossCountsFrom
        let train = feedback.packets.filter { $0.arrival != nil && $0.sentAt >= start }
        if train.count(where: { $0.sentAt >= begunAt }) >= Self.trainLength { recovery?.isProven = true }
        guard train.count >= Self.trainLength, let first = train.first, let last = train.last,
            let firstArrival = first.arrival, let lastArrival = last.arrival
        else { return nil }
        let byteCount = train.dropFirst().reduce(0) { $0 + $1.byteCount }
        let sending = last.sentAt - first.sentAt
        let arriving = lastArrival - firstArrival
        guard byteCount >= Self.trainByteCount, arriving > sending * Self.spreading + Self.spreadingSlack else {
            return nil
        }
        let carried = Double(byteCount) * 8 / arriving.inSeconds * Self.shareOfCapacity
        return carried < target ? carried : nil
    }
}

extension Duration {
    fileprivate static func * (duration: Duration, factor: Double) -> Duration {
        .nanoseconds(Int64(Double(duration.nanoseconds) * factor))
    }
}
