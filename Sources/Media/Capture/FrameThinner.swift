import EmisoraCore
import EmisoraVideo

/// Chooses which frames of a stream to keep so that a rate is not exceeded on average: evenly, exactly over any time,
/// and without leaving out anything when frames merely jitter around that rate.
///
/// A capturer asks one before it makes a picture, with what ``VideoCaptureConsumer/wants`` says at that moment; the
/// consumer asks its own about what is handed over, and finds nothing left to drop.
package struct FrameThinner: Sendable {
    /// Where the kept frames are due: at `anchor + next / rate`.
    private struct Grid: Sendable {
        var rate: FrameRate
        var anchor: Instant
        var next = 1
        var lastKept: Instant

        init(_ rate: FrameRate, anchor: Instant) {
            self.rate = rate
            self.anchor = anchor
            lastKept = anchor
        }

        var due: Instant { anchor + rate.time(ofFrame: next) }
    }

    private var grid: Grid?

    package init() {}

    /// Whether the frame taken at `timestamp` belongs to a stream of at most `rate`; `nil` is any rate.
    package mutating func keep(_ timestamp: Instant, rate: FrameRate?) -> Bool {
        guard let rate else {
            grid = nil
            return true
        }
        guard var grid else { return begin(at: timestamp, rate) }
        // What is wanted has changed: the last frame counts, a due time far ahead does not.
        if grid.rate != rate { grid = Grid(rate, anchor: grid.lastKept) }
        self.grid = grid
        let (due, interval) = (grid.due, rate.interval)
        // After a gap, or a step back of the clock, there is nothing to make up for.
        guard timestamp >= due - interval * 2, timestamp <= due + interval else { return begin(at: timestamp, rate) }
        guard timestamp >= due - interval * 3 / 8 else { return false }
        grid.next += 1
        grid.lastKept = timestamp
        self.grid = grid
        return true
    }

    private mutating func begin(at timestamp: Instant, _ rate: FrameRate) -> Bool {
        grid = Grid(rate, anchor: timestamp)
        return true
    }
}
