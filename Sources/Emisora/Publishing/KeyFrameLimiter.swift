import EmisoraCore

/// Turns everybody's wishes for a key frame into few: requests within half a second of one are one.
struct KeyFrameLimiter {
    static let interval: Duration = .milliseconds(500)

    private var isWanted = false
    private var lastKeyFrameAt: Instant?

    mutating func request() {
        isWanted = true
    }

    /// Whether the encoder shall be told now.
    mutating func poll(now: Instant) -> Bool {
        guard isWanted, deadline(now: now) <= now else { return false }
        isWanted = false
        lastKeyFrameAt = now
        return true
    }

    /// A key frame went out, for whatever reason.
    mutating func didProduceKeyFrame(now: Instant) {
        lastKeyFrameAt = now
        isWanted = false
    }

    /// When `poll` will answer yes; `nil` when nothing is wanted.
    func nextDeadline(now: Instant) -> Instant? { isWanted ? deadline(now: now) : nil }

    private func deadline(now: Instant) -> Instant {
        lastKeyFrameAt.map { $0 + Self.interval } ?? now
    }
}
