import Glibc

/// What has a thread of its own until it is asked to end.
protocol ThreadBody: AnyObject {
    func run()
    /// It gets no thread: lets go of what `run` would.
    func discard()
}

extension ThreadBody {
    func discard() {}
}

/// A thread of the server's: its loop, that of the metrics, or the backplane.
///
/// `@unchecked Sendable`: the body's own invariants make it safe, and the thread is joined once, by whoever takes this out
/// of its mutex.
struct ServerThread<Body: ThreadBody>: @unchecked Sendable {
    let body: Body
    private let thread: pthread_t

    init(running body: Body) throws(SignalingServerError) {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(ThreadStart(body))
        guard pthread_create(&thread, nil, runThread, argument.toOpaque()) == 0 else {
            argument.release()
            body.discard()
            throw .failed("no thread could be started")
        }
        self.body = body
        self.thread = thread
    }

    /// Returns when the body is over.
    func join() {
        pthread_join(thread, nil)
    }
}

private final class ThreadStart {
    let body: any ThreadBody

    init(_ body: any ThreadBody) { self.body = body }
}

/// Outside any type and any `main.swift`: a thread's entry must not inherit an actor.
private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue().body.run()
    return nil
}
