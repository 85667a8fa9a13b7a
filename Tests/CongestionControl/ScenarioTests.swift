import EmisoraCore
import EmisoraRTP
import EmisoraSimulation
import Testing

@testable import EmisoraCongestionControl

/// Whole calls in virtual time; each holds for every seed.
@Suite struct ScenarioTests {
    private func options(start: Int, ceiling: Int = 2_500) -> CongestionControl.Options {
        var options = CongestionControl.Options()
        options.start = .kilobitsPerSecond(start)
        options.ceiling = .kilobitsPerSecond(ceiling)
        return options
    }

    private func path(_ kilobits: Int?, queue: Int = 64_000, delay: Int = 40) -> SimulatedLink.Conditions {
        var conditions = SimulatedLink.Conditions()
        conditions.rate = kilobits.map { .kilobitsPerSecond($0) }
        conditions.queueByteCount = queue
        conditions.delay = .milliseconds(delay)
        return conditions
    }

    @Test(
        "RFC 8834 §7: a bottleneck of 500 kbit/s loses under 5 % after 10 s", arguments: UInt64(1)...2,
        [8_000, 30_000, 64_000])
    func aBottleneckOf500kCarriesUnder5PercentLossAfter10Seconds(seed: UInt64, queue: Int) {
        let call = SimulatedCall(seed: seed, options: options(start: 1_500), conditions: path(500, queue: queue))
        call.run(until: 60)
        let early = call.figures(10..<35)
        let late = call.figures(35..<60)
        for figures in [early, late] {
            #expect(figures.loss < 0.05, "\(figures)")
            #expect(figures.bitsPerSecond > 0.6 * 500_000, "\(figures)")
            #expect(figures.wait95 < 400, "\(figures)")
        }
        // No queue that only grows.
        #expect(late.meanWait < max(100, early.meanWait * 1.5), "\(early), then \(late)")
    }

    @Test(arguments: UInt64(1)...3) func capacityThatFallsAndComesBackIsFollowed(seed: UInt64) {
        let call = SimulatedCall(seed: seed, options: options(start: 1_000), conditions: path(2_000))
        call.setRate(.kilobitsPerSecond(300), at: 30)
        call.setRate(.kilobitsPerSecond(2_000), at: 60)
        call.run(until: 120)
        let before = call.figures(15..<30)
        let low = call.figures(36..<60)
        let after = call.figures(100..<120)
        #expect(before.bitsPerSecond > 0.6 * 2_000_000 && before.loss < 0.05, "\(before)")
        #expect(low.bitsPerSecond > 0.6 * 300_000 && low.loss < 0.05 && low.wait95 < 800, "\(low)")
        #expect(after.bitsPerSecond > 0.6 * 2_000_000 && after.loss < 0.05, "\(after)")
    }

    @Test(arguments: UInt64(1)...3) func randomLossThatNoLowerRateMendsDoesNotStarveTheCall(seed: UInt64) {
        var conditions = path(nil)
        conditions.loss = 0.1
        let call = SimulatedCall(seed: seed, options: options(start: 1_000, ceiling: 1_500), conditions: conditions)
        call.run(until: 90)
        let late = call.figures(50..<90)
        #expect(late.bitsPerSecond > 0.6 * 0.9 * 1_000_000, "\(late)")
        #expect((0.07...0.13).contains(late.loss))
    }

    @Test(arguments: UInt64(1)...3) func randomLossOnTopOfABottleneckDoesNotHideIt(seed: UInt64) {
        var conditions = path(500, queue: 30_000)
        conditions.loss = 0.1
        let call = SimulatedCall(seed: seed, options: options(start: 1_500), conditions: conditions)
        call.run(until: 90)
        let late = call.figures(50..<90)
        // What the path loses at any rate, and under 5 % more.
        #expect(late.loss < 0.15, "\(late)")
        #expect(late.wait95 < 400, "\(late)")
        #expect(late.bitsPerSecond > 0.4 * 500_000, "\(late)")
    }

    @Test(arguments: UInt64(1)...3) func aPeerWithoutTransportFeedbackIsJudgedByItsReports(seed: UInt64) {
        let call = SimulatedCall(
            seed: seed, options: options(start: 1_500), conditions: path(500), hasTransportFeedback: false)
        call.run(until: 60)
        let late = call.figures(15..<60)
        #expect(late.loss < 0.05, "\(late)")
        #expect(late.bitsPerSecond > 0.6 * 500_000, "\(late)")
        #expect(call.figures(40..<60).meanWait < max(250, call.figures(15..<40).meanWait * 1.5))
    }

