import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct ReceptionStatisticsTests {
    private let noClock = SenderClock(clockRate: 90_000)

    /// Feeds packets one millisecond apart.
    private func fed(_ numbers: [Int]) -> (statistics: ReceptionStatistics, arrivals: [ReceptionStatistics.Arrival]) {
        var statistics = ReceptionStatistics(ssrc: 1, clockRate: 90_000)
        let arrivals = numbers.enumerated().map { index, number in
            statistics.handle(
                sequenceNumber: UInt16(truncatingIfNeeded: number), timestamp: UInt32(index * 90), now: at(index))
        }
        return (statistics, arrivals)
    }

    @Test("RFC 3550 A.1: a source is valid after two packets in sequence")
    func aSourceIsValidAfterTwoPacketsInSequence() {
        #expect(!fed([5]).statistics.isValid)
        #expect(!fed([5, 9]).statistics.isValid)
        #expect(fed([5, 6]).statistics.isValid)
        #expect(fed([5, 9, 10]).statistics.packetsExpected == 2)
    }

    @Test func lossIsCountedAcrossTheWrap() {
        var statistics = fed([65_533, 65_534, 0, 1, 4]).statistics
        #expect(statistics.packetsExpected == 8 && statistics.packetsLost == 3)
        let block = statistics.reportBlock(senderClock: noClock, now: at(9))
        #expect(block.cumulativeLost == 3 && block.fractionLost == 96)
        #expect(block.extendedHighestSequenceNumber == 0x1_0004)
    }

    @Test("RFC 3550 A.3: duplicates make the loss negative but never the fraction")
    func duplicatesMakeLossNegativeButNeverTheFraction() {
        var statistics = fed([1, 2, 2, 2, 3]).statistics
        let block = statistics.reportBlock(senderClock: noClock, now: at(9))
        #expect(block.cumulativeLost == -2 && block.fractionLost == 0)
    }

    @Test func theFractionIsOfTheIntervalAndHeldBelowOne() {
        var (statistics, _) = fed([1, 2, 3, 4])
        #expect(statistics.reportBlock(senderClock: noClock, now: at(9)).fractionLost == 0)
        _ = statistics.handle(sequenceNumber: 2004, timestamp: 0, now: at(10))
        #expect(statistics.reportBlock(senderClock: noClock, now: at(11)).fractionLost == 255)
        #expect(statistics.reportBlock(senderClock: noClock, now: at(12)).fractionLost == 0)
    }

    @Test func misorderIsToleratedAndARestartNeedsTwoPacketsInARow() {
        #expect(fed([10, 11, 13, 12, 12]).arrivals == [.inOrder, .inOrder, .inOrder, .misordered, .misordered])
        let (statistics, arrivals) = fed([10, 11, 30_000, 12, 40_000, 40_001, 40_002])
        #expect(
            arrivals == [.inOrder, .inOrder, .jumped, .inOrder, .jumped, .restarted, .inOrder])
        #expect(statistics.packetsLost == 0 && statistics.packetsExpected == 2)
    }

    @Test("RFC 3550 A.8: jitter is in ticks of the stream's clock") func jitterFollowsTheAppendix() {
        var statistics = ReceptionStatistics(ssrc: 1, clockRate: 90_000)
        // Sent every 10 ms; every other packet comes 4 ms late: |D| = 360 ticks always, so J tends to 360.
        for index in 0..<400 {
            _ = statistics.handle(
                sequenceNumber: UInt16(index), timestamp: UInt32(index * 900),
                now: at(index * 10 + (index % 2) * 4))
        }
        #expect((350...361).contains(statistics.jitterInTicks))
        #expect(fed(Array(0..<50)).statistics.jitterInTicks == 0)
    }

    @Test func reportsAnswerTheLastSenderReport() {
        var clock = SenderClock(clockRate: 90_000)
        #expect(clock.lastSenderReport == 0 && clock.delaySinceLastSenderReport(now: at(9)) == 0)
        let ntp = NTPTimestamp(rawValue: 0x1122_3344_5566_7788)
        clock.handle(
            SenderReport(ssrc: 1, ntpTimestamp: ntp, rtpTimestamp: 0, packetCount: 0, octetCount: 0), now: at(0))
        var statistics = fed([1, 2]).statistics
        let block = statistics.reportBlock(senderClock: clock, now: at(1500))
        #expect(block.lastSenderReport == 0x3344_5566)
        #expect(block.delaySinceLastSenderReport == 65_536 * 3 / 2)
        // Half the timestamp space to both sides is mapped without overflow.
        #expect(clock.ntpTimestamp(of: 0x8000_0000) != nil && clock.ntpTimestamp(of: 0x7FFF_FFFF) != nil)
    }
}

