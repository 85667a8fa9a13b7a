import EmisoraCore
import EmisoraVideo
import Synchronization

/// One step of a paced source.
public struct PaceTick: Hashable, Sendable {
    /// The number of the frame, counted from 0; numbers of skipped frames are left out.
    public let index: Int
    /// When the frame was due: `start + index / rate`, exactly. The right timestamp for it.
    public let time: Instant
    /// How many frames right before this one were skipped because the thread was late, of those that were wanted.
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
    ///   - frameCount: How many frames there are. The step with that index comes right when its frame would be due,
    ///     and is to answer ``StepResult/end``.
    ///   - wantedRate: The most steps that are of use at the moment; further ones are left out.
    ///   - step: Called on the thread, never after `stop` returned.
    package func start(
        rate: FrameRate, patience: Int = 0, frameCount: Int? = nil,
        wantedRate: @escaping @Sendable () -> FrameRate? = { nil }, step: @escaping Step
    ) throws(CaptureError) {
        try current.withLock { current throws(CaptureError) in
            guard current?.isRunning != true else { throw .alreadyCapturing }
            let run = PaceRun(rate: rate, patience: max(0, patience), end: frameCount ?? .max)
            try run.start(wantedRate, step)
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
    private let end: Int
    private let thread = MediaThread()

    fileprivate init(rate: FrameRate, patience: Int, end: Int) {
        self.rate = rate
        self.patience = patience
        self.end = end
    }

    fileprivate var isRunning: Bool { thread.isRunning }

    /// Whether this run was stopped; a step that finds it so must hand over nothing more.
    package var isStopRequested: Bool { thread.isStopRequested }

    /// The step lives on the thread alone: what it holds, such as the consumer, goes with the run.
    fileprivate func start(
        _ wantedRate: @escaping @Sendable () -> FrameRate?, _ step: @escaping Pacer.Step
    ) throws(CaptureError) {
        try thread.start { [self] _ in main(wantedRate, step) }
    }

    private func main(_ wantedRate: () -> FrameRate?, _ step: Pacer.Step) {
        let start = MonotonicClock.now
        var thinner = FrameThinner()
        var next = 0
        var missed = 0
        var lastTime = start
        while true {
            let due = start + rate.time(ofFrame: next)
            guard thread.wait(until: due) else { return }
            // The first frame sets the grid, so it is never late. A clock read right at a deadline may be a hair early:
            // the frame that was waited for is due in any case.
            let latest = next == 0 ? 0 : max(next, rate.frame(at: MonotonicClock.now - start))
            let index = min(latest - next > patience ? latest : next, end)
            let time = start + rate.time(ofFrame: index)
            let wanted = wantedRate()
            missed += index - next
            next = index + 1
            guard index == end || thinner.keep(time, rate: wanted) else { continue }
            // Of those that were missed, the ones that would not have been left out.
            let skipped = wanted.map { min(missed, max(0, $0.frame(at: time - lastTime) - 1)) } ?? missed
            if case .end = step(PaceTick(index: index, time: time, skipped: skipped), self) { return }
            missed = 0
            lastTime = time
        }
    }

    fileprivate func requestStop() {
        thread.requestStop()
    }

    fileprivate func stop() {
        thread.stop()
    }
}
