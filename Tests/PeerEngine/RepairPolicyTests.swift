import EmisoraCore
import Testing

@testable import EmisoraPeerEngine

@Suite struct RepairPolicyTests {
    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

    /// A report each second with that loss.
    private func report(
        _ loss: Double, _ seconds: Range<Int>, of stream: SendControl.Stream = .video, roundTrip: Int? = 100,
        to policy: inout RepairPolicy
    ) {
        for second in seconds {
            policy.handle(
                fractionLost: loss, of: stream, roundTripTime: roundTrip.map { .milliseconds($0) },
                now: at(Double(second)))
        }
    }

    @Test func soundIsCarriedOnceMoreAfterALossAndTwiceAfterHeavyOnes() {
        var policy = RepairPolicy()
        report(0.005, 0..<3, to: &policy)
        #expect(policy.soundDepth == 0)
        report(0.012, 3..<4, of: .audio, roundTrip: nil, to: &policy)
        #expect(policy.soundDepth == 1)
        report(0.1, 4..<5, to: &policy)
        #expect(policy.soundDepth == 2)
        // Ten seconds later no more than once, and not at all half a minute after the last loss.
        report(0, 5..<14, to: &policy)
        #expect(policy.soundDepth == 2)
        report(0, 14..<34, to: &policy)
        #expect(policy.soundDepth == 1)
        report(0, 34..<35, to: &policy)
        #expect(policy.soundDepth == 0)
    }

    @Test func picturesGetParityPacketsWhereLossesMeetALongRoundTrip() {
        for (loss, roundTrip, expected) in [
            (0.03, 40, 0.0), (0.005, 200, 0), (0.02, 200, 0.1), (0.04, 120, 0.2), (0.2, 120, 0.25), (1, 500, 0.25),
        ] {
            var policy = RepairPolicy()
            report(loss, 0..<30, roundTrip: roundTrip, to: &policy)
            #expect(abs(policy.pictureProtection - expected) < 1e-9, "\(loss) at \(roundTrip) ms")
        }
        var policy = RepairPolicy()
        report(0.1, 0..<30, roundTrip: nil, to: &policy)
        #expect(policy.pictureProtection == 0)
        // Reports on sound tell nothing of how many of the pictures' packets are lost.
        report(0.1, 30..<60, of: .audio, to: &policy)
        #expect(policy.pictureProtection == 0)
    }

    @Test func theyBeginWithinSecondsAndDoNotComeAndGo() {
        var policy = RepairPolicy()
        report(0.05, 0..<3, to: &policy)
        #expect(policy.pictureProtection > 0)
        var changes = 0
        var before = policy.pictureProtection
        for second in 3..<300 {
            // 1 % on average, at a round trip around the limit.
            report(second % 4 == 0 ? 0.04 : 0, second..<second + 1, roundTrip: 70 + second % 20, to: &policy)
            if (policy.pictureProtection > 0) != (before > 0) { changes += 1 }
            before = policy.pictureProtection
        }
        #expect(changes <= 2 && before > 0)
        report(0, 300..<320, to: &policy)
        #expect(policy.pictureProtection == 0)
    }

    @Test func howOftenReportsComeMakesNoDifference() {
        var rare = RepairPolicy()
        var frequent = RepairPolicy()
        for step in 0..<200 {
            let now = at(Double(step) / 10)
            frequent.handle(fractionLost: 0.04, of: .video, roundTripTime: .milliseconds(150), now: now)
            guard step % 20 == 0 else { continue }
            rare.handle(fractionLost: 0.04, of: .video, roundTripTime: .milliseconds(150), now: now)
        }
        #expect(abs(rare.pictureProtection - frequent.pictureProtection) < 0.06)
        // Neither do values that no report can have.
        frequent.handle(fractionLost: -5, of: .video, roundTripTime: .seconds(-1), now: at(0))
        #expect(frequent.pictureProtection == 0)
    }
}
