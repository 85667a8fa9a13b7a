import EmisoraCore
import Glibc

/// A thread of the media pipeline with a condition that it sleeps on: until an instant, until it is woken, or until it
/// is told to stop.
///
/// `stop` returns when the body has ended, from any thread, repeatedly and concurrently; called on the thread itself it
/// only asks it to end.
package final class MediaThread: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: `mutex` guards every variable below it; the pthread objects live on the
    // heap and are only used through their own calls.
    private enum Phase {
        case idle
        case running
        case stopping
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var phase = Phase.idle
    private var isWoken = false
    private var isJoining = false
    private var thread: pthread_t?
    private var body: ((MediaThread) -> Void)?

    package init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // The monotonic clock: setting the wall clock must not stall or rush pictures.
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

    package var isRunning: Bool { withLock { phase == .running } }

    /// Runs `body` on a new thread; `false` when one has not been stopped or the system refuses another thread.
    package func start(_ body: @escaping (MediaThread) -> Void) -> Bool {
        withLock {
            guard phase == .idle else { return false }
            self.body = body
            isWoken = false
            let context = Unmanaged.passRetained(self)
            var created = pthread_t()
            guard pthread_create(&created, nil, runMediaThread, context.toOpaque()) == 0 else {
                context.release()
                self.body = nil
                return false
            }
            thread = created
            phase = .running
            return true
        }
    }

    fileprivate func run() {
        let body = withLock { self.body.take() }
        body?(self)
        // A body that ended by itself still has to be joined by `stop`.
        withLock { phase = .stopping }
    }

    /// Asks the body to end and waits for it.
    package func stop() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard let thread else { return }
        phase = .stopping
        pthread_cond_broadcast(condition)
        if pthread_equal(thread, pthread_self()) != 0 { return }
        if isJoining {
            while self.thread != nil { pthread_cond_wait(condition, mutex) }
            return
        }
        isJoining = true
        pthread_mutex_unlock(mutex)
        pthread_join(thread, nil)
        pthread_mutex_lock(mutex)
        isJoining = false
        self.thread = nil
        phase = .idle
        pthread_cond_broadcast(condition)
    }

    /// Ends the next or the current `waitForWork`. Never blocks for long.
    package func wake() {
        withLock {
            isWoken = true
            pthread_cond_broadcast(condition)
        }
    }

    /// Sleeps until `wake`; `false` as soon as the thread is to end.
    package func waitForWork() -> Bool {
        withLock {
            while phase == .running, !isWoken { pthread_cond_wait(condition, mutex) }
            isWoken = false
            return phase == .running
        }
    }

    /// Sleeps until `deadline`; `false` as soon as the thread is to end.
    package func wait(until deadline: Instant) -> Bool {
        var time = timespec(
            tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
        return withLock {
            while phase == .running {
                if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return phase == .running }
            }
            return false
        }
    }

    private func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}

/// A thread's entry, outside any type: closures may inherit an actor, which a new thread is not on.
private func runMediaThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<MediaThread>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
