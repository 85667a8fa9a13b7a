import EmisoraAudio
import EmisoraCore
import Synchronization

/// A source of sound; the same shape as `VideoCapture`.
public protocol AudioCapture: AnyObject, Sendable {
    var format: AudioFormat { get }
    var isCapturing: Bool { get }
    /// Begins to hand stretches of sound (10 or 20 ms each) to `consumer`, from any one thread at a time.
    func start(into consumer: AudioCaptureConsumer) throws(CaptureError)
    /// Ends capturing; idempotent, from any thread; nothing arrives after it has returned.
    func stop()
}

/// Where a source of sound hands its frames to. Unlike pictures, sound must not have gaps: frames queue, up to 200 ms;
/// then the oldest are dropped and counted. Never blocks.
public final class AudioCaptureConsumer: Sendable {
    private static let limit = 10

    private struct State {
        var isRunning = false
        var queue: [AudioFrame] = []
        var captured: UInt64 = 0
        var dropped: UInt64 = 0
    }

    private let state = Mutex(State())
    private let wakeUp: @Sendable () -> Void

    package init(wakeUp: @escaping @Sendable () -> Void) {
        self.wakeUp = wakeUp
    }

    public func consume(_ frame: AudioFrame) {
        let isWaiting = state.withLock { state in
            state.captured += 1
            guard state.isRunning else { return false }
            if state.queue.count == Self.limit {
                state.queue.removeFirst()
                state.dropped += 1
            }
            state.queue.append(frame)
            return true
        }
        if isWaiting { wakeUp() }
    }

    package func setRunning(_ isRunning: Bool) {
        state.withLock { state in
            state.isRunning = isRunning
            if !isRunning { state.queue.removeAll() }
        }
    }

    package func take() -> AudioFrame? {
        state.withLock { $0.queue.isEmpty ? nil : $0.queue.removeFirst() }
    }

    /// Frames captured, and those dropped because the encoder was behind.
    package var counts: (captured: UInt64, dropped: UInt64) { state.withLock { ($0.captured, $0.dropped) } }
}
