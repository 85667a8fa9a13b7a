import EmisoraCore
import EmisoraVideo
import Synchronization

/// Where a capturer hands its frames. It keeps only the newest frame for the encoder, and counts what became of each.
///
/// ```swift
/// var picture = try consumer.makeFrame(format)
/// draw(into: &picture)
/// consumer.consume(picture.finish(timestamp: MonotonicClock.now))
/// ```
///
/// `consume` may be called from any one thread at a time; everything else from any thread.
public final class VideoCaptureConsumer: FateKeeper, Sendable {
    private let pool: VideoFramePool
    private let monitor = Monitor(State())
    private let onReport: (@Sendable (CaptureReport) -> Void)?
    private let onConsume: (@Sendable (VideoFrame) -> Void)?

    private struct State: Sendable {
        var intake = Intake()
        var wants = VideoWants()
        var ledger = CaptureLedger()
        var newest: VideoFrame?
        var lastTimestamp: Instant?
        var thinner = FrameThinner()
        var wakeUps = 0

        mutating func refusal(of timestamp: Instant) -> DropReason? {
            if let reason = intake.refusal { return reason }
            if let lastTimestamp, timestamp <= lastTimestamp { return .invalid }
            lastTimestamp = timestamp
            return thinner.keep(timestamp, rate: wants.highestFrameRate) ? nil : .adaptation
        }

        mutating func takeNewest() -> VideoFrame? {
            defer { newest = nil }
            return newest
        }
    }

    /// - Parameters:
    ///   - poolLimit: How many frames of the pool can be alive at a time.
    ///   - poolFill: What new memory of the pool holds.
    ///   - onReport: Told what the capturer reports, on its thread; must not block.
    ///   - onConsume: Shown each frame before anything is done with it, on the capturer's thread, which it may hold;
    ///     must not call the capturer, which may be under a lock of its own.
    package init(
        poolLimit: Int = 12, poolFill: UInt8 = 0, onReport: (@Sendable (CaptureReport) -> Void)? = nil,
        onConsume: (@Sendable (VideoFrame) -> Void)? = nil
    ) {
        pool = VideoFramePool(limit: poolLimit, fill: poolFill)
        self.onReport = onReport
        self.onConsume = onConsume
    }

    // MARK: For capturers

    /// Hands over a frame. Never blocks.
    ///
    /// - Returns: Whether the frame waits for the encoder or was dropped, and why. A frame whose timestamp is not
    ///   later than that of the frame before is dropped as ``DropReason/invalid``.
    @discardableResult
    public func consume(_ frame: VideoFrame) -> ConsumeResult {
        let (result, replaced) = exchange(frame)
        withExtendedLifetime(replaced) {}
        return result
    }

    /// As ``consume(_:)``, but hands back the frame that was replaced: letting go of it may run the lender's code,
    /// which must happen outside all locks.
    func exchange(_ frame: VideoFrame) -> (result: ConsumeResult, replaced: VideoFrame?) {
        onConsume?(frame)
        let (result, replaced) = monitor.withLock { state -> (ConsumeResult, VideoFrame?) in
            if let reason = state.refusal(of: frame.timestamp) {
                state.ledger.drop(reason)
                return (.dropped(reason), nil)
            }
            let replaced = state.newest
            if replaced != nil { state.ledger.settle(.dropped(.mailboxReplaced)) }
            state.newest = frame
            state.ledger.accept()
            return (.accepted, replaced)
        }
        if result == .accepted { monitor.notifyAll() }
        return (result, replaced)
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

    /// The source is over by itself: the end of a film, a window that was closed. The last that a capturer has to say;
    /// it need not be stopped any more.
    ///
    /// - Parameter error: Why, where it ought to have gone on.
    public func didEnd(_ error: CaptureError? = nil) {
        onReport?(.ended(error))
    }

    /// What can be used at most; changes while capturing.
    public var wants: VideoWants { monitor.withLock { $0.wants } }

    /// A frame to write into, from a pool that reuses memory.
    ///
    /// - Throws: If the format is not valid, or all frames of the pool are still in use; count the picture as
    ///   ``DropReason/noBuffer`` then.
    public func makeFrame(_ format: VideoFormat) throws(VideoFrameError) -> MutableVideoFrame {
        try pool.makeFrame(format)
    }

    /// What became of all frames so far.
    public var ledger: CaptureLedger { monitor.withLock { $0.ledger } }

    /// How often picture memory was taken from the system for ``makeFrame(_:)``.
    package var poolAllocations: Int { pool.allocations }

    // MARK: For the pipeline

    /// Lets frames in. Call before the capturer starts.
    package func open() {
        monitor.withLock {
            $0.intake.isStarted = true
            $0.lastTimestamp = nil
            $0.thinner = FrameThinner()
        }
    }

    /// Lets no frame in any more and drops the one that waits.
    package func close() {
        discardNewest { $0.isStarted = false }
    }

    package func setPaused(_ isPaused: Bool) {
        discardNewest { $0.isPaused = isPaused }
    }

    package func setHasSubscribers(_ hasSubscribers: Bool) {
        discardNewest { $0.hasSubscribers = hasSubscribers }
    }

    package func setWants(_ wants: VideoWants) {
        monitor.withLock { $0.wants = wants }
    }

    /// The newest frame, if one waits. Its taker owes it a fate.
    package func takeLatest() -> TakenFrame<VideoFrame>? {
        monitor.withLock { $0.takeNewest() }.map { TakenFrame($0, keeper: self) }
    }

    /// Waits for a frame until `deadline`, or until ``wake()``; then `nil`.
    package func waitForLatest(until deadline: Instant) -> TakenFrame<VideoFrame>? {
        let wakeUps = monitor.withLock { $0.wakeUps }
        return waitForLatest(until: deadline, since: wakeUps)
    }

    /// The number of ``wake()`` calls so far, to be handed to ``waitForLatest(until:since:)``, so that one that comes
    /// between a look at other state and the wait is not missed.
    package var wakeUps: Int { monitor.withLock { $0.wakeUps } }

    /// Waits for a frame until `deadline`, or until more than `wakeUps` calls of ``wake()``; then `nil`.
    package func waitForLatest(until deadline: Instant, since wakeUps: Int) -> TakenFrame<VideoFrame>? {
        let found = monitor.wait(until: deadline) { state -> VideoFrame?? in
            if let frame = state.takeNewest() { return .some(frame) }
            return state.wakeUps != wakeUps ? .some(nil) : nil
        }
        guard let frame = found ?? nil else { return nil }
        return TakenFrame(frame, keeper: self)
    }

    /// Makes a waiting encoder thread return, so that it looks at what else changed.
    package func wake() {
        monitor.withLock { $0.wakeUps += 1 }
        monitor.notifyAll()
    }

    func settle(_ fate: FrameFate) {
        monitor.withLock { $0.ledger.settle(fate) }
    }

    /// Changes the intake; a waiting frame that it refuses from now on is dropped for that reason.
    private func discardNewest(after change: (inout Intake) -> Void) {
        let discarded = monitor.withLock { state -> VideoFrame? in
            change(&state.intake)
            guard let reason = state.intake.refusal, let frame = state.takeNewest() else { return nil }
            state.ledger.settle(.dropped(reason))
            return frame
        }
        withExtendedLifetime(discarded) {}
    }
}
