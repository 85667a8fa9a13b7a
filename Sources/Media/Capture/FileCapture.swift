import EmisoraVideo

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
    private let runner = CaptureRunner()

    /// - Throws: ``CaptureError/file(path:code:)`` if the file cannot be opened,
    ///   ``CaptureError/malformedFile(path:_:)`` if it is not such a file.
    public init(path: String, playback: Playback = .looped) throws(CaptureError) {
        self.path = path
        self.playback = playback
        format = try Y4MFile(path: path).header.format
    }

    public var isCapturing: Bool { runner.isCapturing }

    /// Why capturing ended by itself before the end of the file, if it did, since the last `start`.
    public var failure: CaptureError? { runner.failure }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try runner.start(into: consumer) { [path, playback] run throws(CaptureError) in
            // Opened anew, since it may be another file by now.
            let file = try Y4MFile(path: path)
            let format = file.header.format
            let rate = try format.checkForPacing()
            guard run.begin() else { return }
            let frameCount = playback == .once ? file.frameCount : nil
            try run.pace(rate, frameCount: frameCount, into: consumer) { tick throws(CaptureError) in
                guard var picture = try? consumer.makeFrame(format) else {
                    consumer.didDrop(.noBuffer)
                    return
                }
                do throws(CaptureError) {
                    try file.read(tick.index % file.frameCount, into: &picture)
                } catch {
                    consumer.didDrop(.invalid)
                    throw error
                }
                run.hand(picture.finish(timestamp: tick.time), to: consumer)
            }
        }
    }

    public func stop() {
        runner.stop()
    }
}
