import EmisoraVideo
import Synchronization

/// For programs that have frames already, such as a renderer: hand each over with ``push(_:)``.
///
/// ```swift
/// let capture = PushCapture(format: VideoFormat(.bgra, width: 1280, height: 720, frameRate: 60))
/// try await session.publish(Publisher(videoCapture: capture))
/// // wherever a picture is ready, on any thread:
/// capture.push(frame)
/// ```
///
/// ``VideoFramePool`` makes frames to draw into; a `BorrowedBuffer` lends the program's own memory without a copy.
public final class PushCapture: VideoCapture {
    public let format: VideoFormat
    public let contentHint: VideoContentHint
    private let consumer = Mutex<VideoCaptureConsumer?>(nil)

    /// - Parameter format: What frames will look like. Those that are pushed may be different, also in their size.
    public init(format: VideoFormat, contentHint: VideoContentHint = .none) {
        self.format = format
        self.contentHint = contentHint
    }

    public var isCapturing: Bool { consumer.withLock { $0 != nil } }

    /// What can be used at most; `nil` while not capturing. A program that renders less saves work.
    public var wants: VideoWants? { consumer.withLock { $0 }?.wants }

    /// Hands over a frame. Any thread, several at once, also from the release of a frame; never blocks.
    ///
    /// - Returns: Whether the frame waits for the encoder or was dropped, and why: ``DropReason/captureStopped`` before
    ///   `start` and after `stop`, ``DropReason/invalid`` if its timestamp is not later than the one before, as may
    ///   happen when several threads push.
    @discardableResult
    public func push(_ frame: VideoFrame) -> ConsumeResult {
        let (result, replaced) = consumer.withLock { consumer -> (ConsumeResult, VideoFrame?) in
            guard let consumer else { return (.dropped(.captureStopped), nil) }
            return consumer.exchange(frame)
        }
        withExtendedLifetime(replaced) {}
        return result
    }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        do throws(VideoFrameError) {
            try format.validate()
        } catch {
            throw .videoFormat(error)
        }
        try self.consumer.withLock { current throws(CaptureError) in
            guard current == nil else { throw .alreadyCapturing }
            current = consumer
        }
    }

    public func stop() {
        // Let go of outside the lock: the last reference to a consumer lets go of frames.
        let consumer = consumer.withLock { current in
            defer { current = nil }
            return current
        }
        withExtendedLifetime(consumer) {}
    }
}
