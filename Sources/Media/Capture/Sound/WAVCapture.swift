import EmisoraAudio
import EmisoraCore
import Synchronization

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
    private let pacer = Pacer()
    private let lastFailure = Mutex<CaptureError?>(nil)

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

    public var isCapturing: Bool { pacer.isRunning }

    /// Why capturing ended by itself before the end of the file, if it did, since the last `start`.
    public var failure: CaptureError? { lastFailure.withLock { $0 } }

    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        guard !isCapturing else { throw .alreadyCapturing }
        // Opened anew, since it may be another file by now.
        let reader = try WAVReader(path: path, isLooped: playback == .looped)
        let run = Run(reader, format, isLooped: playback == .looped)
        lastFailure.withLock { $0 = nil }
        try pacer.start(rate: 50, patience: 10, frameCount: run.frameCount) { [weak self] tick, pace in
            do throws(WAVError) {
                return try run.step(tick, pace, into: consumer)
            } catch {
                consumer.didDrop(.invalid)
                self?.lastFailure.withLock { $0 = .custom(error) }
                consumer.didEnd(.custom(error))
                return .end
            }
        }
    }

    public func stop() {
        pacer.stop()
    }
}

/// One playing of the file.
private final class Run: Sendable {
    private let reader: Mutex<WAVReader>
    private let format: AudioFormat
    /// Frames until the end; `nil` if there is none.
    let frameCount: Int?

    init(_ reader: consuming WAVReader, _ format: AudioFormat, isLooped: Bool) {
        frameCount = isLooped ? nil : (reader.length + DriftCorrector.frameLength - 1) / DriftCorrector.frameLength
        self.reader = Mutex(reader)
        self.format = format
    }

    /// Hands over the frame that is due.
    func step(
        _ tick: PaceTick, _ pace: PaceRun, into consumer: AudioCaptureConsumer
    ) throws(WAVError) -> Pacer.StepResult {
        if tick.skipped > 0 { consumer.didDrop(.captureLate, count: tick.skipped) }
        if tick.index == frameCount {
            consumer.didEnd()
            return .end
        }
        let samples = try reader.withLock { reader throws(WAVError) in
            if tick.skipped > 0 { reader.seek(to: tick.index * DriftCorrector.frameLength) }
            return try reader.read(DriftCorrector.frameLength)
        }
        guard !pace.isStopRequested else { return .end }
        if let frame = try? AudioFrame(samples, format: format, timestamp: tick.time) {
            consumer.consume(frame)
        } else {
            consumer.didDrop(.invalid)
        }
        return .goOn
    }
}
