import EmisoraCore
import EmisoraRTP
import Testing

@testable import EmisoraCongestionControl

@Suite struct ReceiverEstimatorTests {
    /// Packets of 1000 bytes that are sent evenly at `sent` kbit/s through a path of `path` kbit/s.
    private func estimate(sent: Int, path: Int, seconds: Int, origin: Int64 = 0) -> DataRate? {
        var estimator = ReceiverEstimator(now: .zero)
        var freeAt = Instant.zero
        for number in 0..<sent * seconds / 8 {
            let sentAt = Instant.zero + .nanoseconds(Int64(number) * 8_000_000_000 / Int64(sent))
            freeAt = max(freeAt, sentAt) + .nanoseconds(8_000_000_000 / Int64(path))
            // The sender's clock has an origin of its own; 24 bits of it wrap every 64 s.
            let sendTime = HeaderExtensionValues.absoluteSendTime(at: sentAt + .seconds(origin))
            let arrival = freeAt + .milliseconds(30)
            estimator.handle(sendTime: sendTime, byteCount: 1_000, now: arrival)
            estimator.update(now: arrival)
        }
        return estimator.bitrate
    }

    @Test(arguments: [0, 62] as [Int64]) func aQueueThatGrowsBringsTheEstimateBelowThePath(origin: Int64) throws {
        let bitrate = try #require(estimate(sent: 1_500, path: 1_000, seconds: 5, origin: origin))
        #expect(bitrate < .kilobitsPerSecond(1_000), "\(bitrate)")
        #expect(bitrate > .kilobitsPerSecond(400), "\(bitrate)")
    }

    @Test func aPathWithRoomIsNotBounded() throws {
        let bitrate = try #require(estimate(sent: 500, path: 10_000, seconds: 5))
        #expect(bitrate > .kilobitsPerSecond(10_000), "\(bitrate)")
    }

    @Test func nothingIsSaidOfNothing() {
        let estimator = ReceiverEstimator(now: .zero)
        #expect(estimator.bitrate == nil)
        #expect(estimator.nextDeadline == nil)
    }
}
