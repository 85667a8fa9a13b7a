import EmisoraCore

/// When picture and sound give a sign together: the picture flashes and the tone clicks, so that the distance between
/// them can be measured at the far end.
public enum ClickTrack: Hashable, Sendable {
    /// Whenever the monotonic clock passes a multiple of this duration (at least a millisecond). Capturers on one
    /// machine click together without knowing each other.
    case every(Duration)
    /// Once, at the frame of this number, counted from 0.
    case frame(Int)

    /// How long after `start` the click within a frame that lasts `duration` comes; `nil` if there is none.
    func click(inFrame index: Int, start: Instant, duration: Duration) -> Duration? {
        switch self {
        case .frame(let number):
            return number == index ? .zero : nil
        case .every(let period):
            let period = max(period.nanoseconds, 1_000_000)
            let past = start.nanoseconds % period
            let wait = past <= 0 ? -past : period - past
            return wait < duration.nanoseconds ? .nanoseconds(wait) : nil
        }
    }
}
