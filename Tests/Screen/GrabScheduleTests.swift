import Emisora
import Testing

@testable import EmisoraScreen

/// When a screen is grabbed, in virtual time.
@Suite struct GrabScheduleTests {
    @Test func firstPictureComesAtOnceAndThenNothingUntilTheKeepAlive() {
        var time = Simulated(schedule(keepAlive: .seconds(2)))
        time.run(until: 5_000)
        #expect(time.grabs == [0])
        #expect(time.repeats == [2_000, 4_000])
        #expect(time.looks == [])
    }

    @Test func lastingDamageIsGrabbedAtTheRateEvenWhenWakingLate() {
        var time = Simulated(schedule(interval: .milliseconds(40)), lateness: 3)
        time.isAlwaysDamaged = true
        time.run(until: 10_000)
        #expect(time.grabs.count == 250)
        #expect(time.repeats == [])
    }

    @Test func damageAfterARestIsGrabbedAtOnce() {
        var time = Simulated(schedule(interval: .milliseconds(40)))
        time.run(until: 333)
        time.schedule.damaged()
        time.run(until: 400)
        #expect(time.grabs == [0, 333])
    }

    @Test func pointerThatMovesIsFollowedAtTheRateAndOneThatRestsSeldom() {
        var time = Simulated(schedule(interval: .milliseconds(40), followsPointer: true))
        time.run(until: 950)
        #expect(time.looks == Array(stride(from: 100, through: 900, by: 100)))
        time.movements = [1_000]
        time.run(until: 1_500)
        #expect(time.grabs == [0, 1_000])
        #expect(time.looks.filter { $0 > 1_000 }.prefix(3) == [1_040, 1_080, 1_120])
        time.run(until: 4_000)
        #expect(time.looks.count { $0 > 3_000 } <= 10)
    }

    @Test func unwatchedScreenIsGrabbedSeldomAndOfferedAgainSoon() {
        var time = Simulated(schedule(interval: .milliseconds(40)))
        time.reception = .unwatched
        time.isAlwaysDamaged = true
        time.run(until: 1_999)
        #expect(time.grabs == [0, 250, 500, 750, 1_000, 1_250, 1_500, 1_750])
        time.isAlwaysDamaged = false
        time.run(until: 2_600)
        #expect(time.repeats.last == 2_500)
        time.reception = .accepted
        time.run(until: 10_000)
        #expect(time.repeats.filter { $0 > 2_750 } == Array(stride(from: 3_750, through: 9_750, by: 1_000)))
    }

    @Test func pictureThatWasRefusedIsOfferedAgainAfterOneInterval() {
        var time = Simulated(schedule(interval: .milliseconds(40)))
        time.reception = .refused
        time.run(until: 100)
        #expect(time.repeats == [40, 80])
    }

    @Test func hiddenWindowIsNotGrabbedAndFailedGrabsAreTriedAgain() {
        var time = Simulated(schedule(interval: .milliseconds(40), followsPointer: true))
        time.run(until: 50)
        time.schedule.isVisible = false
        time.schedule.damaged()
        time.run(until: 3_000)
        #expect(time.grabs == [0])
        #expect(time.repeats == [1_000, 2_000])
        time.schedule.isVisible = true
        time.failing = true
        time.run(until: 3_100)
        #expect(time.grabs == [0, 3_000, 3_040, 3_080])
    }

    private func schedule(
        interval: Duration = .milliseconds(100), keepAlive: Duration = .seconds(1), followsPointer: Bool = false
    ) -> GrabSchedule {
        GrabSchedule(interval: interval, keepAlive: keepAlive, followsPointer: followsPointer)
    }
}

/// Lives through a schedule as the capture thread does. Times are in milliseconds.
private struct Simulated {
    var schedule: GrabSchedule
    var reception = GrabSchedule.Reception.accepted
    var isAlwaysDamaged = false
    var failing = false
    var movements: Set<Int> = []
    var grabs: [Int] = []
    var repeats: [Int] = []
    var looks: [Int] = []
    private let lateness: Int
    private var now = 0

    init(_ schedule: GrabSchedule, lateness: Int = 0) {
        self.schedule = schedule
        self.lateness = lateness
    }

    mutating func run(until end: Int) {
        while now < end {
            let instant = Instant(nanoseconds: Int64(now) * 1_000_000)
            if isAlwaysDamaged { schedule.damaged() }
            switch schedule.next(at: instant) {
            case .grab:
                grabs.append(now)
                schedule.grabbing(at: instant)
                if failing { schedule.grabFailed() } else { schedule.offered(at: instant, reception) }
            case .repeatPicture:
                repeats.append(now)
                schedule.offered(at: instant, reception)
            case .lookAtPointer:
                looks.append(now)
                schedule.looked(at: instant, pointerMoved: movements.contains(now))
            case .wait(let deadline):
                now = min(end, deadline == .distantFuture ? end : Int(deadline.nanoseconds / 1_000_000) + lateness)
            }
        }
    }
}
