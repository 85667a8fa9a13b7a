import EmisoraAudio
import EmisoraCapture
import Synchronization

/// The sound of a ``MediaFile``: 48 kHz, 16 bits, one channel if the file has one and two otherwise, 20 ms a frame.
public final class MediaFileAudioCapture: AudioCapture {
    public let format: AudioFormat
    private let player: FilePlayer
    private let current = Mutex<FileRun?>(nil)

    init(_ player: FilePlayer, _ stream: MediaStream) {
        self.player = player
        format = AudioFormat(sampleRate: Resampler.sampleRate, channels: stream.outputChannels)
    }

    deinit {
        current.withLock { $0 }?.requestStop()
    }

    public var isCapturing: Bool { current.withLock { $0 }?.isActive ?? false }

    /// - Throws: ``CaptureError/custom(_:)`` with a ``MediaFileError`` if the file can no longer be opened or decoded.
    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        let format = format
        try current.withLock { current throws(CaptureError) in
            guard current?.isActive != true else { throw .alreadyCapturing }
            current = try FileRun(player, .audio) { part, decoder, thread in
                SoundOutput(
                    part.playback, turn: part.turn, decoder: decoder, format: format, consumer: consumer,
                    thread: thread
                ).run()
            }
        }
    }

    public func stop() {
        current.withLock { $0 }?.stop()
    }
}
