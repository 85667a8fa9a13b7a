import Glibc

/// A loop on a thread of its own.
///
/// `@unchecked Sendable`: the loop's own invariants make it safe, and the thread is joined once, by whoever takes this
/// out of its mutex.
struct ServerThread: @unchecked Sendable {
    let loop: ServerLoop
    private let thread: pthread_t

    init(running loop: ServerLoop) throws(SignalingServerError) {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(loop)
        guard pthread_create(&thread, nil, runServerLoop, argument.toOpaque()) == 0 else {
            argument.release()
            loop.discard()
            throw .failed("no thread could be started")
        }
        self.loop = loop
        self.thread = thread
    }

    /// Returns when the loop is over.
    func join() {
        pthread_join(thread, nil)
    }
}

/// Outside any type and any `main.swift`: a thread's entry must not inherit an actor.
private func runServerLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<ServerLoop>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
