import EmisoraCore
import EmisoraVideo

/// A capturer for pictures that are made when asked: it owns the thread and the timer, you draw.
///
/// ```swift
/// let capture = PacedCapture(format: VideoFormat(.argb, width: 640, height: 480, frameRate: 30)) { picture, tick in
///     picture.withPlane(0) { bytes, layout in draw(tick.index, bytes, layout) }
/// }
/// ```
///
/// Frames are due at `start + index / rate`, exactly, and carry that time. When drawing takes longer than a frame
/// lasts, frames are skipped and counted as ``DropReason/captureLate``. While ``VideoCaptureConsumer/wants`` asks for
/// fewer, the others are not drawn.
public final class PacedCapture: VideoCapture {
    /// Makes one picture. Called on the capturer's thread, one call at a time.
    public typealias Produce = @Sendable (PaceTick, VideoCaptureConsumer) throws -> VideoFrame?

    /// The highest rate that is paced.
    public static let highestFrameRate: FrameRate = 1000

    public let format: VideoFormat
    public let contentHint: VideoContentHint
    private let produce: Produce
    private let pacer = Pacer()

    /// - Parameters:
    ///   - format: What is drawn. 30 pictures a second if it has no rate.
    ///   - draw: Writes all of the picture. If it throws, the picture counts as ``DropReason/invalid``.
    public convenience init(
        format: VideoFormat, contentHint: VideoContentHint = .none,
        draw: @escaping @Sendable (inout MutableVideoFrame, PaceTick) throws -> Void
    ) {
        self.init(
            format: format, contentHint: contentHint,
            produce: { tick, consumer in
                var picture = try consumer.makeFrame(format)
                try draw(&picture, tick)
                return picture.finish(timestamp: tick.time)
            })
    }

    /// - Parameter produce: Makes the picture, on whatever memory; `nil` if there is none this time, which counts as
    ///   nothing.
    public init(format: VideoFormat, contentHint: VideoContentHint = .none, produce: @escaping Produce) {
        self.format = format
        self.contentHint = contentHint
        self.produce = produce
    }

    public var isCapturing: Bool { pacer.isRunning }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try pacer.start(format.checkForPacing(), into: consumer, produce: produce)
    }

    public func stop() {
        pacer.stop()
    }
}

extension Pacer {
    /// Paces pictures: `produce` makes one, or throws why there is none.
    func start(
        _ rate: FrameRate, into consumer: VideoCaptureConsumer, produce: @escaping PacedCapture.Produce
    ) throws(CaptureError) {
        try start(rate: rate, wantedRate: { consumer.wants.highestFrameRate }) { tick, run in
            if tick.skipped > 0 { consumer.didDrop(.captureLate, count: tick.skipped) }
            do {
                let frame = try produce(tick, consumer)
                // Drawing may have stopped the capturer, and after `stop` no frame arrives.
                guard !run.isStopRequested else {
                    if frame != nil { consumer.didDrop(.captureStopped) }
                    return .end
                }
                if let frame { consumer.consume(frame) }
            } catch VideoFrameError.poolExhausted {
                consumer.didDrop(.noBuffer)
            } catch {
                consumer.didDrop(.invalid)
            }
            return .goOn
        }
    }
}

extension VideoFormat {
    /// The rate to pace at, if frames can have this format.
    func checkForPacing() throws(CaptureError) -> FrameRate {
        do throws(VideoFrameError) {
            try validate()
        } catch {
            throw .videoFormat(error)
        }
        let rate = frameRate ?? 30
        guard rate <= PacedCapture.highestFrameRate else {
            throw .invalidOption("frame rate \(rate): at most \(PacedCapture.highestFrameRate) pictures a second")
        }
        return rate
    }
}
