import EmisoraCore

/// The round trip from what a peer says of a time stamp of ours: when it came back, less how long the peer held it
/// (RFC 3550 §6.4.1 for reports, RFC 3611 §4.5 for DLRR).
package enum RTCPRoundTrip {
    /// - Parameters:
    ///   - stamp: the middle 32 bits of our NTP time in what the peer answers.
    ///   - held: by the peer, in 1/65536 s.
    /// - Returns: `nil` where it claims to be longer than a minute, or to have begun later than now.
    package static func duration(since stamp: UInt32, held: UInt32, wallClock: WallClock, now: Instant) -> Duration? {
        let elapsed = Int32(bitPattern: wallClock.ntp(at: now).middle32 &- stamp &- held)
        // The delay is rounded, so a very short trip can come out below zero.
        guard elapsed < 60 << 16, elapsed > -(1 << 16) else { return nil }
        return .nanoseconds(Int64(max(0, elapsed)) * 1_000_000_000 / 65_536)
    }

    /// A duration in 1/65536 s.
    package static func ticks(in duration: Duration) -> UInt32 {
        let (seconds, rest) = max(0, duration.nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
        return UInt32(clamping: seconds << 16 &+ (rest << 16) / 1_000_000_000)
    }
}
