/// A point on the machine's monotonic clock (`CLOCK_MONOTONIC`), in nanoseconds.
///
/// Every state machine of this project takes `now` as a parameter and never reads a clock, so the same code runs in
/// real time and in a simulator's virtual time. Values from different machines cannot be compared.
public struct Instant: InstantProtocol, Hashable, Sendable {
    /// Nanoseconds since the clock's arbitrary start.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    public static let zero = Instant(nanoseconds: 0)
    /// Later than every instant that can occur; the deadline of something that is not waiting.
    public static let distantFuture = Instant(nanoseconds: .max)

    /// The instant `duration` later, held at the ends of the range instead of overflowing.
    public func advanced(by duration: Duration) -> Instant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
        if overflow { return Instant(nanoseconds: duration < .zero ? .min : .max) }
        return Instant(nanoseconds: sum)
    }

    public func duration(to other: Instant) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (other < self ? .min : .max) : difference)
    }

    public static func < (lhs: Instant, rhs: Instant) -> Bool {
        lhs.nanoseconds < rhs.nanoseconds
    }

    public static func + (lhs: Instant, rhs: Duration) -> Instant { lhs.advanced(by: rhs) }
    public static func - (lhs: Instant, rhs: Duration) -> Instant { lhs.advanced(by: .zero - rhs) }
    public static func - (lhs: Instant, rhs: Instant) -> Duration { rhs.duration(to: lhs) }
}

extension Duration {
    /// This duration in whole nanoseconds, held at the ends of `Int64` (292 years).
    public var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow2) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflow2 ? (seconds < 0 ? .min : .max) : sum
    }

    /// This duration in seconds, for statistics and printing.
    public var inSeconds: Double { Double(nanoseconds) / 1e9 }
    /// This duration in milliseconds, for statistics and printing.
    public var inMilliseconds: Double { Double(nanoseconds) / 1e6 }
}
