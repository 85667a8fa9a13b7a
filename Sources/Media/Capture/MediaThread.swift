import EmisoraCore
import Glibc

/// A thread that media is made, coded or shown on. It sleeps until an instant, until it is woken, or until it is told
/// to stop.
///
/// `stop` returns when the body has ended, from any thread, repeatedly and concurrently; called on the thread itself it
/// only asks it to end. After its end the thread can be started anew.
package final class MediaThread: Sendable {
    private enum Phase {
        case idle
        case running
        case stopping
    }

    private struct State: Sendable {
        var phase = Phase.idle
        /// Counts the starts, so that who waits for the end of one run does not wait for the next one's.
        var run = 0
        var isWoken = false
        var thread: pthread_t?
    }

    private let monitor = Monitor(State())

    package init() {}

    package var isRunning: Bool { monitor.withLock { $0.phase == .running } }

    /// Whether the body was told to end.
    package var isStopRequested: Bool { monitor.withLock { $0.phase == .stopping } }

    /// Runs `body` on a new thread, which alone keeps what `body` holds.
    ///
    /// - Returns: `false` if an earlier body has not ended.
    /// - Throws: ``CaptureError/system(operation:code:)`` if the system refuses another thread.
    @discardableResult
    package func start(_ body: @escaping @Sendable (MediaThread) -> Void) throws(CaptureError) -> Bool {
        let isFree = monitor.withLock { state in
            guard state.phase == .idle else { return false }
            state = State(phase: .running, run: state.run + 1)
            return true
        }
        guard isFree else { return false }
        let code = startDetachedThread { [self] in run(body) }
        guard code == 0 else {
            end()
            throw .system(operation: "start a thread", code: code)
        }
        return true
    }

    private func run(_ body: (MediaThread) -> Void) {
        monitor.withLock { $0.thread = pthread_self() }
        body(self)
        end()
    }

    private func end() {
        monitor.withLock { state in
            state.phase = .idle
            state.thread = nil
        }
        monitor.notifyAll()
    }

    /// Asks the body to end and waits for it.
    package func stop() {
        guard let run = requestStop() else { return }
        _ = monitor.wait(until: .distantFuture) { $0.phase == .idle || $0.run != run ? true : nil }
    }

    /// Asks the body to end.
    ///
    /// - Returns: Which run to wait for; `nil` if there is none, or if this is called on the thread itself.
    @discardableResult
    package func requestStop() -> Int? {
        let run = monitor.withLock { state -> Int? in
            guard state.phase != .idle else { return nil }
            state.phase = .stopping
            let isOwnThread = state.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
            return isOwnThread ? nil : state.run
        }
        monitor.notifyAll()
        return run
    }

    /// Ends the next or the current `waitForWork`. Never blocks for long.
    package func wake() {
        monitor.withLock { $0.isWoken = true }
        monitor.notifyAll()
    }

    /// Sleeps until `wake`, or until `deadline`; `false` as soon as the thread is to end.
    package func waitForWork(until deadline: Instant = .distantFuture) -> Bool {
        let hasWork = monitor.wait(until: deadline) { state -> Bool? in
            guard state.phase == .running else { return false }
            guard state.isWoken else { return nil }
            state.isWoken = false
            return true
        }
        return hasWork ?? true
    }

    /// Sleeps until `deadline`; `false` as soon as the thread is to end.
    package func wait(until deadline: Instant) -> Bool {
        monitor.wait(until: deadline) { $0.phase == .running ? nil : false } ?? true
    }
}

/// Runs `body` on a thread that cleans up after itself; returns the system's error, or 0.
private func startDetachedThread(_ body: @escaping @Sendable () -> Void) -> Int32 {
    let box = Unmanaged.passRetained(ThreadBody(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let code = pthread_create(&thread, &attributes, runThreadBody, box.toOpaque())
    if code != 0 { box.release() }
    return code
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// A thread's entry, outside any type: closures may inherit an actor, which a new thread is not on.
private func runThreadBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
    return nil
}
