import EmisoraCore

/// What one client's signals to all may become together: a thousand copies of the longest would each be one message to
/// the allowance, and fill the lines of all who listen.
struct SignalBudget: Sendable {
    private var bytes: Double
    private var refilled: Instant
    private let limits: ServerLimits

    init(_ limits: ServerLimits, now: Instant) {
        self.limits = limits
        bytes = Double(limits.signalByteBurst)
        refilled = now
    }

    /// Whether so many bytes may go out now. They are taken only then.
    mutating func take(_ count: Int, now: Instant) -> Bool {
        let refill = (now - refilled).inSeconds * Double(limits.signalBytesPerSecond)
        bytes = min(Double(limits.signalByteBurst), bytes + max(0, refill))
        refilled = now
        // One alone may always go when nothing was said for long, in however large a room.
        guard bytes >= min(Double(count), Double(limits.signalByteBurst)) else { return false }
        bytes -= Double(count)
        return true
    }
}
