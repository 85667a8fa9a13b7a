import EmisoraCore
import EmisoraVideo

/// Plays a file of uncompressed pictures (Y4M, 8-bit 4:2:0) at its own rate, again and again or once.
///
/// The file is checked to its end when the capturer is made; pictures are read when they are due.
public final class FileCapture: VideoCapture {
    public let format: VideoFormat
    /// Pictures in the file.
    public let frameCount: Int
    public let isLooping: Bool
    private let file: Y4MFile
    private let pace: PacedCapture

    /// - Throws: `CaptureError.cannotOpen`, `.unsupportedFormat`, or `.malformedFile` with the byte at fault.
    public init(path: String, isLooping: Bool = true) throws(CaptureError) {
        file = try Y4MFile(path: path)
        format = file.format
        frameCount = file.frameOffsets.count
        self.isLooping = isLooping
        pace = PacedCapture(rate: file.format.frameRate ?? .fps25)
    }

    public var contentHint: VideoContentHint { .motion }
    public var isCapturing: Bool { pace.isRunning }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try pace.start { [file, pace, format, frameCount, isLooping] tick in
            if tick.skipped > 0 { consumer.didDrop(.capturerOverrun, count: tick.skipped) }
            guard isLooping || tick.index < frameCount else { return pace.stop() }
            var frame = consumer.makeFrame(format)
            if file.read(frame: Int(tick.index % Int64(frameCount)), into: &frame) {
                consumer.consume(frame.finish(timestamp: tick.timestamp))
            } else {
                consumer.didDrop(.invalid)
            }
        }
    }

    public func stop() {
        pace.stop()
    }
}
