import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Glibc
import Synchronization

/// One run of a capturer, from its start to its stop or the end of its source. All talk with the X server is on the
/// run's own thread.
final class ScreenRun: Sendable {
    private struct State: Sendable {
        var connection: XConnection?
        var start: Result<Void, ScreenError>?
        var format: VideoFormat?
        var failure: ScreenError?
        /// Told to stop, or ended by itself.
        var isOver = false
    }

    private let options: ScreenOptions
    private let thread = MediaThread()
    private let state = Monitor(State())

    init(_ options: ScreenOptions) {
        self.options = options
    }

    /// From a successful start to its end.
    var isRunning: Bool {
        state.withLock { state in
            guard case .success = state.start else { return false }
            return !state.isOver
        }
    }
    var isOver: Bool { state.withLock { $0.isOver } }
    var format: VideoFormat? { state.withLock { $0.format } }
    var failure: ScreenError? { state.withLock { $0.failure } }

    /// Returns when capturing goes on, or cannot.
    func start(into consumer: VideoCaptureConsumer) throws(ScreenError) {
        do throws(CaptureError) {
            try thread.start { [self] _ in main(consumer) }
        } catch {
            state.withLock { $0.isOver = true }
            throw .thread(error)
        }
        let outcome = state.wait(until: .distantFuture) { $0.start }
        guard case .failure(let error) = outcome else { return }
        // Nothing is held after an error.
        thread.stop()
        throw error
    }

    func stop() {
        requestStop()
        thread.stop()
    }

    func requestStop() {
        thread.requestStop()
        let connection = state.withLock { state in
            state.isOver = true
            return state.connection
        }
        // Wakes the thread from all waits for the server.
        connection?.shutDown()
    }

    // MARK: On the run's thread

    private func main(_ consumer: VideoCaptureConsumer) {
        blockBrokenPipeSignal()
        let loop: ScreenLoop
        do throws(ScreenError) {
            let connection = try XConnection(display: options.display)
            state.withLock { $0.connection = connection }
            // One stop may have come before there was a connection to break, another may have broken it.
            guard !isOver else { throw .stopped }
            do throws(ScreenError) {
                loop = try ScreenLoop(connection, options, consumer)
            } catch {
                throw isOver ? .stopped : error
            }
        } catch {
            settle {
                $0.start = .failure(error)
                $0.isOver = true
                $0.connection = nil
            }
            return
        }
        settle {
            $0.format = loop.format
            $0.start = .success(())
        }
        var failure: ScreenError?
        do throws(ScreenError) {
            try loop.run(isOver: { isOver }, report: { format in state.withLock { $0.format = format } })
        } catch {
            failure = error
        }
        var hasEnded = false
        settle {
            // A connection that broke because of the stop is no failure.
            hasEnded = !$0.isOver
            if hasEnded { $0.failure = failure }
            $0.isOver = true
            $0.connection = nil
        }
        if hasEnded { consumer.didEnd(failure.map { .custom($0) }) }
    }

    private func settle(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        state.notifyAll()
    }
}

/// What a capturer was made with.
struct ScreenOptions: Sendable {
    var source: ScreenSource
    var display: String?
    var frameRate: FrameRate
    var showsCursor: Bool
    var keepAlive: Duration
}

/// Runs `body`, which talks to an X server, on a thread of its own and waits for it.
func askServer<Answer: Sendable>(
    _ body: @escaping @Sendable () throws(ScreenError) -> Answer
) throws(ScreenError) -> Answer {
    let answer = Mutex<Result<Answer, ScreenError>?>(nil)
    let thread = MediaThread()
    let done = Monitor(false)
    do throws(CaptureError) {
        try thread.start { _ in
            blockBrokenPipeSignal()
            let result: Result<Answer, ScreenError>
            do throws(ScreenError) { result = .success(try body()) } catch { result = .failure(error) }
            answer.withLock { $0 = result }
            done.withLock { $0 = true }
            done.notifyAll()
        }
    } catch {
        throw .thread(error)
    }
    _ = done.wait(until: .distantFuture) { $0 ? true : nil }
    guard let result = answer.withLock({ $0 }) else { throw .stopped }
    return try result.get()
}

/// xcb writes to a socket whose server may be gone; the signal that this raises would end the program.
private func blockBrokenPipeSignal() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
}

extension ScreenError {
    fileprivate static func thread(_ error: CaptureError) -> ScreenError {
        guard case .system(_, let code) = error else { return .stopped }
        return .noThread(code: code)
    }
}
