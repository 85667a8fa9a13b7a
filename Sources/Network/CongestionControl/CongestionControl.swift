import EmisoraCore

/// How much may be sent to a peer: told what is sent and what the peer says of it, it answers a rate.
///
/// A plain control: draft-ietf-rmcat-gcc-02 in its sender-side form (delay by transport-wide feedback, loss beside it),
/// without probing, and bounded by what receivers ask for. A peer that gives no transport feedback is judged by its
/// receiver reports: by their loss and by the round trip, which shows the queue too. A peer that says nothing at all is
/// sent less and less, down to a safe rate; ``CircuitBreaker`` then ends the sending.
///
/// It knows no encoder, packets or clock: structs in, a ``CongestionDecision`` out. What is above it does with a decision:
/// the encoder gets `targetBitrate`, ``Pacer`` the pacing rate and the window.
///
/// A peer connection uses it so:
/// 1. Each RTP packet that leaves gets its number from ``TransportFeedbackAdapter/packetSent(byteCount:ssrc:sequenceNumber:now:)``
///    (written into its header extension) and is told of by `packetSent`, of whatever stream it is.
/// 2. Of each RTCP packet: transport feedback through the adapter to `handle(_:)`; report blocks of our streams to
///    `handleReport`, their round trip to `handleRoundTripTime`; REMB and TMMBR through ``ReceiverLimits`` to
///    `handleLimits`.
/// 3. Its `nextDeadline` is one of the connection's; then `processInterval`.
/// 4. After each, the decision goes to the pacer and, when its target changed, to the encoder as an event.
///
/// ```swift
/// var control = CongestionControl(options, now: now)
/// let decision = control.handle(adapter.handle(feedback, now: now))
/// pacer.update(rate: decision.pacingRate, congestionWindow: decision.congestionWindow)
/// encoder.bitrate = decision.targetBitrate
/// ```
package struct CongestionControl: Sendable {
    package struct Options: Equatable, Sendable {
        package var start: DataRate = .kilobitsPerSecond(300)
        /// Never below it, but where a receiver asks for less by TMMBR.
        package var floor: DataRate = .kilobitsPerSecond(30)
        package var ceiling: DataRate = .kilobitsPerSecond(2_500)
        /// Where the rate goes while nothing is heard of the peer.
        package var safe: DataRate = .kilobitsPerSecond(100)
        /// Of the target: what the pacer may send at, so that a large frame does not take many frames' time.
        package var pacingFactor = 2.5
        /// What the pacer may send at where no limit of the path has shown: a first picture must not take a hundred
        /// milliseconds on a path that carries it in five, and one that is overloaded by it is no better off for that.
        package var freePacing: DataRate = .kilobitsPerSecond(20_000)

        package init() {}
    }

    private static let transportFeedbackLifetime: Duration = .seconds(2)
    private static let silenceLimit: Duration = .seconds(3)
    private static let limitPatience: Duration = .seconds(5)
    private static let leastQueue: Duration = .milliseconds(5)
    /// Feedback comes ten times a second; a gap like this is an outage.
    private static let feedbackGap: Duration = .seconds(1)
    private static let interval: Duration = .seconds(1)
    /// After that time at the ceiling a limit that showed itself is forgotten: it was a passing one.
    private static let limitMemory: Duration = .seconds(10)

    package private(set) var options: Options
    package private(set) var decision: CongestionDecision
    /// How long packets wait in the path's queue at the least; for statistics.
    package private(set) var queueingDelay: Duration = .zero
    /// Share of lost packets in the last interval that was judged, 0…1.
    package var loss: Double { lossBased.loss }

    private var delayBased: DelayBasedControl
    private var lossBased: LossBasedControl
    private var trend = DelayTrend()
    private var acknowledged = AcknowledgedRate()
    private var queue = StandingQueue(memory: .seconds(15))
    private var roundTripQueue = StandingQueue(memory: .seconds(120))
    private var sent = SentRate()
    private var limits = ReceiverLimits()
    private var roundTripTime: Duration = .milliseconds(100)
    private var lastTransportFeedbackAt: Instant?
    private var heardAt: Instant?
    private var nextInterval: Instant
    private var lastRoundTripDecreaseAt: Instant?
    /// When the path last showed that it carries no more.
    private var limitedAt: Instant?
    /// What was sent when the peer fell silent.
    private var rateBeforeSilence: Double?

    package init(_ options: Options, now: Instant) {
        var options = options
        // A terabit a second is no bound, and what is computed from it still fits an integer.
        options.floor = max(.bitsPerSecond(1_000), min(options.floor, .bitsPerSecond(1_000_000_000_000)))
        options.ceiling = max(options.floor, min(options.ceiling, .bitsPerSecond(1_000_000_000_000)))
        options.pacingFactor = max(1, min(options.pacingFactor, 100))
        options.freePacing = max(options.floor, min(options.freePacing, .bitsPerSecond(1_000_000_000_000)))
        options.start = min(options.ceiling, max(options.floor, options.start))
        self.options = options
        let start = Double(options.start.bitsPerSecond)
        delayBased = DelayBasedControl(bitsPerSecond: start)
        lossBased = LossBasedControl(bitsPerSecond: start)
        nextInterval = now + Self.interval
        decision = CongestionDecision(
            targetBitrate: options.start, pacingRate: max(options.start * options.pacingFactor, options.freePacing),
            congestionWindow: nil, reason: .start)
    }

    /// Changes what is sent at the most: the application's wish.
    @discardableResult
    package mutating func setCeiling(_ ceiling: DataRate, now: Instant) -> CongestionDecision {
        options.ceiling = max(options.floor, min(ceiling, .bitsPerSecond(1_000_000_000_000)))
        return decide(nil, now: now)
    }

    /// When ``processInterval(now:)`` is due.
    package var nextDeadline: Instant { nextInterval }

    // MARK: Inputs

    /// A packet left.
    package mutating func packetSent(byteCount: Int, now: Instant) {
        // After a pause the peer gets its time to answer again.
        if heardAt == nil || !sent.isSending(now: now) { heardAt = now }
        sent.add(byteCount: byteCount, now: now)
    }

    /// Sending is taken up again after the peer's silence had ended it.
    package mutating func resume(now: Instant) {
        restoreRate()
        heardAt = now
        decide(nil, now: now)
    }

    @discardableResult
    package mutating func handle(_ feedback: TransportFeedback) -> CongestionDecision {
        let now = feedback.receivedAt
        var feedback = feedback
        // What was lost while the path was dead says nothing of its rate.
        if isBackFromOutage(longerThan: Self.feedbackGap, now: now) { feedback.packets.removeAll { $0.arrival == nil } }
        heardAt = now
        lastTransportFeedbackAt = now
        trend.handle(feedback)
        acknowledged.handle(feedback)
        queue.handle(feedback)
        let lost = feedback.packets.count { $0.arrival == nil }
        let corrected = feedback.packets.count { $0.arrival != nil && $0.wasTakenForLost }
        let before = delayBased.bitsPerSecond
        delayBased.update(
            usage, acknowledged: acknowledged.bitsPerSecond,
            isBusy: sent.bitsPerSecond(now: now).map { $0 > delayBased.bitsPerSecond / 2 } ?? true, queue: queue.delay,
            roundTripTime: roundTripTime, growth: growth(now: now), now: now)
        let isLoss = lossBased.update(
            lost: lost - corrected, expected: feedback.packets.count - corrected,
            sentBitsPerSecond: sent.bitsPerSecond(now: now), queue: queue.delay, roundTripTime: roundTripTime,
            growth: growth(now: now), now: now)
        return decide(isLoss ? .loss : delayBased.bitsPerSecond < before ? .delay : nil, now: now)
    }

    /// Takes what a receiver report says of the interval since the one before; ignored while there is transport
    /// feedback, which says the same better.
    @discardableResult
    package mutating func handle(_ report: LossReport) -> CongestionDecision {
        let now = report.receivedAt
        let isBack = isBackFromOutage(longerThan: Self.silenceLimit, now: now)
        heardAt = now
        guard !hasTransportFeedback(now: now), !isBack else { return decision }
        let isLoss = lossBased.update(
            lost: report.lost, expected: report.expected, sentBitsPerSecond: sent.bitsPerSecond(now: now),
            queue: roundTripQueue.delay, roundTripTime: roundTripTime, growth: growth(now: now), now: now)
        var isDelay = false
        // The round trip is all that tells of the queue here.
        let patience = max(.seconds(1), roundTripTime * 2)
        if roundTripQueue.delay > .milliseconds(100), lastRoundTripDecreaseAt.map({ now - $0 >= patience }) ?? true {
            lossBased.cap(at: lossBased.bitsPerSecond * 0.85)
            lastRoundTripDecreaseAt = now
            isDelay = true
        }
        return decide(isLoss ? .loss : isDelay ? .delay : nil, now: now)
    }

    @discardableResult
    package mutating func handleRoundTripTime(_ measured: Duration, now: Instant) -> CongestionDecision {
        let bounded = max(.zero, min(.seconds(10), measured))
        roundTripTime = roundTripTime * 3 / 4 + bounded / 4
        roundTripQueue.handle(delay: bounded, now: now)
        return decision
    }

    /// Takes the bounds that receivers set.
    @discardableResult
    package mutating func handle(_ limits: ReceiverLimits, now: Instant) -> CongestionDecision {
        self.limits = limits
        return decide(nil, now: now)
    }

    /// To be called at ``nextDeadline``: what follows from hearing nothing.
    @discardableResult
    package mutating func processInterval(now: Instant) -> CongestionDecision {
        guard now >= nextInterval else { return decision }
        nextInterval = now + Self.interval
        limits.refresh(now: now)
        guard let heardAt, sent.isSending(now: now), now - heardAt > Self.silenceLimit else {
            return decide(nil, now: now)
        }
        let safe = Double(min(options.ceiling, max(options.floor, options.safe)).bitsPerSecond)
        let target = Double(decision.targetBitrate.bitsPerSecond)
        if rateBeforeSilence == nil { rateBeforeSilence = target }
        guard target > safe else { return decide(.silence, now: now) }
        lossBased.cap(at: max(safe, target * 0.7))
        return decide(.silence, now: now)
    }

    // MARK: Inside

    private func hasTransportFeedback(now: Instant) -> Bool {
        lastTransportFeedbackAt.map { now - $0 < Self.transportFeedbackLifetime } ?? false
    }

    /// Whether the peer speaks again after it said nothing for a while. Half of what was sent before is taken to be carried:
    /// the way from the safe rate up would take most of a minute.
    private mutating func isBackFromOutage(longerThan gap: Duration, now: Instant) -> Bool {
        guard let heardAt, now - heardAt > gap, sent.isSending(now: now) else { return false }
        restoreRate()
        return true
    }

    private mutating func restoreRate() {
        guard let before = rateBeforeSilence.take(), before / 2 > lossBased.bitsPerSecond else { return }
        lossBased.restart(at: before / 2)
        delayBased = DelayBasedControl(bitsPerSecond: before / 2)
    }

    /// Whether the path carried all that was wanted so far.
    private func isFree(now: Instant) -> Bool {
        guard let limitedAt else { return true }
        return decision.reason == .ceiling && now - limitedAt > Self.limitMemory
    }

    /// A rate on a path without known limit doubles within a second, as a search for the limit; one that has met it
    /// creeps, and walks once that is some time ago.
    private func growth(now: Instant) -> Double {
        // Reports come a second apart: by the next one a bolder step would have filled a queue.
        guard hasTransportFeedback(now: now) else { return isFree(now: now) ? 0.25 : 0.08 }
        if isFree(now: now) { return 1 }
        return limitedAt.map { now - $0 > Self.limitPatience } ?? true ? 0.25 : 0.08
    }

    /// Growing delay, but for one that always comes back to the least that was seen: no queue stands on the path, it is
    /// one of the machines that stalls.
    private var usage: DelayTrend.Usage {
        trend.usage == .over && queue.delay < Self.leastQueue ? .normal : trend.usage
    }

    @discardableResult
    private mutating func decide(_ lowered: CongestionDecision.Reason?, now: Instant) -> CongestionDecision {
        var limit = Double(options.ceiling.bitsPerSecond)
        var reason = CongestionDecision.Reason.ceiling
        func bound(_ rate: Double, _ why: CongestionDecision.Reason) {
            guard rate < limit else { return }
            limit = rate
            reason = why
        }
        if let estimate = limits.receiverEstimate { bound(Double(estimate.bitsPerSecond), .receiverEstimate) }
        if let maximum = limits.temporaryMaximum { bound(Double(maximum.bitsPerSecond), .temporaryMaximum) }
        delayBased.cap(at: max(limit, Double(options.floor.bitsPerSecond)))
        if hasTransportFeedback(now: now) {
            bound(delayBased.bitsPerSecond, usage == .over ? .delay : .increase)
        } else {
            // Feedback that comes back later starts from where things are then.
            delayBased = DelayBasedControl(bitsPerSecond: min(limit, lossBased.bitsPerSecond))
        }
        // Nothing above the bound has been tried.
        lossBased.cap(at: max(limit, Double(options.floor.bitsPerSecond)))
        bound(lossBased.bitsPerSecond, lossBased.congestionLoss > 0.02 ? .loss : .increase)
        // A queue that stands is drained: by 40 % at most, since it may be others' too.
        queueingDelay = hasTransportFeedback(now: now) ? queue.delay : roundTripQueue.delay
        let standing = queueingDelay.inSeconds
        if standing > 0.05 {
            bound(limit * (1 - min(0.4, standing - 0.05)), .delay)
        }
        let why = lowered ?? reason
        if why == .delay || why == .loss { limitedAt = now }
        var target = max(limit, Double(options.floor.bitsPerSecond))
        if let maximum = limits.temporaryMaximum { target = min(target, Double(maximum.bitsPerSecond)) }
        decision.reason = why
        decision.targetBitrate = .bitsPerSecond(Int(target))
        decision.pacingRate = .bitsPerSecond(Int(target * options.pacingFactor))
        // A receiver that bounds the rate may have measured a path that is narrower than it seems from here.
        if isFree(now: now), why != .receiverEstimate, why != .temporaryMaximum {
            decision.pacingRate = max(decision.pacingRate, options.freePacing)
        }
        decision.congestionWindow = congestionWindow(
            rate: Double(decision.pacingRate.bitsPerSecond), now: now)
        return decision
    }

    /// What may be on its way: what the path holds, one interval of feedback, and a queue of 300 ms, beyond which more
    /// would only wait there. Only while feedback comes.
    private func congestionWindow(rate: Double, now: Instant) -> Int? {
        guard hasTransportFeedback(now: now) else { return nil }
        let seconds = max(0.05, roundTripTime.inSeconds) + 0.4
        return max(7_200, Int(rate / 8 * seconds))
    }
}

extension DataRate {
    static func * (rate: DataRate, factor: Double) -> DataRate {
        .bitsPerSecond(Int(Double(rate.bitsPerSecond) * factor))
    }
}
