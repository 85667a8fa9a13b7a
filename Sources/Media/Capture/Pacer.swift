import EmisoraCore
import EmisoraVideo
import Synchronization

/// One step of a paced source.
public struct PaceTick: Hashable, Sendable {
    /// The number of the frame, counted from 0; numbers of skipped frames are left out.
    public let index: Int
    /// When the frame was due: `start + index / rate`, exactly. The right timestamp for it.
    public let time: Instant
    /// How many frames right before this one were skipped because the thread was late.
    public let skipped: Int
}

/// A thread that calls a step at an exact rate: each deadline is computed from the start, so nothing adds up.
package final class Pacer: Sendable {
    package typealias Step = @Sendable (PaceTick, PaceRun) -> StepResult

    package enum StepResult: Sendable {
        case goOn
        /// The source has ended by itself.
        case end
    }

    private let current = Mutex<PaceRun?>(nil)

    package init() {}

    package var isRunning: Bool { current.withLock { $0?.isRunning ?? false } }

    /// Starts the thread; the first step comes at once.
    ///
    /// - Parameters:
    ///   - patience: How many frames the thread may be late and still make up for; further ones are skipped. 0 suits
    ///     pictures, where only the newest counts.
    ///   - step: Called on the thread, never after `stop` returned.
    package func start(rate: FrameRate, patience: Int = 0, step: @escaping Step) throws(CaptureError) {
        try current.withLock { current throws(CaptureError) in
            guard current?.isRunning != true else { throw .alreadyCapturing }
            let run = PaceRun(rate: rate, patience: max(0, patience))
            try run.start(step)
            current = run
        }
    }

    /// Ends the thread and waits for the step that is running, unless called from that step.
    package func stop() {
        current.withLock { $0 }?.stop()
    }

    deinit {
        current.withLock { $0 }?.requestStop()
    }
}

/// One run of a pacer, from its start to its stop.
package final class PaceRun: Sendable {
    private let rate: FrameRate
    private let patience: Int
    private let thread = MediaThread()

    fileprivate init(rate: FrameRate, patience: Int) {
        self.rate = rate
        self.patience = patience
    }

    fileprivate var isRunning: Bool { thread.isRunning }

    /// Whether this run was stopped; a step that finds it so must hand over nothing more.
    package var isStopRequested: Bool { thread.isStopRequested }

    /// The step lives on the thread alone: what it holds, such as the consumer, goes with the run.
    fileprivate func start(_ step: @escaping Pacer.Step) throws(CaptureError) {
        try thread.start { [self] _ in main(step) }
    }

    private func main(_ step: Pacer.Step) {
        let start = MonotonicClock.now
        var next = 0
        while true {
            let due = start + rate.time(ofFrame: next)
            guard thread.wait(until: due) else { return }
            // The first frame sets the grid, so it is never late. A clock read right at a deadline may be a hair early:
            // the frame that was waited for is due in any case.
            let latest = next == 0 ? 0 : max(next, rate.frame(at: MonotonicClock.now - start))
            let index = latest - next > patience ? latest : next
            let tick = PaceTick(index: index, time: start + rate.time(ofFrame: index), skipped: index - next)
            if case .end = step(tick, self) { return }
            next = index + 1
        }
    }

    fileprivate func requestStop() {
        thread.requestStop()
    }

    fileprivate func stop() {
        thread.stop()
    }
}
