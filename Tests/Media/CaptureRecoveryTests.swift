import EmisoraCore
import Testing

@testable import EmisoraCapture

/// When a camera that does not deliver is looked after: no device, no clock.
@Suite struct CaptureRecoveryTests {
    let frame = Duration.milliseconds(40)

    private func recovery(at now: Int = 0) -> CaptureRecovery {
        CaptureRecovery(interval: frame, now: .milliseconds(now))
    }

    @Test func silenceOfASecondRestartsAndAnotherCloses() {
        var recovery = recovery()
        #expect(recovery.due(.milliseconds(999)) == nil)
        #expect(recovery.due(.milliseconds(1000)) == .restart)
        #expect(recovery.deadline == .milliseconds(2000))
        #expect(recovery.due(.milliseconds(2000)) == .close)
        #expect(recovery.due(.milliseconds(2000)) == .attempt(everywhere: true))
        #expect(recovery.isAway)
    }

    @Test func slowCamerasGetFiveFrameTimes() {
        var recovery = CaptureRecovery(interval: .seconds(1), now: .zero)
        #expect(recovery.due(.milliseconds(4999)) == nil)
        #expect(recovery.due(.milliseconds(5000)) == .restart)
    }

    @Test func aPictureEndsTheInterruptionAndADamagedFrameDoesNot() {
        var recovery = recovery()
        #expect(recovery.due(.milliseconds(1000)) == .restart)
        #expect(recovery.frameCame(.milliseconds(1100), isMedia: false) == nil)
        #expect(recovery.frameCame(.milliseconds(1200), isMedia: true) == .milliseconds(200))
        #expect(recovery.frameCame(.milliseconds(1240), isMedia: true) == nil)
        #expect(recovery.deadline == .milliseconds(2240))
    }

    @Test func whileTheNodeExistsAttemptsComeTwiceASecond() {
        var recovery = recovery()
        #expect(recovery.failed(.milliseconds(10)) == .close)
        #expect(recovery.due(.milliseconds(10)) == .attempt(everywhere: true))
        var attempts: [Int] = []
        recovery.attemptFailed(.milliseconds(10), nodeExists: true)
        for now in 11...5010 {
            guard recovery.due(.milliseconds(now)) == .attempt(everywhere: false) else { continue }
            attempts.append(now)
            recovery.attemptFailed(.milliseconds(now), nodeExists: true)
        }
        #expect(attempts == Array(stride(from: 510, through: 5010, by: 500)))
    }

    @Test func whileItDoesNotTheWaitDoublesUpToEightSeconds() {
        var recovery = recovery()
        _ = recovery.failed(.zero)
        var (now, waits): (Instant, [Duration]) = (.zero, [])
        for _ in 0..<8 {
            #expect(recovery.due(now) == .attempt(everywhere: true))
            recovery.attemptFailed(now, nodeExists: false)
            waits.append(recovery.deadline - now)
            now = recovery.deadline
        }
        #expect(waits.map(\.inSeconds) == [0.5, 1, 2, 4, 8, 8, 8, 8])
    }

    @Test func aNewNodeIsTriedAtOnceButNotForEveryChange() {
        var recovery = recovery()
        _ = recovery.failed(.zero)
        var now = Instant.zero
        for _ in 0..<6 {
            _ = recovery.due(now)
            recovery.attemptFailed(now, nodeExists: false)
            now = recovery.deadline
        }
        let plugged = now - .seconds(3)
        recovery.nodesChanged(plugged)
        #expect(recovery.due(plugged) == .attempt(everywhere: true))
        recovery.attemptFailed(plugged, nodeExists: true)
        recovery.nodesChanged(plugged + .milliseconds(1))
        #expect(recovery.due(plugged + .milliseconds(249)) == nil)
        #expect(recovery.due(plugged + .milliseconds(250)) == .attempt(everywhere: true))
    }

    @Test func aCameraThatFailsRightAfterEveryOpeningIsNotOpenedWithoutEnd() {
        var recovery = recovery()
        var attempts = 0
        for now in 0..<10_000 {
            if case .attempt? = recovery.due(.milliseconds(now)) {
                attempts += 1
                recovery.attemptSucceeded(.milliseconds(now), interval: frame)
            }
            if !recovery.isAway { _ = recovery.failed(.milliseconds(now)) }
        }
        #expect(attempts <= 20)
    }

    @Test func anAttemptThatTakesLongIsNotMadeTwice() {
        var recovery = recovery()
        _ = recovery.failed(.zero)
        #expect(recovery.due(.zero) != nil)
        #expect(recovery.due(.milliseconds(60_000)) == nil)
        recovery.attemptSucceeded(.milliseconds(60_000), interval: nil)
        #expect(!recovery.isAway)
        #expect(recovery.frameCame(.milliseconds(60_040), isMedia: true) == .milliseconds(60_040))
    }
}
