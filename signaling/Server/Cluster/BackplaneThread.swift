import Glibc

/// A backplane on a thread of its own.
///
/// `@unchecked Sendable`: the backplane's own invariants make it safe, and the thread is joined once, by whoever takes
/// this out of its mutex.
struct BackplaneThread: @unchecked Sendable {
    private let backplane: RedisBackplane
    private let thread: pthread_t

    init(running backplane: RedisBackplane) throws(SignalingServerError) {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(backplane)
        guard pthread_create(&thread, nil, runBackplane, argument.toOpaque()) == 0 else {
            argument.release()
            throw .failed("no thread could be started")
        }
        self.backplane = backplane
        self.thread = thread
    }

    /// Returns when what was sent has gone out.
    func end() {
        backplane.requestStop()
        pthread_join(thread, nil)
    }
}

/// Outside any type and any `main.swift`: a thread's entry must not inherit an actor.
private func runBackplane(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<RedisBackplane>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
