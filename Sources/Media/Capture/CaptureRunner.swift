import Synchronization

/// What every capturer has of starting and stopping: it holds the run under way, at most one at a time.
///
/// ```swift
/// private let runner = CaptureRunner()
/// var isCapturing: Bool { runner.isCapturing }
/// func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
///     try runner.start(into: consumer) { [path] run throws(CaptureError) in
///         let device = try Device(path)
///         guard run.begin() else { return }
///         while !run.isStopRequested { … run.hand(frame, to: consumer) … }
///     }
/// }
/// func stop() { runner.stop() }
/// ```
///
/// The body must not hold the capturer: one that nobody refers to any more ends its run.
package final class CaptureRunner: Sendable {
    private let current = Mutex<CaptureRun?>(nil)

    package init() {}

    deinit {
        current.withLock { $0 }?.requestStop()
    }

    package var isCapturing: Bool { current.withLock { $0 }?.isCapturing ?? false }

    /// Why capturing ended by itself, if it did so for a reason, since the last start.
    package var failure: CaptureError? { current.withLock { $0 }?.failure }

    /// Runs `body` on a thread, and returns when it has begun to capture. When it returns or throws later without having
    /// been stopped, `consumer` is told.
    ///
    /// - Throws: What `body` throws before it begins; ``CaptureError/alreadyCapturing``, also while another start is
    ///   under way; ``CaptureError/stopped``.
    package func start(
        into consumer: some CaptureConsumer, _ body: @escaping CaptureRun.Body
    ) throws(CaptureError) {
        let run = CaptureRun(body) { [weak consumer] in consumer?.didEnd($0) }
        let former = try current.withLock { current throws(CaptureError) -> CaptureRun? in
            guard current?.isOver != false else { throw .alreadyCapturing }
            defer { current = run }
            return current
        }
        // One that ended by itself, or was told to on its own thread, may still have the device.
        former?.stop()
        try run.start()
    }

    /// Ends capturing and waits for that, unless called on the capturer's own thread. Ends a start that is under way.
    package func stop() {
        current.withLock { $0 }?.stop()
    }
}
