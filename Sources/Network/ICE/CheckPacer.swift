import EmisoraCore

/// Spaces new connectivity checks of all agents that share it (RFC 8445 §14.2: at least 5 ms process-wide), so that
/// many viewers joining at once do not flood the path. Confined to the thread of its agents.
package final class CheckPacer {
    private let interval: Duration
    /// When a new check may start at the earliest.
    private(set) var nextSlot = Instant(nanoseconds: .min)

    package init(interval: Duration = .milliseconds(5)) {
        self.interval = max(interval, .milliseconds(5))
    }

    /// Takes the slot at `now`; answers whether it was free.
    func take(now: Instant) -> Bool {
        guard now >= nextSlot else { return false }
        nextSlot = now + interval
        return true
    }
}
