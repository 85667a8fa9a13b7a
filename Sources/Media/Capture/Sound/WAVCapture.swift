import EmisoraAudio
import EmisoraCore

/// Plays a WAV file: linear PCM of 8, 16, 24 or 32 bits or 32-bit floating point, at 8 to 192 kHz.
///
/// ```swift
/// let music = try WAVCapture(path: "music.wav")
/// let publisher = Publisher(videoCapture: PatternCapture(), audioCapture: music)
/// ```
///
/// Frames have 20 ms at 48 kHz and one channel if the file has one, else two: more are mixed down. A file at 48 kHz in
/// one or two channels arrives as it is, sample for sample. Only what is due is read. A thread that comes late makes
/// up for as much as 200 ms; beyond, sound is skipped and counted as ``DropReason/captureLate``.
public final class WAVCapture: AudioCapture {
    public let path: String
    /// 48 kHz, one or two channels, floating point.
    public let format: AudioFormat
    public let playback: FileCapture.Playback
    /// How long the file lasts.
    public let duration: Duration
    private let runner = CaptureRunner()

    /// - Throws: ``CaptureError/file(path:code:)`` if the file cannot be opened; ``CaptureError/custom(_:)`` with a
    ///   ``WAVError`` that names the byte if it is no such file.
    public init(path: String, playback: FileCapture.Playback = .looped) throws(CaptureError) {
        let reader = try WAVReader(path: path, isLooped: playback == .looped)
        self.path = path
        self.playback = playback
        format = AudioFormat(sampleRate: DriftCorrector.sampleRate, channels: reader.channels, sampleFormat: .float32)
        let header = reader.header
        duration = .seconds(Double(header.frameCount) / Double(header.sampleRate))
    }

    public var isCapturing: Bool { runner.isCapturing }

    /// Why capturing ended by itself before the end of the file, if it did, since the last `start`.
    public var failure: CaptureError? { runner.failure }

    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        try runner.start(into: consumer) { [path, format, playback] run throws(CaptureError) in
            // Opened anew, since it may be another file by now.
            var reader = try WAVReader(path: path, isLooped: playback == .looped)
            let length = DriftCorrector.frameLength
            guard run.begin() else { return }
            let frameCount = playback == .once ? (reader.length + length - 1) / length : nil
            try run.pace(50, patience: 10, frameCount: frameCount, into: consumer) { tick throws(CaptureError) in
                do throws(WAVError) {
                    if tick.skipped > 0 { reader.seek(to: tick.index * length) }
                    let samples = try reader.read(length)
                    if let frame = try? AudioFrame(samples, format: format, timestamp: tick.time) {
                        run.hand(frame, to: consumer)
                    } else {
                        consumer.didDrop(.invalid)
                    }
                } catch {
                    consumer.didDrop(.invalid)
                    throw .custom(error)
                }
            }
        }
    }

    public func stop() {
        runner.stop()
    }
}
