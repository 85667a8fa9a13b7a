import EmisoraCore
import EmisoraSignalingProtocol

/// Signals on their way to the server, in their order, no faster than it takes them: who says too much at once would
/// lose the connection, and all that is on its way with it.
struct SignalOutbox {
    /// Signals that may wait.
    static let capacity = 1_000
    /// How many may go at once, and a second in the long run: about half of what a server takes of one client, since
    /// the rest of signaling goes the same way.
    static let burst = 250.0
    static let perSecond = 50.0

    private var waiting: [RoutedSignal] = []
    private var next = 0
    private var allowance = Self.burst
    private var refilled: Instant?

    var count: Int { waiting.count - next }

    /// - Returns: Whether there was room for it.
    mutating func push(_ signal: RoutedSignal) -> Bool {
        guard count < Self.capacity else { return false }
        waiting.append(signal)
        return true
    }

    /// The next one that may go now.
    mutating func poll(now: Instant) -> RoutedSignal? {
        refill(now: now)
        guard count > 0, allowance >= 1 else { return nil }
        allowance -= 1
        defer {
            next += 1
            if next == waiting.count {
                waiting.removeAll(keepingCapacity: true)
                next = 0
            }
        }
        return waiting[next]
    }

    /// When the next one may go; `nil`: none waits.
    func nextDeadline(now: Instant) -> Instant? {
        guard count > 0 else { return nil }
        let missing = max(0, 1 - allowance)
        // Rounded up, so that the turn it brings finds the allowance there.
        return (refilled ?? now) + .nanoseconds(Int64((missing / Self.perSecond * 1e9).rounded(.up)))
    }

    private mutating func refill(now: Instant) {
        let elapsed = refilled.map { max(0, (now - $0).inSeconds) } ?? 0
        allowance = min(Self.burst, allowance + elapsed * Self.perSecond)
        refilled = now
    }
}