    @Test(arguments: UInt64(1)...3) func transportFeedbackThatStopsLeavesTheReportsInCharge(seed: UInt64) {
        let call = SimulatedCall(seed: seed, options: options(start: 1_000), conditions: path(2_000))
        // The peer's transport feedback is lost from here on, its reports are not.
        call.simulation.filter = { [simulation = call.simulation] side, bytes in
            side == .left || simulation.now < SimulatedCall.start + .seconds(20)
                || bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) & 0x1F != 15
        }
        call.setRate(.kilobitsPerSecond(500), at: 30)
        call.run(until: 80)
        let late = call.figures(45..<80)
        #expect(late.loss < 0.05, "\(late)")
        #expect(late.bitsPerSecond > 0.6 * 500_000, "\(late)")
    }

    @Test(arguments: UInt64(1)...3) func withoutAnyWordOfThePeerTheRateFallsAndTheBreakerTrips(seed: UInt64) {
        let call = SimulatedCall(seed: seed, options: options(start: 1_500), conditions: path(nil))
        call.receiver.isTalking = false
        call.run(until: 12)
        #expect(call.sender.control.decision.targetBitrate == .kilobitsPerSecond(100))
        #expect(call.sender.control.decision.reason == .silence)
        #expect(call.sender.trip == nil)
        call.run(until: 40)
        guard case .reportTimeout? = call.sender.trip else {
            Issue.record("\(String(describing: call.sender.trip))")
            return
        }
        #expect(call.figures(16..<40).bitsPerSecond == 0)
    }

    @Test(arguments: UInt64(1)...3) func aSoundCallNeverTripsTheBreaker(seed: UInt64) {
        var conditions = path(400, queue: 20_000)
        conditions.loss = 0.05
        let call = SimulatedCall(seed: seed, options: options(start: 2_000), conditions: conditions)
        call.run(until: 60)
        #expect(call.sender.trip == nil)
    }

    @Test func anEstimateOfTheReceiverIsObeyedAtOnce() {
        let call = SimulatedCall(seed: 1, options: options(start: 1_500), conditions: path(nil))
        call.simulation.schedule(at: SimulatedCall.start + .seconds(5)) { _ in
            call.receiver.send { writer throws(RTPError) in
                try writer.write(
                    ReceiverEstimatedMaximumBitrate(
                        senderSSRC: 2, bitrate: .kilobitsPerSecond(400), sources: [0x1111]))
            }
        }
        call.run(until: 15)
        #expect(call.figures(1..<5).bitsPerSecond > 1_000_000)
        let after = call.figures(6..<15)
        #expect((240_000...420_000).contains(after.bitsPerSecond), "\(after)")
        #expect(call.sender.control.decision.reason == .receiverEstimate)
    }

    @Test("RFC 8834 §5.1.6: TMMBR is obeyed and answered with TMMBN")
    func aTemporaryMaximumIsObeyedAndAnsweredAndCanBeLifted() {
        let call = SimulatedCall(seed: 1, options: options(start: 1_500), conditions: path(nil))
        func request(_ kilobits: Int, at seconds: Int) {
            call.simulation.schedule(at: SimulatedCall.start + .seconds(seconds)) { _ in
                call.receiver.send { writer throws(RTPError) in
                    try writer.write(
                        TemporaryMaximumBitrate(
                            .request, senderSSRC: 2,
                            entries: [.init(ssrc: 0x1111, bitrate: .kilobitsPerSecond(kilobits), overhead: 40)]))
                }
            }
        }
        request(200, at: 5)
        request(5_000, at: 15)
        call.run(until: 14)
        #expect(call.sender.control.decision.reason == .temporaryMaximum)
        #expect(call.figures(6..<14).bitsPerSecond < 210_000)
        #expect(call.receiver.notifications.last?.kind == .notification)
        #expect(call.receiver.notifications.last?.entries.first?.ssrc == 2)
        call.run(until: 50)
        #expect(call.figures(40..<50).bitsPerSecond > 800_000)
    }

    @Test func anEncoderThatSendsLittleDoesNotRaiseTheRateWithoutBound() {
        let call = SimulatedCall(seed: 1, options: options(start: 300), conditions: path(nil))
        call.sender.encoderLimit = .kilobitsPerSecond(300)
        call.run(until: 60)
        #expect(call.sender.control.decision.targetBitrate < .kilobitsPerSecond(600))
    }

    @Test func jitterAloneDoesNotLowerTheRate() {
        var conditions = path(nil)
        conditions.jitter = .milliseconds(15)
        let call = SimulatedCall(seed: 3, options: options(start: 1_000, ceiling: 1_500), conditions: conditions)
        call.run(until: 40)
        #expect(call.figures(20..<40).bitsPerSecond > 0.6 * 1_500_000, "\(call.figures(20..<40))")
    }

    @Test func theSameSeedGivesTheSameCallByteForByte() {
        func trace(_ seed: UInt64) -> (UInt64, [DataRate]) {
            var conditions = path(500)
            conditions.loss = 0.02
            conditions.jitter = .milliseconds(5)
            let call = SimulatedCall(seed: seed, options: options(start: 1_500), conditions: conditions)
            call.run(until: 20)
            return (call.simulation.traceHash, call.sender.targets.map(\.rate))
        }
        let first = trace(9)
        #expect(first == trace(9))
        #expect(first.0 != trace(10).0)
    }
}
