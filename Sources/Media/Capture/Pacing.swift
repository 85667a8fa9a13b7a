import EmisoraCore
import EmisoraVideo

/// One step of a paced source.
public struct PaceTick: Hashable, Sendable {
    /// The number of the frame, counted from 0; numbers of skipped frames are left out.
    public let index: Int
    /// When the frame was due: `start + index / rate`, exactly. The right timestamp for it.
    public let time: Instant
    /// How many frames right before this one were skipped because the thread was late, of those that were wanted.
    public let skipped: Int
}

extension CaptureRun {
    /// Calls `step` at an exact rate, the first time at once: each deadline is computed from the start, so nothing adds
    /// up. Frames that are skipped because the thread is late count as ``DropReason/captureLate``; frames that are not
    /// wanted are left out, and count as nothing.
    ///
    /// - Parameters:
    ///   - patience: How many frames the thread may be late and still make up for; further ones are skipped. 0 suits
    ///     pictures, where only the newest counts.
    ///   - frameCount: How many frames there are; this returns when the one after the last would be due.
    package func pace(
        _ rate: FrameRate, patience: Int = 0, frameCount: Int? = nil, into consumer: some CaptureConsumer,
        step: (PaceTick) throws(CaptureError) -> Void
    ) throws(CaptureError) {
        let start = MonotonicClock.now
        let end = frameCount ?? .max
        var thinner = FrameThinner()
        var next = 0
        var missed = 0
        var lastTime = start
        while true {
            let due = start + rate.time(ofFrame: next)
            guard wait(until: due) else { return }
            // The first frame sets the grid, so it is never late. A clock read right at a deadline may be a hair early:
            // the frame that was waited for is due in any case.
            let latest = next == 0 ? 0 : max(next, rate.frame(at: MonotonicClock.now - start))
            let index = min(latest - next > patience ? latest : next, end)
            let time = start + rate.time(ofFrame: index)
            let wanted = consumer.wantedFrameRate
            missed += index - next
            next = index + 1
            guard index == end || thinner.keep(time, rate: wanted) else { continue }
            // Of those that were missed, the ones that would not have been left out.
            let skipped = wanted.map { min(missed, max(0, $0.frame(at: time - lastTime) - 1)) } ?? missed
            if skipped > 0 { consumer.didDrop(.captureLate, count: skipped) }
            guard index < end else { return }
            try step(PaceTick(index: index, time: time, skipped: skipped))
            missed = 0
            lastTime = time
        }
    }
}

extension CaptureRunner {
    /// Paces a source that needs not be opened.
    package func pace(
        _ rate: FrameRate, patience: Int = 0, into consumer: some CaptureConsumer,
        step: @escaping @Sendable (PaceTick, CaptureRun) -> Void
    ) throws(CaptureError) {
        try start(into: consumer) { run throws(CaptureError) in
            guard run.begin() else { return }
            try run.pace(rate, patience: patience, into: consumer) { tick in step(tick, run) }
        }
    }
}
