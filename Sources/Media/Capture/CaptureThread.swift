import EmisoraCore
import Glibc
import Synchronization

/// A thread with a condition that it can sleep on until an instant or until it is told to stop.
///
/// `stop` returns when the body has ended, from any thread; called on the thread itself it only asks it to end.
final class CaptureThread: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: `mutex` guards all of `phase`; the pthread objects are heap-allocated and
    // are only used through their own calls.
    private enum Phase {
        case idle
        case running
        case stopping
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var phase = Phase.idle
    private var thread: pthread_t?
    private var body: ((CaptureThread) -> Void)?

    init() {
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

    private func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    var isRunning: Bool { withLock { phase == .running } }

    /// Runs `body` on a new thread; `false` when one is running or the system refuses another thread.
    func start(_ body: @escaping (CaptureThread) -> Void) -> Bool {
        withLock {
            guard phase == .idle else { return false }
            self.body = body
            let context = Unmanaged.passRetained(self)
            var created = pthread_t()
            let status = pthread_create(
                &created, nil,
                { context in
                    guard let context else { return nil }
                    let thread = Unmanaged<CaptureThread>.fromOpaque(context).takeRetainedValue()
                    let body = thread.withLock { thread.body.take() }
                    body?(thread)
                    thread.withLock {
                        if thread.phase == .running { thread.phase = .stopping }
                    }
                    return nil
                }, context.toOpaque())
            guard status == 0 else {
                context.release()
                self.body = nil
                return false
            }
            thread = created
            phase = .running
            return true
        }
    }

    /// Asks the body to end and waits for it. Repeated and concurrent calls all return after the end.
    func stop() {
        pthread_mutex_lock(mutex)
        guard let thread else {
            pthread_mutex_unlock(mutex)
            return
        }
        phase = .stopping
        pthread_cond_broadcast(condition)
        if pthread_equal(thread, pthread_self()) != 0 {
            pthread_mutex_unlock(mutex)
            return
        }
        if isJoining {
            while self.thread != nil { pthread_cond_wait(condition, mutex) }
            pthread_mutex_unlock(mutex)
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
        pthread_mutex_unlock(mutex)
    }

    private var isJoining = false

    /// Sleeps until `deadline`; `false` as soon as the thread is to end.
    func wait(until deadline: Instant) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var time = timespec(
            tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
        while phase == .running {
            if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return phase == .running }
        }
        return false
    }
}
