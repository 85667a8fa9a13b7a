/// An NTP timestamp: seconds since 1900 in 32.32 fixed point (RFC 3550 §4). The seconds wrap in 2036.
package struct NTPTimestamp: Hashable, Sendable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The middle 32 bits, as the LSR and DLSR fields of RTCP reports use them: units of 1/65536 s.
    package var middle32: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 16) }

    /// From `other` to this, of the two ways around the era the shorter one.
    package func duration(since other: NTPTimestamp) -> Duration {
        .nanoseconds(Int64(Double(Int64(bitPattern: rawValue &- other.rawValue)) / 4_294_967_296 * 1e9))
    }

    /// The timestamp `duration` later.
    package func advanced(by duration: Duration) -> NTPTimestamp {
        let (seconds, rest) = duration.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let offset = seconds &<< 32 &+ (rest << 32) / 1_000_000_000
        return NTPTimestamp(rawValue: rawValue &+ UInt64(bitPattern: offset))
    }
}

/// What turns monotonic instants into wall-clock time; read once at the edge and handed down, since the protocol
/// machines have no clock of their own.
package struct WallClock: Hashable, Sendable {
    /// Nanoseconds from the Unix epoch (1970) at monotonic instant zero.
    package var unixNanosecondsAtZero: Int64

    package init(unixNanosecondsAtZero: Int64) {
        self.unixNanosecondsAtZero = unixNanosecondsAtZero
    }

    package func ntp(at instant: Instant) -> NTPTimestamp {
        let unix = instant.nanoseconds &+ unixNanosecondsAtZero
        let (seconds, rest) = unix.quotientAndRemainder(dividingBy: 1_000_000_000)
        let borrow = rest < 0
        let wholeSeconds = seconds &+ 2_208_988_800 &- (borrow ? 1 : 0)
        let nanoseconds = UInt64(borrow ? rest + 1_000_000_000 : rest)
        let fraction = (nanoseconds << 32) / 1_000_000_000
        return NTPTimestamp(rawValue: UInt64(UInt32(truncatingIfNeeded: wholeSeconds)) << 32 | fraction)
    }
}
