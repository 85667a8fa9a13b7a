import EmisoraAudio
import EmisoraCore

/// Where a capturer hands its sound: a short queue for the encoder, and a count of what became of each frame.
///
/// `consume` may be called from any one thread at a time; everything else from any thread.
public final class AudioCaptureConsumer: FateKeeper, Sendable {
    /// How many frames wait at most; when one more comes, the oldest goes. 16 frames of 20 ms are 320 ms.
    public let queueLimit: Int
    private let monitor = Monitor(State())
    private let onConsume: (@Sendable (AudioFrame) -> Void)?
    private let onReport: (@Sendable (CaptureReport) -> Void)?

    private struct State: Sendable {
        var intake = Intake()
        var ledger = CaptureLedger()
        var queue: [AudioFrame] = []
        var wakeUps = 0

        mutating func takeOldest() -> AudioFrame? {
            queue.isEmpty ? nil : queue.removeFirst()
        }
    }

    /// - Parameters:
    ///   - onReport: Told what the capturer reports, on its thread; must not block.
    ///   - onConsume: Shown each frame before anything is done with it, on the capturer's thread, which it may hold.
    package init(
        queueLimit: Int = 16, onReport: (@Sendable (CaptureReport) -> Void)? = nil,
        onConsume: (@Sendable (AudioFrame) -> Void)? = nil
    ) {
        self.queueLimit = max(1, queueLimit)
        self.onReport = onReport
        self.onConsume = onConsume
    }

    // MARK: For capturers

    /// Hands over a frame. Never blocks.
    @discardableResult
    public func consume(_ frame: AudioFrame) -> ConsumeResult {
        onConsume?(frame)
        let result = monitor.withLock { state -> ConsumeResult in
            if let reason = state.intake.refusal {
                state.ledger.drop(reason)
                return .dropped(reason)
            }
            if state.queue.count >= queueLimit {
                state.queue.removeFirst()
                state.ledger.settle(.dropped(.queueFull))
            }
            state.queue.append(frame)
            state.ledger.accept()
            return .accepted
        }
        if result == .accepted { monitor.notifyAll() }
        return result
    }

    /// Counts frames that the capturer had but did not hand over.
    public func didDrop(_ reason: DropReason, count: Int = 1) {
        monitor.withLock { $0.ledger.drop(reason, count: count) }
        if count > 0 { onReport?(.dropped(reason, count: count)) }
    }

    /// Counts frames that a driver or device lost before the capturer saw them.
    public func didLoseInDriver(count: Int) {
        monitor.withLock { $0.ledger.lose(count: count) }
        if count > 0 { onReport?(.lostByDriver(count: count)) }
    }

    /// The source is over by itself; the last that a capturer has to say.
    ///
    /// - Parameter error: Why, where it ought to have gone on.
    public func didEnd(_ error: CaptureError? = nil) {
        onReport?(.ended(error))
    }

    /// What became of all frames so far.
    public var ledger: CaptureLedger { monitor.withLock { $0.ledger } }

    // MARK: For the pipeline

    /// Lets frames in. Call before the capturer starts.
    package func open() {
        monitor.withLock { $0.intake.isStarted = true }
    }

    /// Lets no frame in any more and drops those that wait.
    package func close() {
        discardQueue { $0.isStarted = false }
    }

    package func setPaused(_ isPaused: Bool) {
        discardQueue { $0.isPaused = isPaused }
    }

    package func setHasSubscribers(_ hasSubscribers: Bool) {
        discardQueue { $0.hasSubscribers = hasSubscribers }
    }

    /// The oldest frame, if one waits. Its taker owes it a fate.
    package func takeNext() -> TakenFrame<AudioFrame>? {
        monitor.withLock { $0.takeOldest() }.map { TakenFrame($0, keeper: self) }
    }

    /// The number of ``wake()`` calls so far, see ``waitForNext(until:since:)``.
    package var wakeUps: Int { monitor.withLock { $0.wakeUps } }

    /// Waits for a frame until `deadline`, or until more than `wakeUps` calls of ``wake()``; then `nil`.
    package func waitForNext(until deadline: Instant, since wakeUps: Int) -> TakenFrame<AudioFrame>? {
        let found = monitor.wait(until: deadline) { state -> AudioFrame?? in
            if let frame = state.takeOldest() { return .some(frame) }
            return state.wakeUps != wakeUps ? .some(nil) : nil
        }
        guard let frame = found ?? nil else { return nil }
        return TakenFrame(frame, keeper: self)
    }

    /// Waits for a frame until `deadline`, or until the next ``wake()``; then `nil`.
    package func waitForNext(until deadline: Instant) -> TakenFrame<AudioFrame>? {
        waitForNext(until: deadline, since: wakeUps)
    }

    /// Makes a waiting encoder thread return, so that it looks at what else changed.
    package func wake() {
        monitor.withLock { $0.wakeUps += 1 }
        monitor.notifyAll()
    }

    func settle(_ fate: FrameFate) {
        monitor.withLock { $0.ledger.settle(fate) }
    }

    /// Changes the intake; waiting frames that it refuses from now on are dropped for that reason.
    private func discardQueue(after change: (inout Intake) -> Void) {
        monitor.withLock { state in
            change(&state.intake)
            guard let reason = state.intake.refusal else { return }
            while state.takeOldest() != nil { state.ledger.settle(.dropped(reason)) }
        }
    }
}
