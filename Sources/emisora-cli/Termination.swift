import Glibc
import Synchronization

/// SIGINT and SIGTERM as something to wait for.
///
/// `install` must run before any thread starts, so that all of them have the signals blocked and one alone takes them.
enum Termination {
    private struct State {
        var isRequested = false
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private static let state = Mutex(State())

    static func install() {
        signal(SIGPIPE, SIG_IGN)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        var thread = pthread_t()
        if pthread_create(&thread, nil, waitForTerminationSignal, nil) == 0 { pthread_detach(thread) }
    }

    static var isRequested: Bool { state.withLock { $0.isRequested } }

    /// Returns when one of the signals has come, or when the task is cancelled.
    static func wait() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let isRequested = state.withLock { state in
            state.waiting.append(continuation)
            return state.isRequested
        }
        if isRequested { continuation.yield() }
        for await _ in stream { return }
    }

    /// Runs `operation`, whose task is cancelled when one of the signals comes.
    static func cancelling<Result: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await operation() }
        let watch = Task {
            await wait()
            if isRequested { task.cancel() }
        }
        defer { watch.cancel() }
        return try await task.value
    }

    fileprivate static func request() {
        let waiting = state.withLock { state in
            defer { state.waiting.removeAll() }
            state.isRequested = true
            return state.waiting
        }
        for continuation in waiting { continuation.yield() }
    }
}

/// A thread's entry, outside any type: closures may inherit an actor, which a new thread is not on.
private func waitForTerminationSignal(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    while true {
        var number: Int32 = 0
        guard sigwait(&signals, &number) == 0 else { return nil }
        // A second signal ends a program that does not end by itself.
        if Termination.isRequested { _exit(128 + number) }
        Termination.request()
    }
}
