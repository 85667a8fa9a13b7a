import EmisoraCore

/// Counts when pictures stand still for longer than their rhythm explains, as W3C webrtc-stats defines `freezeCount`.
struct FreezeDetector: Sendable {
    /// Intervals that the rhythm is taken from.
    private static let memory = 30
    private static let allowance: Duration = .milliseconds(150)

    private(set) var freezeCount: UInt64 = 0
    private(set) var totalFreezesDuration: Duration = .zero

    private var intervals: [Duration] = []
    private var lastShownAt: Instant?

    /// A picture is shown.
    mutating func show(now: Instant) {
        defer { lastShownAt = now }
        guard let lastShownAt else { return }
        let interval = now - lastShownAt
        if !intervals.isEmpty {
            let mean = intervals.reduce(.zero, +) / intervals.count
            if interval >= max(mean * 3, mean + Self.allowance) {
                freezeCount += 1
                totalFreezesDuration += interval
            }
        }
        intervals.append(interval)
        if intervals.count > Self.memory { intervals.removeFirst() }
    }
}