@Suite struct NackGeneratorTests {
    private func generator(received numbers: [Int64], now: Instant = at(0)) -> NackGenerator {
        var generator = NackGenerator()
        for number in numbers { _ = generator.handle(number, now: now) }
        return generator
    }

    @Test func aGapIsAskedForAfterTheReorderingDelay() {
        var generator = generator(received: [1, 3])
        #expect(generator.pollNack(now: at(9)) == [])
        #expect(generator.nextDeadline == at(10))
        #expect(generator.pollNack(now: at(10)) == [2])
        #expect(generator.pollNack(now: at(109)) == [])
        #expect(generator.pollNack(now: at(110)) == [2])
    }

    @Test func aGapIsAskedForAtOnceWhenThreePacketsOvertookIt() {
        var generator = generator(received: [1, 3, 4])
        #expect(generator.pollNack(now: at(0)) == [])
        _ = generator.handle(5, now: at(1))
        #expect(generator.pollNack(now: at(1)) == [2])
    }

    @Test func whatComesIsNotAskedFor() {
        var generator = generator(received: [1, 5, 3])
        #expect(generator.missingCount == 2)
        #expect(generator.pollNack(now: at(10)) == [2, 4])
        _ = generator.handle(2, now: at(50))
        generator.discard(before: 5)
        #expect(generator.missingCount == 0 && generator.nextDeadline == nil)
    }

    @Test func repeatsFollowTheRoundTripAndEnd() {
        var generator = generator(received: [1, 3])
        generator.roundTripTime = .milliseconds(30)
        var asked: [Int] = []
        for milliseconds in 0..<2000 where !generator.pollNack(now: at(milliseconds)).isEmpty {
            asked.append(milliseconds)
        }
        #expect(asked == (0..<10).map { 10 + 30 * $0 })
        #expect(generator.missingCount == 0)
    }

    @Test func tooOldPacketsAreGivenUp() {
        var generator = generator(received: [1, 3])
        generator.roundTripTime = .milliseconds(300)
        #expect(generator.pollNack(now: at(10)) == [2])
        #expect(generator.pollNack(now: at(1000)) == [])
        #expect(generator.missingCount == 0)
    }

    @Test func tooManyMissingPacketsNeedAKeyFrame() {
        var generator = generator(received: [1])
        let fits = generator.handle(1002, now: at(0))
        #expect(fits && generator.missingCount == 1000)
        let overflows = generator.handle(1004, now: at(0))
        #expect(!overflows && generator.missingCount == 0)
    }

    @Test func whatTheFirstPacketOvertookIsMissingToo() {
        var generator = generator(received: [10, 7])
        #expect(generator.pollNack(now: at(10)) == [8, 9])
        generator.discard(before: 7)
        _ = generator.handle(3, now: at(11))
        #expect(generator.missingCount == 2)
    }

    @Test func aNackHoldsAsManyNumbersAsAreAskedFor() {
        var generator = generator(received: [1, 500])
        #expect(generator.pollNack(now: at(10), limit: 100).count == 100)
        #expect(generator.pollNack(now: at(10), limit: 1000).first == 102)
    }
}

@Suite struct ScheduleTests {
    @Test func keyFramesAreAskedForOnceAndAgainAfterTheTimeout() {
        var requester = KeyFrameRequester(retryInterval: .milliseconds(500))
        #expect(requester.nextDeadline == nil)
        requester.want(after: .milliseconds(20), now: at(0))
        requester.want(after: .zero, now: at(5))
        var asked: [Int] = []
        for milliseconds in 0..<1100 where requester.poll(now: at(milliseconds)) { asked.append(milliseconds) }
        #expect(asked == [20, 520, 1020])
        requester.postpone(by: .seconds(2), now: at(1100))
        #expect(requester.nextDeadline == at(3100))
        requester.satisfy()
        let asksAgain = requester.poll(now: at(9000))
        #expect(!asksAgain && requester.nextDeadline == nil)
    }

    @Test func reportsAreSpreadOverHalfToOneAndAHalfIntervals() {
        var generator = SeededGenerator(seed: 5)
        var schedule = RTCPSchedule(now: at(0), using: &generator)
        #expect((at(250)...at(750)).contains(schedule.nextDeadline))
        var intervals: [Double] = []
        for _ in 0..<2000 {
            let now = schedule.nextDeadline
            #expect(schedule.isDue(now: now) && !schedule.isDue(now: now - .nanoseconds(1)))
            schedule.didSendReport(now: now, using: &generator)
            intervals.append((schedule.nextDeadline - now).inSeconds)
        }
        #expect(intervals.allSatisfy { (0.5...1.5).contains($0) })
        #expect(intervals.min()! < 0.51 && intervals.max()! > 1.49)
        #expect(abs(intervals.reduce(0, +) / 2000 - 1) < 0.03)
    }
}
