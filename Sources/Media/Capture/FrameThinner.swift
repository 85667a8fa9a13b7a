import EmisoraCore
import EmisoraVideo

/// Chooses which frames of a stream to keep so that a rate is not exceeded on average, evenly, and without dropping
/// anything when frames merely jitter around that rate.
struct FrameThinner: Sendable {
    private var due: Instant?

    /// Whether the frame taken at `timestamp` belongs to a stream of at most `rate`.
    mutating func keep(_ timestamp: Instant, rate: FrameRate?) -> Bool {
        guard let rate else {
            due = nil
            return true
        }
        let interval = rate.interval
        guard let expected = due else {
            due = timestamp + interval
            return true
        }
        // A due time far ahead stems from a much lower rate that was wanted before.
        let isStale = expected - timestamp > interval * 2
        guard isStale || timestamp >= expected - interval * 3 / 8 else { return false }
        due = isStale || timestamp > expected + interval ? timestamp + interval : expected + interval
        return true
    }
}
