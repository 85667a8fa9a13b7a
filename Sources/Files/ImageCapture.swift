import EmisoraCapture
import EmisoraCore
import EmisoraVideo

/// A still picture (PNG, JPEG, also BMP, TIFF and WebP) as a steady stream of pictures.
///
/// ```swift
/// let publisher = Publisher(videoCapture: try ImageCapture(path: "slide.png"))
/// ```
///
/// The picture is decoded once, when the capturer is made; every frame shows the same memory. Alpha is laid on black,
/// the orientation of a photograph becomes the frames' rotation.
public final class ImageCapture: VideoCapture {
    /// Rates that make sense for a picture that never changes.
    public static let frameRates: ClosedRange<FrameRate> = 1...30

    public let path: String
    public var format: VideoFormat { capture.format }
    public var contentHint: VideoContentHint { capture.contentHint }
    private let capture: PacedCapture

    /// - Parameters:
    ///   - frameRate: How often the picture is handed over, within ``frameRates``. Who begins to watch sees something
    ///     after the time between two at the latest.
    /// - Throws: ``CaptureError/custom(_:)`` with a ``MediaFileError`` if the file cannot be opened or decoded,
    ///   ``CaptureError/invalidOption(_:)`` for a rate out of range.
    public init(path: String, frameRate: FrameRate = 5) throws(CaptureError) {
        guard Self.frameRates.contains(frameRate) else {
            throw .invalidOption(
                "frame rate \(frameRate) for a still picture: must be \(Self.frameRates.lowerBound) to "
                    + "\(Self.frameRates.upperBound)")
        }
        self.path = path
        let picture: VideoFrame
        do throws(MediaFileError) {
            picture = try Self.decode(path)
        } catch {
            throw .custom(error)
        }
        capture = PacedCapture(format: picture.format.with(frameRate: frameRate), contentHint: .detail) { tick, _ in
            var frame = picture
            frame.timestamp = tick.time
            return frame
        }
    }

    public var isCapturing: Bool { capture.isCapturing }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try capture.start(into: consumer)
    }

    public func stop() {
        capture.stop()
    }

    private static func decode(_ path: String) throws(MediaFileError) -> VideoFrame {
        let demuxer = try Demuxer(path: path, as: .stillPicture)
        guard let stream = demuxer.video else { throw .nothingToPlay(path: path) }
        try MediaFile.check(stream, path: path)
        let decoder = try Decoder(stream, path: path)
        guard case .packet(_, let packet) = demuxer.next(), decoder.send(packet) else {
            throw .damaged(path: path, detail: "its picture cannot be read")
        }
        decoder.drain()
        guard case .frame(let picture) = decoder.receive() else {
            throw .damaged(path: path, detail: "its picture cannot be decoded")
        }
        do throws(VideoFrameError) {
            return try PictureConverter().frame(picture, of: stream, timestamp: .zero)
        } catch {
            throw .damaged(path: path, detail: error.description)
        }
    }
}
