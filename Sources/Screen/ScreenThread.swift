import EmisoraCapture
import EmisoraCore
import Glibc

/// Runs `body`, which talks to an X server, on a thread of its own and waits for it.
func askServer<Answer: Sendable>(
    _ body: @escaping @Sendable () throws(ScreenError) -> Answer
) throws(ScreenError) -> Answer {
    let answer = Monitor<Result<Answer, ScreenError>?>(nil)
    do throws(CaptureError) {
        try MediaThread().start { _ in
            blockBrokenPipeSignal()
            let result: Result<Answer, ScreenError>
            do throws(ScreenError) { result = .success(try body()) } catch { result = .failure(error) }
            answer.withLock { $0 = result }
            answer.notifyAll()
        }
    } catch {
        guard case .system(_, let code) = error else { throw .noThread(code: EAGAIN) }
        throw .noThread(code: code)
    }
    while true {
        if let result = answer.wait(until: .distantFuture, poll: { $0 }) { return try result.get() }
    }
}

/// xcb writes to a socket whose server may be gone; the signal that this raises would end the program.
func blockBrokenPipeSignal() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
}
