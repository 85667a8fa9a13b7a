import EmisoraCore

/// How long loss may be waited out before it costs a key frame, which is large and comes a round trip later still.
package struct LossPatience: Equatable, Sendable {
    /// With a tenth of the packets lost both ways, one retransmission in five fails; six of them fail once in 15 000. On
    /// longer paths fewer have to do, since pictures stand still meanwhile.
    private static let attempts = 6
    private static let leastAttempts = 3
    private static let patience: Duration = .milliseconds(400)
    private static let reordering: Duration = .milliseconds(10)
    private static let leastRepeat: Duration = .milliseconds(20)
    private static let jitterFactor = 4
    private static let longestJitter: Duration = .milliseconds(100)
    private static let longestInterval: Duration = .seconds(1)

    /// For a packet that was missed, until a key frame is asked for.
    package let missingPacket: Duration
    /// For a key frame that was asked for, until it is asked for again.
    package let keyFrame: Duration

    /// - Parameters:
    ///   - jitter: of arrival (RFC 3550 §6.4.1).
    ///   - isMended: whether missing packets are asked for and sent again.
    package init(roundTripTime: Duration, jitter: Duration, frameInterval: Duration, isMended: Bool) {
        let lateness = min(Self.longestJitter, jitter) * Self.jitterFactor + Self.reordering
        let trip = max(Self.leastRepeat, min(.seconds(2), roundTripTime))
        let interval = min(Self.longestInterval, frameInterval)
        missingPacket =
            isMended
            ? max(
                .milliseconds(150),
                min(
                    .milliseconds(1_000),
                    lateness + max(trip * Self.leastAttempts, min(trip * Self.attempts, Self.patience))))
            : max(.milliseconds(50), min(.milliseconds(400), lateness + interval))
        // The sender makes it of the picture after the request, and joins requests of half a second.
        keyFrame = max(.milliseconds(500), min(.seconds(2), trip * 2 + interval * 2 + lateness))
    }
}
