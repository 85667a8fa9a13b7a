import EmisoraCore
import EmisoraVideo
import Synchronization

/// A moving test picture that carries its number, capture time and orientation in its pixels, for ``PatternReader``
/// to read at the far end: colour bars, a sweep, a dial, and a panel of black and white cells.
///
/// The panel survives VP8 at 150 kbit/s in 640×480. With `clicks`, the box on the left flashes for one picture,
/// together with ``ToneCapture`` of the same track. Pictures are drawn no more often than
/// ``VideoCaptureConsumer/wants`` asks, and no larger, unless that would be less than ``smallestSize``.
public final class PatternCapture: VideoCapture {
    /// The smallest picture that holds the panel.
    public static let smallestSize = VideoSize(width: 160, height: 120)

    public let format: VideoFormat
    public var contentHint: VideoContentHint { .motion }
    public let clicks: ClickTrack?
    private let pacer = Pacer()

    /// - Parameter pixelFormat: I420 or NV12.
    public init(
        width: Int = 640, height: Int = 480, frameRate: FrameRate = 30, pixelFormat: PixelFormat = .i420,
        clicks: ClickTrack? = nil
    ) {
        format = VideoFormat(pixelFormat, width: width, height: height, frameRate: frameRate)
        self.clicks = clicks
    }

    public var isCapturing: Bool { pacer.isRunning }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        let rate = try format.checkForPacing()
        guard format.pixelFormat == .i420 || format.pixelFormat == .nv12 else {
            throw .invalidOption("pixel format \(format.pixelFormat): the pattern is drawn in i420 or nv12")
        }
        guard format.size.holdsPattern else {
            throw .invalidOption("pattern of \(format.size): at least \(Self.smallestSize)")
        }
        let (format, clicks) = (format, clicks)
        let pattern = Mutex(PatternPicture(format))
        try pacer.start(rate, into: consumer) { tick, consumer in
            var wanted = format.scaled(for: consumer.wants)
            if !wanted.size.holdsPattern { wanted = format }
            var picture = try consumer.makeFrame(wanted)
            // The picture nearest to the click flashes: never more than half a picture's time from it.
            let click = clicks?.click(
                inFrame: tick.index, start: tick.time - .nanoseconds(rate.interval.nanoseconds / 2),
                duration: rate.interval)
            pattern.withLock { pattern in
                if pattern.format != wanted { pattern = PatternPicture(wanted) }
                pattern.draw(
                    into: &picture, frameNumber: UInt32(truncatingIfNeeded: tick.index), time: tick.time,
                    elapsed: rate.time(ofFrame: tick.index), flashes: click != nil)
            }
            return picture.finish(timestamp: tick.time)
        }
    }

    public func stop() {
        pacer.stop()
    }
}

extension VideoSize {
    fileprivate var holdsPattern: Bool {
        width >= PatternCapture.smallestSize.width && height >= PatternCapture.smallestSize.height
    }
}
