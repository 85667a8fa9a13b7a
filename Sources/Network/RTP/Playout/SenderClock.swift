import EmisoraCore

/// The sender's clock as its reports and packets tell it: ties RTP timestamps to wall-clock time (RFC 3550 §6.4.1), which
/// lines sound up with pictures.
///
/// Times of capture that packets carry (`abs-capture-time`) come first, those of packets without one are reckoned from the
/// last that had one; without any, sender reports tell. A report that contradicts those before it counts only once
/// others agree with it: some senders' first reports are wrong, and a wall clock that is set jumps once, for good.
package struct SenderClock: Equatable, Sendable {
    /// One instant on both clocks.
    private struct Pair: Equatable, Sendable {
        var ntpTimestamp: NTPTimestamp
        var rtpTimestamp: UInt32
    }

    /// A report that contradicts what was known, and how many in a row agree with it.
    private struct Contradiction: Equatable, Sendable {
        var pair: Pair
        var count: Int
    }

    /// How far from what was known a report may be: clocks drift, and some senders read theirs late.
    private static let tolerance = 0.1
    private static let toleratedDrift = 0.001
    /// So many reports in a row that agree among themselves overrule what was known.
    private static let overrulingReports = 3
    /// In seconds of media: what packets said this long ago gives way to reports.
    private static let captureTimeLifetime: Int64 = 10

    private var captured: Pair?
    private var reported: Pair?
    private var contradiction: Contradiction?
    private var lastReport: NTPTimestamp?
    private var receivedAt: Instant = .zero
    private let clockRate: Int64

    package init(clockRate: Int) {
        self.clockRate = Int64(max(1, clockRate))
    }

    package mutating func handle(_ report: SenderReport, now: Instant) {
        lastReport = report.ntpTimestamp
        receivedAt = now
        // A sender without a wall clock may say so (RFC 3550 §6.4.1).
        guard report.ntpTimestamp.rawValue != 0 else { return }
        let pair = Pair(ntpTimestamp: report.ntpTimestamp, rtpTimestamp: report.rtpTimestamp)
        guard let known = reported, !agrees(pair, with: known) else {
            reported = pair
            contradiction = nil
            return
        }
        let count = contradiction.map { agrees(pair, with: $0.pair) ? $0.count + 1 : 1 } ?? 1
        contradiction = Contradiction(pair: pair, count: count)
        guard count >= Self.overrulingReports else { return }
        reported = pair
        contradiction = nil
    }

    /// Takes the time of capture that a packet itself carries. Behind a mixer it is brought to the mixer's clock, which its
    /// reports tell, where the packet says how.
    package mutating func handle(
        _ captureTime: HeaderExtensionValues.AbsoluteCaptureTime, of timestamp: UInt32
    ) {
        let offset = UInt64(bitPattern: captureTime.clockOffset ?? 0)
        captured = Pair(
            ntpTimestamp: NTPTimestamp(rawValue: captureTime.timestamp.rawValue &- offset), rtpTimestamp: timestamp)
    }

    /// The sender's wall-clock time at which what bears this timestamp was captured; `nil` while nothing tells.
    package func ntpTimestamp(of timestamp: UInt32) -> NTPTimestamp? {
        if let captured, reported == nil || isRecent(captured, at: timestamp) {
            return time(of: timestamp, by: captured)
        }
        return reported.map { time(of: timestamp, by: $0) }
    }

    /// How long ago, by `wallClock`, what bears this timestamp was captured. As true as both wall clocks are equal.
    package func age(of timestamp: UInt32, wallClock: WallClock, now: Instant) -> Duration? {
        ntpTimestamp(of: timestamp).map { wallClock.ntp(at: now).duration(since: $0) }
    }

    /// LSR of report blocks.
    package var lastSenderReport: UInt32 { lastReport?.middle32 ?? 0 }

    /// DLSR of report blocks, in 1/65536 s.
    package func delaySinceLastSenderReport(now: Instant) -> UInt32 {
        guard lastReport != nil else { return 0 }
        return RTCPRoundTrip.ticks(in: now - receivedAt)
    }

    // MARK: Inside

    private func time(of timestamp: UInt32, by pair: Pair) -> NTPTimestamp {
        let (seconds, rest) = Int64(Int32(bitPattern: timestamp &- pair.rtpTimestamp)).quotientAndRemainder(
            dividingBy: clockRate)
        let offset = seconds << 32 &+ (rest << 32) / clockRate
        return NTPTimestamp(rawValue: pair.ntpTimestamp.rawValue &+ UInt64(bitPattern: offset))
    }

    private func isRecent(_ pair: Pair, at timestamp: UInt32) -> Bool {
        Int32(bitPattern: timestamp &- pair.rtpTimestamp).magnitude <= Self.captureTimeLifetime * clockRate
    }

    private func agrees(_ pair: Pair, with known: Pair) -> Bool {
        let error = pair.ntpTimestamp.duration(since: time(of: pair.rtpTimestamp, by: known)).inSeconds
        let elapsed = Double(Int32(bitPattern: pair.rtpTimestamp &- known.rtpTimestamp).magnitude) / Double(clockRate)
        return abs(error) <= Self.tolerance + Self.toleratedDrift * elapsed
    }
}
