import EmisoraCore
import EmisoraVideo
import Synchronization

/// What the consumer would like to be given, so that a capturer need not make more than can be used.
public struct VideoWants: Hashable, Sendable {
    public var maximumWidth: Int
    public var maximumHeight: Int
    public var maximumFramesPerSecond: Double

    public init(maximumWidth: Int, maximumHeight: Int, maximumFramesPerSecond: Double) {
        self.maximumWidth = maximumWidth
        self.maximumHeight = maximumHeight
        self.maximumFramesPerSecond = maximumFramesPerSecond
    }
}

/// Where a capturer hands its frames to.
///
/// `consume` never blocks and keeps only the newest frame: an encoder that is behind gets the picture of now, not a
/// queue of old ones. Safe from any thread; frames must come from one thread at a time.
public final class VideoCaptureConsumer: Sendable {
    /// What became of a frame at the door.
    public enum ConsumeResult: Hashable, Sendable {
        /// It waits for the encoder; a newer one may still replace it.
        case accepted
        case dropped(DropReason)
    }

    /// What the publisher does with frames at the moment.
    package enum Mode: Hashable, Sendable {
        case noSubscribers
        case paused
        case running
        case stopped
    }

    private struct State {
        var mode: Mode = .noSubscribers
        var latest: VideoFrame?
        /// Whether the encoder has taken a frame whose fate it has not reported.
        var isEncoding = false
        var ledger = CaptureLedger()
        var wants: VideoWants?
        var latestFormat: VideoFormat?
    }

    private let state = Mutex(State())
    private let pool = VideoFramePool()
    private let wakeUp: @Sendable () -> Void
    private let dropHandler: @Sendable (DropReason, Int) -> Void

    /// - Parameters:
    ///   - wakeUp: called when a frame waits; must not block.
    ///   - onDrop: told of drops that the capturer reports; must not block.
    package init(
        wakeUp: @escaping @Sendable () -> Void, onDrop: @escaping @Sendable (DropReason, Int) -> Void = { _, _ in }
    ) {
        self.wakeUp = wakeUp
        dropHandler = onDrop
    }

    // MARK: For capturers

    /// Hands over a frame. Never blocks.
    @discardableResult
    public func consume(_ frame: VideoFrame) -> ConsumeResult {
        let (result, replaced) = state.withLock { state -> (ConsumeResult, VideoFrame?) in
            state.ledger.framesCaptured += 1
            state.latestFormat = frame.format
            if let reason = Self.dropReason(state.mode) {
                state.ledger.framesDropped[reason, default: 0] += 1
                return (.dropped(reason), nil)
            }
            let replaced = state.latest
            if replaced != nil { state.ledger.framesDropped[.mailboxReplaced, default: 0] += 1 }
            state.latest = frame
            Self.updatePending(&state)
            return (.accepted, replaced)
        }
        // A replaced frame's release closure runs here, outside the lock.
        _ = replaced
        if result == .accepted { wakeUp() }
        return result
    }

    /// Counts pictures that the capturer itself could not deliver. They count as captured, too.
    public func didDrop(_ reason: DropReason, count: Int = 1) {
        guard count > 0 else { return }
        state.withLock { state in
            state.ledger.framesCaptured += UInt64(count)
            state.ledger.framesDropped[reason, default: 0] += UInt64(count)
        }
        dropHandler(reason, count)
    }

    /// Counts pictures that a driver lost before the program saw them, known by gaps in its numbering.
    public func didLoseInDriver(count: Int = 1) {
        guard count > 0 else { return }
        state.withLock { $0.ledger.framesLostByDriver += UInt64(count) }
    }

    /// A frame to write into; its memory is used again, so that no allocation is made after the first few.
    public func makeFrame(_ format: VideoFormat) -> MutableVideoFrame {
        pool.makeFrame(format)
    }

    /// The largest size and rate that are of use at the moment; `nil`: no limit.
    public var wants: VideoWants? { state.withLock { $0.wants } }

    // MARK: For the publisher

    package var mode: Mode { state.withLock { $0.mode } }
    package var ledger: CaptureLedger { state.withLock { $0.ledger } }
    /// The format of the newest frame, also of a dropped one.
    package var latestFormat: VideoFormat? { state.withLock { $0.latestFormat } }

    package func setMode(_ mode: Mode) {
        let cleared = state.withLock { state -> VideoFrame? in
            state.mode = mode
            guard let reason = Self.dropReason(mode), let latest = state.latest else {
                Self.updatePending(&state)
                return nil
            }
            state.latest = nil
            state.ledger.framesDropped[reason, default: 0] += 1
            Self.updatePending(&state)
            return latest
        }
        _ = cleared
    }

    package func setWants(_ wants: VideoWants?) {
        state.withLock { $0.wants = wants }
    }

    /// Takes the newest frame for encoding. Its fate must be reported by exactly one call of `didEncode` or
    /// `didNotEncode` before the next is taken.
    package func takeLatest() -> VideoFrame? {
        state.withLock { state in
            defer { Self.updatePending(&state) }
            guard !state.isEncoding, let latest = state.latest else { return nil }
            state.latest = nil
            state.isEncoding = true
            return latest
        }
    }

    package func didEncode() {
        state.withLock { state in
            guard state.isEncoding else { return }
            state.isEncoding = false
            state.ledger.framesEncoded += 1
            Self.updatePending(&state)
        }
    }

    package func didNotEncode(_ reason: DropReason) {
        state.withLock { state in
            guard state.isEncoding else { return }
            state.isEncoding = false
            state.ledger.framesDropped[reason, default: 0] += 1
            Self.updatePending(&state)
        }
    }

    private static func dropReason(_ mode: Mode) -> DropReason? {
        switch mode {
        case .noSubscribers: .noSubscribers
        case .paused: .paused
        case .stopped: .captureStopped
        case .running: nil
        }
    }

    private static func updatePending(_ state: inout State) {
        state.ledger.framesPending = (state.latest == nil ? 0 : 1) + (state.isEncoding ? 1 : 0)
    }
}
