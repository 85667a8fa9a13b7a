import EmisoraCapture
import EmisoraVideo

/// The pictures of a ``MediaFile``.
public final class MediaFileVideoCapture: VideoCapture {
    /// What the file claims; frames have what was found.
    public let format: VideoFormat
    public let contentHint = VideoContentHint.motion
    private let player: FilePlayer
    private let runner = CaptureRunner()

    init(_ player: FilePlayer, _ stream: MediaStream) {
        self.player = player
        format = PictureConverter.format(of: stream)
    }

    public var isCapturing: Bool { runner.isCapturing }

    /// - Throws: ``CaptureError/custom(_:)`` with a ``MediaFileError`` if the file can no longer be opened or decoded.
    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try runner.start(into: consumer) { [player] run throws(CaptureError) in
            try player.play(.video, run) { playback, turn, decoder in
                PictureOutput(playback: playback, turn: turn, decoder: decoder, consumer: consumer).play(run)
            }
        }
    }

    public func stop() {
        runner.stop()
    }
}
