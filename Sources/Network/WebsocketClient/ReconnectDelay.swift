import Synchronization

/// How long to wait before another attempt: doubled with each, with up to 25 % taken off at random so that many clients
/// do not come back in one instant. From any thread.
package final class ReconnectDelay: Sendable {
    private let bounds: ClosedRange<Duration>
    private let current: Mutex<Duration>

    package init(_ bounds: ClosedRange<Duration> = .milliseconds(250)...(.seconds(2))) {
        self.bounds = bounds
        current = Mutex(bounds.lowerBound)
    }

    func next() -> Duration {
        let delay = current.withLock { current in
            defer { current = min(current * 2, bounds.upperBound) }
            return current
        }
        return delay * Double.random(in: 0.75...1)
    }

    /// The server did what the connection is for: the next attempt comes soon.
    package func reset() {
        current.withLock { $0 = bounds.lowerBound }
    }
}
