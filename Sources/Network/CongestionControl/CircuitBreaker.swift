import EmisoraCore
import EmisoraRTP

/// The RTP circuit breaker of one stream: says when sending has to end because the path is overloaded or the peer is
/// gone (RFC 8083 §4). It is no congestion control; a sound one never trips it.
///
/// The fourth condition, media that arrive but are of no use (§4.4), is the application's to judge.
///
/// ```swift
/// if let trip = breaker.poll(now: now) { close(reason: trip.description) }
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

    package struct Options: Equatable, Sendable {
        /// How often the peer reports.
        package var reportInterval: Duration = .seconds(1)
        /// Between frames.
        package var frameInterval: Duration = .milliseconds(33)
        /// Three of RFC 3550's least intervals of 5 s, which peers that pay no attention to AVPF keep.
        package var reportTimeout: Duration = .seconds(15)

        package init() {}
    }

    private let options: Options
    private var trip: Trip?
    private var sendingSince: Instant?
    private var lastSentAt: Instant?
    private var lastReportAt: Instant?
    private var lastJudgedAt: Instant?
    private var lastHighest: UInt32?
    private var reportsWithoutProgress = 0
    private var sentPackets = 0
    private var sentByteCount = 0
    private var overloadedReports = 0
    private var longestRoundTripTime: Duration = .zero

    package init(_ options: Options = Options()) {
        self.options = options
    }

    /// A packet of the stream left.
    package mutating func packetSent(byteCount: Int, now: Instant) {
        // After a pause the time without reports counts from its end.
        if lastSentAt.map({ now - $0 > options.reportTimeout / 3 }) ?? true { sendingSince = now }
        lastSentAt = now
        sentPackets = sentPackets.addingReportingOverflow(1).partialValue
        sentByteCount = sentByteCount.addingReportingOverflow(max(0, byteCount)).partialValue
    }

    /// Takes a report block about the stream.
    package mutating func handle(_ block: ReportBlock, roundTripTime: Duration, now: Instant) {
        lastReportAt = now
        // A receiver puts its report before each piece of feedback where it must send compound packets: several of them
        // within a moment are one report, since nothing can arrive between them.
        if let before = lastJudgedAt, now - before < options.reportInterval / 2 { return }
        defer {
            lastJudgedAt = now
            lastHighest = block.extendedHighestSequenceNumber
            sentPackets = 0
            sentByteCount = 0
        }
        guard let before = lastJudgedAt, sentPackets > 0 else { return }
        if block.extendedHighestSequenceNumber == lastHighest {
            reportsWithoutProgress += 1
        } else {
            reportsWithoutProgress = 0
        }
        if reportsWithoutProgress >= mediaTimeoutReports(roundTripTime) {
            trip = trip ?? .mediaTimeout(reports: reportsWithoutProgress)
        }
        judgeCongestion(
            loss: Double(block.fractionLost) / 256, roundTripTime: max(.milliseconds(1), roundTripTime),
            interval: now - before)
    }

    /// Why sending has to end, again and again once it has to; `nil`: it may go on.
    package mutating func poll(now: Instant) -> Trip? {
        if trip == nil, let deadline = nextDeadline, now >= deadline, let silentSince {
            trip = .reportTimeout(now - silentSince)
        }
        return trip
    }

    /// When the reports time out; `nil` while nothing is sent.
    package var nextDeadline: Instant? {
        guard trip == nil, let silentSince, let lastSentAt else { return nil }
        let deadline = silentSince + options.reportTimeout
        // Media that stopped before cannot be missed.
        return lastSentAt + options.reportTimeout / 3 >= deadline ? deadline : nil
    }

    private var silentSince: Instant? {
        guard let sendingSince else { return nil }
        return max(sendingSince, lastReportAt ?? sendingSince)
    }

    /// MEDIA_TIMEOUT of §4.2.
    private func mediaTimeoutReports(_ roundTripTime: Duration) -> Int {
        let longest = max(options.frameInterval, roundTripTime, options.reportInterval)
        return max(2, Int((5 * longest.inSeconds / max(0.001, options.reportInterval.inSeconds)).rounded(.up)))
    }

    /// CB_INTERVAL of §4.3.
    private func congestionReports(_ roundTripTime: Duration) -> Int {
        let report = max(0.001, options.reportInterval.inSeconds)
        let longest = max(10 * options.frameInterval.inSeconds, 10 * roundTripTime.inSeconds, 3 * report)
        return max(1, Int((3 * min(longest, max(15, 3 * report)) / (3 * report)).rounded(.up)))
    }

    /// Compares with the simple form of TCP's throughput, s / (R · √(2p/3)); so many reports in a row have to tell of an
    /// overload, since a sound control needs some of them to get out of one.
    private mutating func judgeCongestion(loss: Double, roundTripTime: Duration, interval: Duration) {
        let sent = Double(sentByteCount) * 8 / max(0.001, interval.inSeconds)
        let packetBits = Double(sentByteCount) * 8 / Double(sentPackets)
        let tcp = loss > 0 ? packetBits / (roundTripTime.inSeconds * (2 * loss / 3).squareRoot()) : .infinity
        guard sent > 10 * tcp else {
            overloadedReports = 0
            longestRoundTripTime = .zero
            return
        }
        overloadedReports += 1
        longestRoundTripTime = max(longestRoundTripTime, roundTripTime)
        guard overloadedReports >= congestionReports(longestRoundTripTime), trip == nil else { return }
        trip = .congestion(sent: .bitsPerSecond(Int(min(sent, 1e15))), tcp: .bitsPerSecond(Int(min(tcp, 1e15))))
    }
}
