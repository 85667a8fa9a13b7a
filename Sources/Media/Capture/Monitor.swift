import EmisoraCore
import Glibc

/// A value behind a lock that threads can wait on, with deadlines on the monotonic clock.
///
/// `Synchronization.Mutex` has no condition variable; this is the one place that has.
package final class Monitor<State: Sendable>: @unchecked Sendable {
    // Invariant: `state` is touched only with `mutex` locked.

    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Wakes all that wait, to look at the state anew.
    package func notifyAll() {
        pthread_cond_broadcast(condition)
    }

    /// Calls `poll` with the lock held, now and after each notification, until it returns a value or `deadline`
    /// passes (then `nil`).
    package func wait<Result>(until deadline: Instant, poll: (inout State) -> Result?) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var time = deadline.timespec
        while true {
            if let result = poll(&state) { return result }
            if deadline == .distantFuture {
                pthread_cond_wait(condition, mutex)
            } else if pthread_cond_timedwait(condition, mutex, &time) != 0 {
                return poll(&state)
            }
        }
    }
}
