import EmisoraCore
import EmisoraVideo
import Synchronization

/// Calls a closure at a steady rate on a thread of its own, for capturers that make or fetch their pictures themselves.
///
/// Due times are computed from the start, so they do not drift. Whoever is late skips what is past; the skipped ticks
/// are told with the next one. `stop` returns at once and after the closure has ended.
public final class PacedCapture: Sendable {
    /// One call of the closure.
    public struct Tick: Sendable {
        /// Counts due times from zero, skipped ones included.
        public let index: Int64
        /// When it was due: the timestamp for the picture.
        public let timestamp: Instant
        /// Due times that were skipped since the last call because it took too long.
        public let skipped: Int
    }

    public let rate: FrameRate
    private let thread = MediaThread()

    public init(rate: FrameRate) {
        self.rate = rate
    }

    public var isRunning: Bool { thread.isRunning }

    /// Begins to call `body`.
    public func start(_ body: @escaping @Sendable (Tick) -> Void) throws(CaptureError) {
        let rate = rate
        let started = thread.start { thread in
            let origin = MonotonicTime.now()
            var index: Int64 = 0
            var skipped = 0
            while thread.wait(until: origin + rate.offset(ofFrame: index)) {
                body(Tick(index: index, timestamp: origin + rate.offset(ofFrame: index), skipped: skipped))
                index += 1
                skipped = 0
                let now = MonotonicTime.now()
                while origin + rate.offset(ofFrame: index + 1) <= now {
                    index += 1
                    skipped += 1
                }
            }
        }
        guard started else { throw .alreadyStarted }
    }

    /// Ends the calls. May be called from the closure, and repeatedly.
    public func stop() {
        thread.stop()
    }
}
