import EmisoraCore
import Testing

@testable import Emisora

/// RFC 4585 §6.3.1 leaves it to the sender how often it obeys.
@Suite struct KeyFrameLimiterTests {
    private func at(_ milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }

    @Test func requestsWithinHalfASecondAreOneWhoeverAsks() {
        var limiter = KeyFrameLimiter()
        var told: [Int] = []
        // Some viewers, each every few milliseconds, for two seconds.
        for millisecond in 0..<2_000 {
            if millisecond % 7 == 0 || millisecond % 11 == 0 { limiter.request() }
            if limiter.poll(now: at(millisecond)) { told.append(millisecond) }
        }
        #expect(told == [0, 500, 1_000, 1_500])
    }

    @Test func theFirstRequestIsObeyedAtOnceAndALaterOneWhenItsTimeHasCome() {
        var limiter = KeyFrameLimiter()
        #expect(limiter.nextDeadline(now: at(0)) == nil && !limiter.poll(now: at(0)))
        limiter.request()
        #expect(limiter.nextDeadline(now: at(3)) == at(3) && limiter.poll(now: at(3)))
        #expect(limiter.nextDeadline(now: at(3)) == nil)
        limiter.request()
        #expect(limiter.nextDeadline(now: at(100)) == at(503))
        #expect(!limiter.poll(now: at(502)) && limiter.poll(now: at(503)))
    }

    @Test func aKeyFrameThatCameByItselfAnswersAllThatWait() {
        var limiter = KeyFrameLimiter()
        limiter.request()
        limiter.didProduceKeyFrame(now: at(10))
        #expect(!limiter.poll(now: at(10)) && limiter.nextDeadline(now: at(10)) == nil)
        limiter.request()
        #expect(limiter.nextDeadline(now: at(11)) == at(510))
    }
}
