import EmisoraCore

/// When to look after a camera or microphone that does not deliver, and what to do about it. Knows no device and no clock.
///
/// ```
///                 stall                 stall
///  ┌─────────┐ ──────────▶ ┌─────────┐ ─────────▶ ┌──────┐ ◀─┐ attempt failed: again in 0.5 s if its node exists,
///  │streaming│   restart   │restarted│   close    │ away │ ──┘ else on a change of nodes or after 0.5, 1 … 8 s
///  └─────────┘ ◀────────── └─────────┘            └──────┘
///    ▲  │ │        frame                           ▲   │
///    │  │ └─────────────── failure, close ──────────┘   │
///    └──┴──────────────── attempt succeeded ────────────┘
/// ```
package struct CaptureRecovery: Sendable {
    /// How long after an attempt the next one comes while the node exists.
    static let retry = Duration.milliseconds(500)
    /// The longest wait while it does not.
    static let longestWait = Duration.seconds(8)
    /// Nodes change several times when a camera is plugged in: attempts keep this distance all the same.
    static let shortestWait = Duration.milliseconds(250)

    package enum Action: Hashable, Sendable {
        /// Stop and start the stream with the buffers there are.
        case restart
        /// Close the camera; an attempt follows.
        case close
        /// Try to open the camera; among all nodes if `everywhere`.
        case attempt(everywhere: Bool)
    }

    private enum State: Hashable, Sendable {
        case streaming(since: Instant)
        case restarted(at: Instant)
        case away(next: Instant, wait: Duration, everywhere: Bool)
    }

    /// How long a camera may be silent.
    private var patience: Duration
    private var state: State
    private var lastAttempt: Instant?
    package private(set) var interruptedSince: Instant?

    /// - Parameters:
    ///   - interval: How long a frame lasts; `nil` if that is not known.
    ///   - now: When the stream was started.
    package init(interval: Duration?, now: Instant) {
        patience = Self.patience(interval)
        state = .streaming(since: now)
    }

    var isAway: Bool {
        if case .away = state { true } else { false }
    }

    /// When ``due(_:)`` has something to do.
    package var deadline: Instant {
        switch state {
        case .streaming(let since): since + patience
        case .restarted(let at): at + patience
        case .away(let next, _, _): next
        }
    }

    /// What is to be done now, if anything.
    package mutating func due(_ now: Instant) -> Action? {
        guard now >= deadline else { return nil }
        switch state {
        case .streaming:
            state = .restarted(at: now)
            interruptedSince = interruptedSince ?? now
            return .restart
        case .restarted:
            return failed(now)
        case .away(_, let wait, let everywhere):
            lastAttempt = now
            // Until the outcome is reported; a driver that takes long must not be asked again meanwhile.
            state = .away(next: .distantFuture, wait: wait, everywhere: false)
            return .attempt(everywhere: everywhere)
        }
    }

    /// The device delivered something.
    ///
    /// - Parameter isMedia: Whether there was a whole picture, or sound, in it.
    /// - Returns: How long the interruption was that it ended, if there was one.
    package mutating func frameCame(_ now: Instant, isMedia: Bool) -> Duration? {
        state = .streaming(since: now)
        guard isMedia, let since = interruptedSince else { return nil }
        interruptedSince = nil
        return now - since
    }

    /// The device failed, or its input changed: it is to be closed and opened anew, at once unless that was tried just
    /// now.
    package mutating func failed(_ now: Instant) -> Action {
        interruptedSince = interruptedSince ?? now
        let next = lastAttempt.map { max(now, $0 + Self.retry) } ?? now
        state = .away(next: next, wait: Self.retry, everywhere: true)
        return .close
    }

    /// Nothing is delivered for a reason that needs no action of this.
    package mutating func interruptionBegan(_ now: Instant) {
        interruptedSince = interruptedSince ?? now
    }

    package mutating func attemptFailed(_ now: Instant, nodeExists: Bool) {
        guard case .away(_, let wait, _) = state else { return }
        if nodeExists {
            state = .away(next: now + Self.retry, wait: Self.retry, everywhere: false)
        } else {
            state = .away(next: now + wait, wait: min(wait * 2, Self.longestWait), everywhere: true)
        }
    }

    package mutating func attemptSucceeded(_ now: Instant, interval: Duration?) {
        patience = Self.patience(interval)
        state = .streaming(since: now)
    }

    /// A node came, went or got other rights.
    mutating func nodesChanged(_ now: Instant) {
        guard case .away(let next, _, _) = state else { return }
        let earliest = lastAttempt.map { max(now, $0 + Self.shortestWait) } ?? now
        state = .away(next: min(next, earliest), wait: Self.retry, everywhere: true)
    }

    private static func patience(_ interval: Duration?) -> Duration {
        max(.seconds(1), (interval ?? .zero) * 5)
    }
}
