import EmisoraVideo
import Synchronization

/// Plays a Y4M file (8-bit 4:2:0 or mono, progressive) at its own rate, or fewer pictures of it if no more are wanted.
///
/// The file is checked when the capturer is made and again at `start`, every picture of it: an error names the byte.
/// Pictures are read one at a time, straight into the frame. Make one with
/// `ffmpeg -i clip.mp4 -pix_fmt yuv420p clip.y4m`.
public final class FileCapture: VideoCapture {
    /// What happens after the last picture.
    public enum Playback: Hashable, Sendable {
        /// From the first again, for ever.
        case looped
        /// Capturing ends.
        case once
    }

    public let path: String
    public let format: VideoFormat
    public let playback: Playback
    private let pacer = Pacer()
    private let lastFailure = Mutex<CaptureError?>(nil)

    /// - Throws: ``CaptureError/file(path:code:)`` if the file cannot be opened,
    ///   ``CaptureError/malformedFile(path:_:)`` if it is not such a file.
    public init(path: String, playback: Playback = .looped) throws(CaptureError) {
        self.path = path
        self.playback = playback
        format = try Y4MFile(path: path).header.format
    }

    public var isCapturing: Bool { pacer.isRunning }

    /// Why capturing ended by itself before the end of the file, if it did, since the last `start`.
    public var failure: CaptureError? { lastFailure.withLock { $0 } }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        guard !isCapturing else { throw .alreadyCapturing }
        let file = try Y4MFile(path: path)
        let format = file.header.format
        let rate = try format.checkForPacing()
        lastFailure.withLock { $0 = nil }
        let frameCount = playback == .once ? file.frameCount : nil
        try pacer.start(rate: rate, frameCount: frameCount, wantedRate: { consumer.wants.highestFrameRate }) {
            [weak self] tick, run in
            if tick.skipped > 0 { consumer.didDrop(.captureLate, count: tick.skipped) }
            if tick.index == frameCount {
                consumer.didEnd()
                return .end
            }
            guard var picture = try? consumer.makeFrame(format) else {
                consumer.didDrop(.noBuffer)
                return .goOn
            }
            do throws(CaptureError) {
                try file.read(tick.index % file.frameCount, into: &picture)
            } catch {
                consumer.didDrop(.invalid)
                self?.lastFailure.withLock { $0 = error }
                consumer.didEnd(error)
                return .end
            }
            guard !run.isStopRequested else { return .end }
            consumer.consume(picture.finish(timestamp: tick.time))
            return .goOn
        }
    }

    public func stop() {
        pacer.stop()
    }
}
