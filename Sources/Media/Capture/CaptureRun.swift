import EmisoraCore

/// One run of a capturer: a thread of its own, from `start` to `stop` or to the end of its source.
///
/// All of a capturer's work is done on that thread, the opening of its source, too, so that `stop` need only end what the
/// thread waits for, whatever it is at.
///
///     opening ──begin()──▶ capturing ──stop, or the body returns or throws──▶ over
///        └─────stop, or the body throws: `start` throws─────────────────────▶ over
package final class CaptureRun: Sendable {
    /// Opens the source, calls ``begin()``, captures until it finds ``isStopRequested`` or the source has ended.
    package typealias Body = @Sendable (CaptureRun) throws(CaptureError) -> Void

    private struct State: Sendable {
        var body: Body?
        /// Told of an end that nobody asked for.
        var onEnd: (@Sendable (CaptureError?) -> Void)?
        var onStop: (@Sendable () -> Void)?
        /// What `start` is to answer, as soon as it is known.
        var outcome: Result<Void, CaptureError>?
        var isStopRequested = false
        var isOver = false
        var hasEndedByItself = false
        var failure: CaptureError?

        var hasBegun: Bool { if case .success = outcome { true } else { false } }

        mutating func end(_ failure: CaptureError?) {
            guard !isOver else { return }
            isOver = true
            if !hasBegun {
                outcome = .failure(isStopRequested ? .stopped : failure ?? .stopped)
            } else if !isStopRequested {
                hasEndedByItself = true
                self.failure = failure
            }
        }
    }

    private let state: Monitor<State>
    private let thread = MediaThread()

    init(_ body: @escaping Body, onEnd: @escaping @Sendable (CaptureError?) -> Void) {
        state = Monitor(State(body: body, onEnd: onEnd))
    }

    // MARK: For the body

    /// Whether to end; who finds it so hands over nothing more.
    package var isStopRequested: Bool { state.withLock { $0.isStopRequested } }

    /// The source is open: `start` returns.
    ///
    /// - Returns: `false` if it was stopped meanwhile.
    package func begin() -> Bool {
        let hasBegun = state.withLock { state in
            guard !state.isStopRequested else { return false }
            state.outcome = .success(())
            return true
        }
        state.notifyAll()
        return hasBegun
    }

    /// Sleeps until `deadline`; `false` as soon as the run is to end.
    package func wait(until deadline: Instant) -> Bool { thread.wait(until: deadline) }

    /// What ends the body's other waits, in place of what was said before. Called once by whoever stops the run, at once
    /// if that has happened.
    package func onStop(_ action: @escaping @Sendable () -> Void) {
        let isTooLate = state.withLock { state in
            if !state.isStopRequested { state.onStop = action }
            return state.isStopRequested
        }
        if isTooLate { action() }
    }

    /// Hands over a frame, unless making it has taken until after a `stop`.
    package func hand<Consumer: CaptureConsumer>(_ frame: Consumer.Frame, to consumer: Consumer) {
        if isStopRequested {
            consumer.didDrop(.captureStopped, count: 1)
        } else {
            consumer.consume(frame)
        }
    }

    /// The source has ended by itself, for a body that has more to do before it returns.
    package func end(_ failure: CaptureError?) {
        state.withLock { $0.end(failure) }
    }

    // MARK: For the capturer

    /// From a successful start to its end.
    var isCapturing: Bool { state.withLock { $0.hasBegun && !$0.isStopRequested && !$0.isOver } }

    /// Whether nothing comes of it any more, though its thread may still be there.
    var isOver: Bool { state.withLock { $0.isStopRequested || $0.isOver } }

    /// Why it ended by itself, if it did so for a reason.
    var failure: CaptureError? { state.withLock { $0.failure } }

    /// Returns when the source is open, or cannot be opened; nothing is held after an error.
    func start() throws(CaptureError) {
        do throws(CaptureError) {
            try thread.start { [self] _ in main() }
        } catch {
            state.withLock { state in
                state.end(error)
                state.body = nil
                state.onEnd = nil
            }
        }
        let outcome = state.wait(until: .distantFuture) { $0.outcome }
        guard case .failure(let error) = outcome else { return }
        thread.stop()
        throw error
    }

    /// Ends the run and waits for its thread, unless called on that.
    func stop() {
        requestStop()
        thread.stop()
    }

    func requestStop() {
        let action = state.withLock { state in
            state.isStopRequested = true
            return state.onStop.take()
        }
        thread.requestStop()
        action?()
    }

    // MARK: On its thread

    private func main() {
        let failure = capture()
        let (onEnd, onStop) = state.withLock { state in
            state.end(failure)
            let onEnd = state.onEnd.take()
            return (state.hasEndedByItself ? onEnd : nil, state.onStop.take())
        }
        state.notifyAll()
        withExtendedLifetime(onStop) {}
        onEnd?(state.withLock { $0.failure })
    }

    /// What the body holds goes with this call, before anyone who waits for the thread goes on.
    private func capture() -> CaptureError? {
        guard let body = state.withLock({ $0.isStopRequested ? nil : $0.body.take() }) else { return nil }
        do throws(CaptureError) {
            try body(self)
            return nil
        } catch {
            return error
        }
    }
}
