import Synchronization

/// When to make another attempt, and whether: exponential back-off with full jitter, so that the clients of a server that
/// comes back spread over the whole time instead of coming in waves.
///
/// ```swift
/// var schedule = ReconnectSchedule(firstDelay: .milliseconds(250))
/// let pause = schedule.next(using: &random)  // nil: no more attempts
/// schedule.reset()                           // it worked
/// ```
package struct ReconnectSchedule: Equatable, Sendable {
    /// No pause is longer, whatever is asked for.
    package static let longestDelay: Duration = .seconds(5)

    /// Attempts that failed in a row, or lost connections that did not serve.
    package private(set) var attempts = 0
    private let firstDelay: Duration
    private let maximumAttempts: Int?

    /// - Parameters:
    ///   - firstDelay: what the first pause is at the most; it doubles with each attempt, eightfold at the most.
    ///   - maximumAttempts: attempts in a row, 0 for none; `nil`: for ever.
    package init(firstDelay: Duration = .milliseconds(250), maximumAttempts: Int? = nil) {
        self.firstDelay = max(.zero, min(firstDelay, Self.longestDelay))
        self.maximumAttempts = maximumAttempts
    }

    /// The pause before the next attempt, anything from zero on; `nil` when there is to be none.
    package mutating func next(using random: inout some RandomNumberGenerator) -> Duration? {
        if let maximumAttempts, attempts >= maximumAttempts { return nil }
        let bound = min(firstDelay * (1 << min(attempts, 3)), Self.longestDelay)
        attempts += 1
        return bound * Double.random(in: 0...1, using: &random)
    }

    package mutating func reset() { attempts = 0 }
}

/// The schedule of one client, asked from any thread.
package final class ReconnectDelay: Sendable {
    /// What came of the last failure.
    package enum Outlook: Equatable, Sendable {
        /// The attempt of that number follows.
        case attempt(Int)
        /// That many were made, and there are no more.
        case exhausted(Int)
    }

    private let state: Mutex<(schedule: ReconnectSchedule, outlook: Outlook)>

    package init(_ schedule: ReconnectSchedule = ReconnectSchedule()) {
        state = Mutex((schedule, .attempt(0)))
    }

    package var outlook: Outlook { state.withLock { $0.outlook } }

    func next() -> Duration? {
        state.withLock { state in
            var random = SystemRandomNumberGenerator()
            let delay = state.schedule.next(using: &random)
            let attempts = state.schedule.attempts
            state.outlook = delay == nil ? .exhausted(attempts) : .attempt(attempts)
            return delay
        }
    }

    /// The server did what the connection is for: the next attempt comes soon.
    package func reset() {
        state.withLock { state in
            state.schedule.reset()
            // One that gave up already makes no more attempts.
            if case .attempt = state.outlook { state.outlook = .attempt(1) }
        }
    }
}
