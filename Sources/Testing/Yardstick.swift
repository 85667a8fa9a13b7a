import EmisoraCapture
import EmisoraCore

/// What this machine can do at the moment: a thread that only wakes every few milliseconds, beside the capturer.
package final class Yardstick: Sendable {
    private static let tick = Duration.milliseconds(5)

    private struct State: Sendable {
        var made = 0
        var missed = 0
        var worst = Duration.zero
    }

    private let state = Monitor(State())
    private let thread = MediaThread()

    package init() throws(CaptureError) {
        let state = state
        try thread.start { thread in
            var due = MonotonicClock.now + Self.tick
            while thread.wait(until: due) {
                let late = MonotonicClock.now - due
                let missed = Int(late.nanoseconds / Self.tick.nanoseconds)
                state.withLock {
                    $0.made += 1
                    $0.missed += missed
                    $0.worst = max($0.worst, late)
                }
                due = due + Self.tick * (missed + 1)
            }
        }
    }

    /// Ends it; gives the fraction of its ticks that came in time, and how late the latest was.
    package func finish() -> Figures {
        thread.stop()
        return state.withLock {
            Figures(share: Double($0.made) / Double(max(1, $0.made + $0.missed)), worstLateness: $0.worst)
        }
    }

    package struct Figures: Sendable {
        package var share: Double
        package var worstLateness: Duration
    }
}
