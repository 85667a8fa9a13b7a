import EmisoraCore

/// Maps capture instants to timestamps of an RTP clock with a random offset (RFC 3550 §5.1).
///
/// Each timestamp is computed from the instant itself, never by adding up rounded steps, so it does not drift.
package struct RTPTimestampClock: Equatable, Sendable {
    package let rate: Int
    package let offset: UInt32

    package init(rate: Int, offset: UInt32) {
        self.rate = max(1, rate)
        self.offset = offset
    }

    /// The timestamp of an instant, rounded down to a tick.
    package func timestamp(at instant: Instant) -> UInt32 {
        offset &+ UInt32(truncatingIfNeeded: ticks(nanoseconds: instant.nanoseconds))
    }

    /// A duration in ticks, rounded down.
    package func ticks(in duration: Duration) -> Int64 {
        ticks(nanoseconds: duration.nanoseconds)
    }

    private func ticks(nanoseconds: Int64) -> Int64 {
        var (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest < 0 {
            seconds -= 1
            rest += 1_000_000_000
        }
        return seconds &* Int64(rate) &+ rest &* Int64(rate) / 1_000_000_000
    }
}
