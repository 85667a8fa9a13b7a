import EmisoraCore
import EmisoraRTP

/// What a path carries, judged where it ends: for senders that take REMB and no transport-wide feedback
/// (draft-alvestrand-rmcat-remb-03).
///
/// It is the sender's own control by delay, run on `abs-send-time` and the times of arrival. Loss stays the sender's to
/// judge, who has receiver reports for that.
///
/// ```swift
/// estimator.handle(sendTime: values.absoluteSendTime, byteCount: packet.byteCount, now: now)
/// estimator.update(now: now)
/// if let bitrate = estimator.bitrate { … send a REMB … }
/// ```
package struct ReceiverEstimator: Sendable {
    private static let interval: Duration = .milliseconds(100)
    private static let packetLimit = 2_048
    /// abs-send-time counts 1/2^18 s in 24 bits.
    private static let ticksPerSecond: Int64 = 1 << 18

    private var control: CongestionControl
    private var packets: [PacketResult] = []
    private var number: Int64 = 0
    private var sendTicks: Int64?
    private var firstWaitingAt: Instant?
    private var begunAt: Instant?

    package init(now: Instant) {
        var options = CongestionControl.Options()
        options.start = .bitsPerSecond(1_000_000_000)
        options.ceiling = .bitsPerSecond(1_000_000_000)
        control = CongestionControl(options, now: now)
    }

    /// `nil` while so little arrived that nothing can be said.
    package var bitrate: DataRate? {
        // While nothing speaks against it there is no limit to tell.
        control.decision.reason == .start ? nil : control.decision.targetBitrate
    }

    /// When ``update(now:)`` has something to do; `nil` while nothing arrives.
    package var nextDeadline: Instant? { firstWaitingAt.map { $0 + Self.interval } }

    /// Takes a packet that arrived now and was sent at that time of the peer's clock.
    package mutating func handle(sendTime: UInt32, byteCount: Int, now: Instant) {
        let last = sendTicks ?? Int64(sendTime)
        // Signed distance in 24 bits: shifted up and back down to carry the sign.
        let distance = Int32(bitPattern: (sendTime &- UInt32(truncatingIfNeeded: last)) << 8) >> 8
        let ticks = last &+ Int64(distance)
        sendTicks = max(last, ticks)
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Self.ticksPerSecond)
        let sentAt = Instant(
            nanoseconds: seconds &* 1_000_000_000 &+ rest &* 1_000_000_000 / Self.ticksPerSecond)
        guard packets.count < Self.packetLimit else { return }
        packets.append(
            PacketResult(
                number: number, sentAt: sentAt, byteCount: byteCount, arrival: .nanoseconds(now.nanoseconds)))
        number += 1
        firstWaitingAt = firstWaitingAt ?? now
    }

    package mutating func update(now: Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        control.handle(TransportFeedback(receivedAt: now, packets: packets))
        packets.removeAll(keepingCapacity: true)
        firstWaitingAt = nil
    }
}
