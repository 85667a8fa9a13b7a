import EmisoraCore
import Testing

@testable import EmisoraRTP

/// Frames over paths with jitter, clocks that drift and timestamps that jump, in virtual time.
@Suite struct PlayoutTimelineTests {
    /// A sender of 30 frames a second whose frames a timeline schedules as they come in.
    private struct Stream {
        static let frameTime = 33_333_333

        var timeline = PlayoutTimeline(clockRate: 90_000)
        /// Of the sender's clock, in millionths.
        var drift = 0.0
        var firstTimestamp: UInt32 = 0xFFFF_0000
        private(set) var number = 0
        private(set) var shown: [(capturedAt: Int, completedAt: Int, playAt: Int)] = []
        private var lastCompletedAt = 0
        private var shift = 0

        /// Frames that take so many microseconds each, in order: no frame is complete before those before it.
        mutating func send(_ count: Int, taking microseconds: (Int) -> Int) {
            for index in 0..<count {
                let capturedAt = number * Self.frameTime
                number += 1
                let completedAt = max(lastCompletedAt, capturedAt + microseconds(index) * 1_000)
                lastCompletedAt = completedAt
                let ticks = Double(capturedAt + shift) * 90_000 / 1e9 * (1 + drift / 1e6)
                let playAt = timeline.schedule(
                    timestamp: firstTimestamp &+ UInt32(truncatingIfNeeded: Int64(ticks)),
                    completedAt: .zero + .nanoseconds(completedAt))
                shown.append((capturedAt, completedAt, Int(playAt.nanoseconds)))
            }
        }

        /// The sender's timestamps jump, as its clock is set anew.
        mutating func jump(milliseconds: Int) { shift += milliseconds * 1_000_000 }

        /// From complete to shown on time, in milliseconds; late frames count as shown at once.
        func waits(_ range: Range<Int>) -> [Double] {
            shown[range].map { Double(max(0, $0.playAt - $0.completedAt)) / 1e6 }
        }

        func late(_ range: Range<Int>, byMilliseconds limit: Int = 0) -> Int {
            shown[range].count { $0.completedAt - $0.playAt > limit * 1_000_000 }
        }

        /// By how much the times between shown frames differ from those between captured ones, at the most, in ms.
        func unevenness(_ range: Range<Int>) -> Double {
            let times = shown[range].map { (max($0.playAt, $0.completedAt), $0.capturedAt) }
            return zip(times, times.dropFirst()).map { abs(Double(($1.0 - $0.0) - ($1.1 - $0.1))) / 1e6 }.max() ?? 0
        }
    }

    @Test func anEvenPathAddsNothing() {
        var stream = Stream()
        stream.send(300) { _ in 20_000 }
        #expect(stream.waits(0..<300).allSatisfy { $0 < 0.1 })
        #expect(stream.timeline.targetDelay < .milliseconds(1))
    }

    @Test func theFirstPictureDoesNotWait() {
        var stream = Stream()
        stream.timeline.processingDelay = .milliseconds(3)
        stream.send(1) { _ in 80_000 }
        #expect(stream.waits(0..<1)[0] <= 3.01)
    }

    @Test("Jitter is evened out by as much as 95 % of the frames need", arguments: [5, 20, 50, 100])
    func jitterIsEvenedOut(milliseconds: Int) {
        var generator = SeededGenerator(seed: UInt64(milliseconds))
        var stream = Stream()
        stream.send(900) { _ in 20_000 + generator.number(below: milliseconds * 1_000) }
        #expect(stream.timeline.targetDelay <= .milliseconds(milliseconds))
        #expect(stream.timeline.targetDelay >= .milliseconds(milliseconds * 8 / 10))
        // Of 600, a twentieth may be late, give or take.
        #expect(stream.late(300..<900) < 60, "\(stream.late(300..<900))")
        #expect((stream.waits(300..<900).max() ?? 0) < Double(milliseconds) + 1)
        let arrivals = zip(stream.shown[300..<900], stream.shown[301..<900]).map {
            abs(Double($1.completedAt - $0.completedAt) - Double(Stream.frameTime)) / 1e6
        }
        let shown = zip(stream.shown[300..<900], stream.shown[301..<900]).map {
            abs(Double(max($1.playAt, $1.completedAt) - max($0.playAt, $0.completedAt)) - Double(Stream.frameTime))
                / 1e6
        }
        #expect(shown.reduce(0, +) < arrivals.reduce(0, +) / 5)
    }

    @Test func aLargeFirstFrameDoesNotSetTheDelay() {
        var stream = Stream()
        stream.send(150) { index in index == 0 ? 120_000 : 20_000 }
        // Frames behind it came together with it; two seconds later that is forgotten.
        #expect(stream.waits(90..<150).allSatisfy { $0 < 15 }, "\(stream.waits(90..<150))")
    }

