import EmisoraCore
import Synchronization

/// The instants at which a picture flashes and a tone clicks, shared by a `PatternCapture` and a `ToneCapture`: what
/// lip-sync is measured with.
public final class ClickTrack: Sendable {
    private static let limit = 64
    private let instants = Mutex<[Instant]>([])

    public init() {}

    func add(_ instant: Instant) {
        instants.withLock { instants in
            if instants.count == Self.limit { instants.removeFirst() }
            instants.append(instant)
        }
    }

    /// Takes the clicks that lie before `end`.
    func take(before end: Instant) -> [Instant] {
        instants.withLock { instants in
            let due = instants.filter { $0 < end }
            instants.removeAll { $0 < end }
            return due
        }
    }
}
