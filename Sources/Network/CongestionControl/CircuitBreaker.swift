import EmisoraCore
import EmisoraRTP

/// The RTP circuit breaker of one stream: says when sending has to stop because the path is overloaded or the peer is
/// gone (RFC 8083 §4). It is no congestion control; a sound one rarely trips it.
///
/// ```
///  send ──no report for 15 s (§4.1)──▶ pause ──none for 27 s──▶ end
///   ▲ ▲                                  │
///   │ └──────── the peer is heard ───────┘
///   │
///   ├──reports of no progress (§4.2)──▶ end
///   └──ten times TCP's rate (§4.3)──▶ a tenth of the rate ──still after two reports──▶ end
/// ```
///
/// Lost reports alone say little of the path, which is why they pause the stream first and why any word of the peer lets
/// it go on: the information that §4.5 asks for before a restart. The others are final, until another path is taken. The
/// fourth condition, media that arrive but are of no use (§4.4), is the application's to judge.
///
/// ```swift
/// if case .end(let trip) = breaker.poll(now: now) { close(reason: trip.description) }
/// ```
package struct CircuitBreaker: Sendable {
    package enum Trip: Equatable, Sendable, CustomStringConvertible {
        /// Media is sent, and no report on it comes (§4.1).
        case reportTimeout(Duration)
        /// Reports come, and tell of no new packets (§4.2).
        case mediaTimeout(reports: Int)
        /// More than ten times is sent of what TCP would get under the same loss (§4.3).
        case congestion(sent: DataRate, tcp: DataRate)

        package var description: String {
            switch self {
            case .reportTimeout(let duration):
                "The peer has not reported on the media for \(Int(duration.inSeconds)) s: it is gone or its reports do"
                    + " not get through. Check the path and connect again."
            case .mediaTimeout(let reports):
                "The peer answers, but \(reports) reports in a row say that no media arrives. Something on the way lets"
                    + " RTCP through and drops RTP: check firewalls, or connect through TURN."
            case .congestion(let sent, let tcp):
                "The path is overloaded: \(sent.bitsPerSecond / 1_000) kbit/s were sent where TCP would get"
                    + " \(tcp.bitsPerSecond / 1_000) kbit/s. Lower the bitrate or use another network."
            }
        }
    }

    package enum Verdict: Equatable, Sendable {
        /// Media may be sent, within ``CircuitBreaker/ceiling``.
        case send
        /// None may be until the peer is heard.
        case pause(Trip)
        /// None may be any more.
        case end(Trip)
    }

    package struct Options: Equatable, Sendable {
        /// How often the peer reports: Tdr.
        package var reportInterval: Duration = .seconds(1)
        /// Between frames: Tf. Each frame can have another rate, so that a group of frames (G) is one.
        package var frameInterval: Duration = .milliseconds(33)
        /// Three of the least intervals of RFC 3550, of 5 s, which AVPF's shorter ones do not change (§4.1).
        package var reportTimeout: Duration = .seconds(15)
        /// So long without reports, and sending is not taken up again.
        package var reportPatience: Duration = .seconds(27)
        /// The least that the stream can do with. One that needs more than a tenth of its rate ends at once.
        package var leastRate: DataRate = .kilobitsPerSecond(30)

        package init() {}
    }

    private enum State: Sendable {
        case sending
        case pausedAt(Instant)
        case ended(Trip)
    }

    /// §4.3 lets a stream that can do with a tenth of its rate try that first.
    private struct Reduction: Sendable {
        let from: DataRate
        var limit: DataRate
        /// Before the reports have to tell that it has helped.
        var reportsLeft: Int
    }

    /// Of the five that §4.2 recommends.
    private static let reportsWithoutProgress = 5.0
    private static let reportsForReduction = 2
    /// Within this part of what would trip it again the rate may grow, by this much with each report.
    private static let safeShare = 0.5
    private static let growth = 1.25
    /// Three times the least interval, 15 s, bounds the time over which reports are averaged.
    private static let longestAverage = 15.0

    private let options: Options
    private var state: State = .sending
    private var sendingSince: Instant?
    private var lastSentAt: Instant?
    private var lastReportAt: Instant?
    private var lastJudgedAt: Instant?
    private var usualInterval: Duration = .zero
    private var lastHighest: UInt32?
    private var stalledReports = 0
    private var losses = LossReporter()
    private var current = ReportWindow.Report()
    private var window = ReportWindow()
    private var reduction: Reduction?

    package init(_ options: Options = Options()) {
        self.options = options
        usualInterval = options.reportInterval
    }

    /// What the stream may send at the most, where it was found to overload the path.
    package var ceiling: DataRate? { reduction?.limit }

    // MARK: What happens

    /// A packet of the stream left.
    package mutating func packetSent(byteCount: Int, now: Instant) {
        // After a pause of our own the time without reports counts from its end.
        if lastSentAt.map({ now - $0 > options.reportTimeout / 3 }) ?? true { sendingSince = now }
        lastSentAt = now
        current.packets = current.packets.addingReportingOverflow(1).partialValue
        current.byteCount = current.byteCount.addingReportingOverflow(max(0, byteCount)).partialValue
    }

    /// The peer tells of what it receives, be it of another stream: its reports do get through, and it is there.
    package mutating func reported(now: Instant) {
        lastReportAt = now
        heard(now: now)
    }

    /// The peer sends reports, though it may have nothing to tell of: while none of our media comes it leaves them empty.
    package mutating func heard(now: Instant) {
        guard case .pausedAt = state else { return }
        state = .sending
        sendingSince = nil
        lastSentAt = nil
        stalledReports = 0
    }

    /// Media goes by another path, of which nothing is known (§4.5 speaks of a five-tuple).
    package mutating func pathChanged() {
        self = CircuitBreaker(options)
    }

    /// Takes a report block about the stream.
    package mutating func handle(_ block: ReportBlock, roundTripTime: Duration, now: Instant) {
        reported(now: now)
        // The parts of an interval that a receiver reports on by and by, be it before each piece of feedback.
        if let loss = losses.handle(block, now: now) {
            current.expected += Double(loss.expected)
            current.lost += Double(loss.lost)
        }
        // Several reports within a moment are one report, since nothing can arrive between them.
        if let before = lastJudgedAt, now - before < options.reportInterval / 2 { return }
        defer {
            lastJudgedAt = now
            lastHighest = block.extendedHighestSequenceNumber
            current = ReportWindow.Report()
        }
        guard let before = lastJudgedAt, current.packets > 0 else { return }
        let isOfOutage = coversOutage(now - before)
        current.seconds = (now - before).inSeconds
        current.roundTrip = max(.milliseconds(1), roundTripTime).inSeconds
        judgeProgress(block.extendedHighestSequenceNumber, roundTripTime)
        if !isOfOutage { judgeCongestion() }
    }

    /// A report that comes much later than the others did tells of a path that was gone: what was lost there says nothing
    /// of its width, which the next report does.
    private mutating func coversOutage(_ interval: Duration) -> Bool {
        defer { usualInterval = (usualInterval + interval) / 2 }
        return interval > max(usualInterval, options.reportInterval) * 2
    }

    // MARK: What follows

    /// Whether the stream may send.
    package mutating func poll(now: Instant) -> Verdict {
        if case .ended(let trip) = state { return .end(trip) }
        guard let silentSince else { return .send }
        if let deadline = nextDeadline, now >= deadline {
            let trip = Trip.reportTimeout(now - silentSince)
            if now - silentSince >= options.reportPatience {
                state = .ended(trip)
                return .end(trip)
            }
            state = .pausedAt(now)
        }
        if case .pausedAt = state { return .pause(.reportTimeout(now - silentSince)) }
        return .send
    }

    /// When the reports time out; `nil` while nothing is sent.
    package var nextDeadline: Instant? {
        guard let silentSince, let lastSentAt else { return nil }
        switch state {
        case .ended: return nil
        case .pausedAt: return silentSince + options.reportPatience
        case .sending:
            let deadline = silentSince + options.reportTimeout
            // Media that stopped before cannot be missed.
            return lastSentAt + options.reportTimeout / 3 >= deadline ? deadline : nil
        }
    }

    private var silentSince: Instant? {
        guard let sendingSince else { return nil }
        return max(sendingSince, lastReportAt ?? sendingSince)
    }

    // MARK: Inside

    private mutating func end(_ trip: Trip) {
        if case .ended = state { return }
        state = .ended(trip)
    }

    /// §4.2: MEDIA_TIMEOUT = ceil(5 · max(Tf, Tr, Tdr) / Tdr) reports in a row without an advance.
    private mutating func judgeProgress(_ highest: UInt32, _ roundTripTime: Duration) {
        guard let lastHighest else { return }
        stalledReports = Int32(bitPattern: highest &- lastHighest) > 0 ? 0 : stalledReports + 1
        let longest = max(options.frameInterval, roundTripTime, options.reportInterval).inSeconds
        let limit = (Self.reportsWithoutProgress * longest / reportSeconds).rounded(.up)
        if Double(stalledReports) >= limit { end(.mediaTimeout(reports: stalledReports)) }
    }

    /// §4.3: what was sent in CB_INTERVAL reports against ten times what TCP would get under their average loss.
    private mutating func judgeCongestion() {
        window.append(current)
        if let left = reduction?.reportsLeft, left > 0 {
            reduction?.reportsLeft = left - 1
            // What was sent and lost before the reduction is no part of its success.
            guard left == 1, let comparison = window.compare(last: 1), !comparison.isWithinReach else { return }
            return end(comparison.trip)
        }
        guard let comparison = window.compare(last: congestionReports) else { return }
        if comparison.isWithinReach { return recover(comparison) }
        // An overload that the newest report knows nothing of is over, which is all that a cut would be to find out: the
        // congestion control was faster.
        guard window.compare(last: 1)?.isWithinReach == false else { return }
        reduce(comparison)
    }

    private mutating func reduce(_ comparison: ReportWindow.Comparison) {
        let limit = DataRate.bitsPerSecond(comparison.sent.bitsPerSecond / 10)
        guard limit >= options.leastRate else { return end(comparison.trip) }
        let from = max(comparison.sent, reduction?.from ?? comparison.sent)
        reduction = Reduction(from: from, limit: limit, reportsLeft: Self.reportsForReduction)
        window = ReportWindow()
    }

    /// §4.3: a reduction that helped may be undone by and by, with care not to bring the overload back.
    private mutating func recover(_ comparison: ReportWindow.Comparison) {
        guard var reduction else { return }
        let safe = Double(comparison.tcp.bitsPerSecond) * ReportWindow.factor * Self.safeShare
        let grown = min(Double(reduction.limit.bitsPerSecond) * Self.growth, safe)
        reduction.limit = max(reduction.limit, .bitsPerSecond(Int(grown)))
        self.reduction = reduction.limit > reduction.from ? nil : reduction
    }

    private var reportSeconds: Double { max(0.001, options.reportInterval.inSeconds) }

    /// CB_INTERVAL = ceil(3 · min(max(10 · G · Tf, 10 · Tr, 3 · Tdr), max(15, 3 · Td)) / (3 · Tdr)), Td being 5 s.
    private var congestionReports: Int {
        let longest = max(10 * options.frameInterval.inSeconds, 10 * current.roundTrip, 3 * reportSeconds)
        return max(1, Int((min(longest, max(Self.longestAverage, 3 * reportSeconds)) / reportSeconds).rounded(.up)))
    }
}