    /// Wi-Fi: now and then everything stands still for a tenth of a second, then comes at once.
    @Test func rareSpikesAreShownLateInsteadOfDelayingAll() {
        var stream = Stream()
        stream.send(900) { index in index % 100 == 50 ? 120_000 : 20_000 }
        #expect(stream.timeline.targetDelay < .milliseconds(40), "\(stream.timeline.targetDelay)")
        #expect(stream.waits(200..<900).filter { $0 > 40 }.isEmpty)
    }

    @Test func frequentSpikesAreProvidedForUpToTheLimit() {
        var stream = Stream()
        stream.send(600) { index in index % 10 == 5 ? 100_000 : 20_000 }
        #expect(stream.timeline.targetDelay >= .milliseconds(75))
        #expect(stream.unevenness(300..<600) < 5, "\(stream.unevenness(300..<600))")
        stream.send(600) { index in index % 10 < 5 ? 900_000 : 20_000 }
        #expect(stream.timeline.targetDelay <= .milliseconds(250))
        // And it goes again.
        stream.send(900) { _ in 20_000 }
        #expect(stream.waits(2_050..<2_100).allSatisfy { $0 < 5 }, "\(stream.waits(2_050..<2_100))")
    }

    @Test("A clock that drifts for an hour neither adds delay nor makes frames late", arguments: [-500.0, 500])
    func drift(partsPerMillion: Double) {
        var generator = SeededGenerator(seed: 5)
        var stream = Stream()
        stream.drift = partsPerMillion
        stream.send(3_600 * 30) { _ in 20_000 + generator.number(below: 10_000) }
        let last = (3_600 * 30 - 9_000)..<(3_600 * 30)
        #expect(stream.timeline.targetDelay < .milliseconds(14), "\(stream.timeline.targetDelay)")
        #expect(stream.late(last, byMilliseconds: 3) < 9_000 / 20, "\(stream.late(last, byMilliseconds: 3))")
        #expect((stream.waits(last).max() ?? 0) < 16)
    }

    @Test("A sender whose timestamps jump goes on at once", arguments: [-3_600_000, -20_000, -3_000, 3_000, 3_600_000])
    func jumps(milliseconds: Int) {
        var stream = Stream()
        stream.send(300) { _ in 20_000 }
        stream.jump(milliseconds: milliseconds)
        stream.send(300) { _ in 20_000 }
        #expect(stream.waits(300..<600).allSatisfy { $0 < 250 })
        #expect(stream.waits(320..<600).allSatisfy { $0 < 1 })
        // What is told of when it is shown is now again, not long ago.
        #expect(stream.late(320..<600) == 0 && stream.unevenness(330..<600) < 1)
        let times = stream.shown.map(\.playAt)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func aPathThatBecomesLongerIsFollowedAndOneThatBecomesShorterToo() {
        var stream = Stream()
        stream.send(300) { _ in 20_000 }
        stream.send(300) { _ in 80_000 }
        #expect(stream.waits(560..<600).allSatisfy { $0 < 5 } && stream.late(560..<600) == 0)
        stream.send(600) { _ in 20_000 }
        #expect(stream.waits(1_150..<1_200).allSatisfy { $0 < 5 }, "\(stream.waits(1_150..<1_200))")
    }

    @Test func delaysThatAreAskedForAreKeptWithinTheSendersBounds() {
        var stream = Stream()
        stream.timeline.synchronizationDelay = .milliseconds(60)
        stream.send(150) { _ in 20_000 }
        #expect(stream.waits(140..<150).allSatisfy { abs($0 - 60) < 1 }, "\(stream.waits(140..<150))")
        // It glides: no frame is put off by more than a twelfth of a frame's time.
        #expect(stream.unevenness(1..<150) < 3)
        stream.timeline.bounds = .zero ... .milliseconds(20)
        stream.send(300) { _ in 20_000 }
        #expect(stream.waits(430..<450).allSatisfy { abs($0 - 20) < 1 })
        stream.timeline.bounds = .milliseconds(100) ... .milliseconds(200)
        stream.send(300) { _ in 20_000 }
        #expect(stream.waits(740..<750).allSatisfy { abs($0 - 100) < 1 })
        // However long the sender wants it.
        stream.timeline.bounds = .seconds(40) ... .seconds(40)
        stream.send(3_000) { _ in 20_000 }
        #expect((stream.waits(0..<3_750).max() ?? 0) <= 2_001)
    }

    @Test func anyTimestampsAreScheduledWithinBoundsAndInOrder() {
        var generator = SeededGenerator(seed: 77)
        var timeline = PlayoutTimeline(clockRate: 90_000)
        var now = Instant.zero + .seconds(1)
        var last = Instant(nanoseconds: .min)
        for _ in 0..<20_000 {
            now = now + .microseconds(Int64(generator.number(below: 200_000)))
            let timestamp = UInt32(truncatingIfNeeded: generator.next())
            let playAt = timeline.schedule(timestamp: timestamp, completedAt: now)
            #expect(playAt > last)
            last = playAt
        }
    }
}
