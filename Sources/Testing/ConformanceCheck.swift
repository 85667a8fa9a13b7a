/// What is looked at. Raw values are the names in reports.
public enum ConformanceCheck: String, CaseIterable, Hashable, Sendable {
    /// It starts and stops fifty times, `isCapturing` tells the truth, frames come after each start.
    case startAndStop
    /// `start` while capturing throws ``CaptureError/alreadyCapturing``, and changes nothing.
    case doubleStart
    /// `stop` before any start, twice, and from several threads at once does no harm.
    case repeatedStop
    /// `stop` while `start` is under way: both return, and what `isCapturing` says then is true.
    case stopDuringStart
    /// `stop` from within the capturer's own call to the consumer returns, and ends capturing.
    case stopFromConsumer
    /// No frame is handed over once `stop` has returned.
    case framesAfterStop
    /// Descriptors, threads and the consumer are let go of by `stop`.
    case resources
    /// A capturer whose last reference goes while capturing ends. Needs the variant that makes capturers.
    case abandonment
    /// Frames are what ``VideoCapture/format`` says, and their planes are apart.
    case format
    /// Pictures are written whole: what was in the pool's memory before does not show. Pictures only.
    case pixels
    /// Frames that are still in use keep their content and neither stop the source nor hold up `stop`. Pictures only.
    case heldFrames
    /// Timestamps rise, lie on ``MonotonicClock``, and go as fast as it; those of sound follow one another gaplessly.
    case timestamps
    /// As many frames a second as the format says, counting those reported as dropped or lost. Pictures only: sound
    /// whose timestamps are right has the right rate.
    case frameRate
    /// `consume` is called by one thread at a time.
    case threading
    /// ``VideoWants`` are answered well, if they are answered at all. Pictures only.
    case wants
    /// Handing over a frame does not cost a processor core, and letting go of one does not hold up the encoder.
    case cost

    /// Those that judge how fast frames come and what they cost: to be left out of
    /// ``ConformanceOptions/checks`` under sanitizers and profilers.
    public static let timed: Set<ConformanceCheck> = [.frameRate, .wants, .cost]
}
