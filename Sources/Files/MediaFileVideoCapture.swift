import EmisoraCapture
import EmisoraVideo
import Synchronization

/// The pictures of a ``MediaFile``.
public final class MediaFileVideoCapture: VideoCapture {
    /// What the file claims; frames have what was found.
    public let format: VideoFormat
    public let contentHint = VideoContentHint.motion
    private let player: FilePlayer
    private let current = Mutex<FileRun?>(nil)

    init(_ player: FilePlayer, _ stream: MediaStream) {
        self.player = player
        format = PictureConverter.format(of: stream)
    }

    deinit {
        current.withLock { $0 }?.requestStop()
    }

    public var isCapturing: Bool { current.withLock { $0 }?.isActive ?? false }

    /// - Throws: ``CaptureError/custom(_:)`` with a ``MediaFileError`` if the file can no longer be opened or decoded.
    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try current.withLock { current throws(CaptureError) in
            guard current?.isActive != true else { throw .alreadyCapturing }
            current = try FileRun(player, .video) { part, decoder, thread in
                PictureOutput(playback: part.playback, turn: part.turn, decoder: decoder, consumer: consumer)
                    .run(on: thread)
            }
        }
    }

    public func stop() {
        current.withLock { $0 }?.stop()
    }
}
