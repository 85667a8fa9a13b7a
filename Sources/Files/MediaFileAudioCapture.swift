import EmisoraAudio
import EmisoraCapture

/// The sound of a ``MediaFile``: 48 kHz, 16 bits, one channel if the file has one and two otherwise, 20 ms a frame.
public final class MediaFileAudioCapture: AudioCapture {
    public let format: AudioFormat
    private let player: FilePlayer
    private let runner = CaptureRunner()

    init(_ player: FilePlayer, _ stream: MediaStream) {
        self.player = player
        format = AudioFormat(sampleRate: Resampler.sampleRate, channels: stream.outputChannels)
    }

    public var isCapturing: Bool { runner.isCapturing }

    /// - Throws: ``CaptureError/custom(_:)`` with a ``MediaFileError`` if the file can no longer be opened or decoded.
    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        try runner.start(into: consumer) { [player, format] run throws(CaptureError) in
            try player.play(.audio, run) { playback, turn, decoder in
                SoundOutput(playback, turn: turn, decoder: decoder, format: format, consumer: consumer, run: run).play()
            }
        }
    }

    public func stop() {
        runner.stop()
    }
}
