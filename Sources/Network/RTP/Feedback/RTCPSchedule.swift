import EmisoraCore

/// Decides when the next regular report is due: about every `interval`, spread over half to one and a half of it so that
/// peers do not fall into step (RFC 3550 §6.3.1). Feedback that cannot wait goes out at once beside it (RFC 4585 §3.4,
/// for a session of two).
package struct RTCPSchedule: Equatable, Sendable {
    package let interval: Duration
    package private(set) var nextDeadline: Instant

    package init(
        interval: Duration = .seconds(1), now: Instant, using generator: inout some RandomNumberGenerator
    ) {
        self.interval = interval
        // The first report comes after half the interval (§6.2).
        nextDeadline = now + Self.spread(interval, using: &generator) / 2
    }

    package func isDue(now: Instant) -> Bool { nextDeadline <= now }

    /// A report went out: the next one is due an interval from now.
    package mutating func didSendReport(now: Instant, using generator: inout some RandomNumberGenerator) {
        nextDeadline = now + Self.spread(interval, using: &generator)
    }

    private static func spread(_ interval: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        let half = UInt64(max(1, interval.nanoseconds / 2))
        return .nanoseconds(Int64(clamping: half + generator.next(upperBound: 2 * half + 1)))
    }
}
