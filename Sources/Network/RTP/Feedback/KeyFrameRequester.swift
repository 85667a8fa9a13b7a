import EmisoraCore

/// Asks for a key frame once, and again only when none came in time.
package struct KeyFrameRequester: Equatable, Sendable {
    private enum State: Equatable, Sendable {
        case satisfied
        case wanted(askAt: Instant)
    }

    /// Changes what the next request does.
    package var retryInterval: Duration
    private var state: State = .satisfied

    package init(retryInterval: Duration = .seconds(1)) {
        self.retryInterval = retryInterval
    }

    /// Wants a key frame, to be asked for after `delay`. Already wanting one, this changes nothing.
    package mutating func want(after delay: Duration, now: Instant) {
        guard case .satisfied = state else { return }
        state = .wanted(askAt: now + delay)
    }

    /// Puts off the next request: a key frame has begun to arrive.
    package mutating func postpone(by delay: Duration, now: Instant) {
        guard case .wanted(let askAt) = state else { return }
        state = .wanted(askAt: max(askAt, now + delay))
    }

    package mutating func satisfy() {
        state = .satisfied
    }

    /// Whether to send a request now.
    package mutating func poll(now: Instant) -> Bool {
        guard case .wanted(let askAt) = state, askAt <= now else { return false }
        state = .wanted(askAt: now + retryInterval)
        return true
    }

    package var nextDeadline: Instant? {
        guard case .wanted(let askAt) = state else { return nil }
        return askAt
    }
}
