import EmisoraAudio
import EmisoraCapture

/// Captures from a microphone or another input that ALSA knows.
///
/// ```swift
/// let microphone = MicrophoneCapture { event in print(event) }
/// let publisher = Publisher(videoCapture: camera, audioCapture: microphone)
/// ```
///
/// Frames have 20 ms at 48 kHz of the machine's monotonic clock, whatever rate, channels and sample format the device
/// has, and carry the instant at which their first sample was taken. The device's own clock is measured, and its drift
/// corrected by resampling at a ratio that changes too slowly to be heard: frames follow one another without a gap for
/// days.
///
/// When the device's buffer ran over, the machine slept or the device was away, timestamps jump by what is missing; that
/// is told as an event and counted as lost by the driver, a frame for each 20 ms. A device that was unplugged is opened
/// again when it is back: after half a second at first, then more rarely, every 8 seconds at last.
///
/// Source: ALSA, PCM interface.
public final class MicrophoneCapture: AudioCapture {
    /// The name that ALSA knows the device by.
    public let device: String
    /// 48 kHz, floating point.
    public let format: AudioFormat
    private let onEvent: @Sendable (MicrophoneEvent) -> Void
    private let runner = CaptureRunner()
    private let latest = Monitor(MicrophoneStatistics())

    /// - Parameters:
    ///   - device: A name from ``devices()``, or another that ALSA understands, such as `plughw:1,0`; `nil` for the one
    ///     that the system is set to.
    ///   - channels: 1 or 2. A device that has only one is heard on both; of one that has more, the first are taken,
    ///     and of two the mean for one.
    ///   - onEvent: Told what happens, on the capturer's thread; must not block.
    public init(
        device: String? = nil, channels: Int = 1, onEvent: @escaping @Sendable (MicrophoneEvent) -> Void = { _ in }
    ) {
        self.device = device ?? "default"
        format = AudioFormat(sampleRate: DriftCorrector.sampleRate, channels: channels, sampleFormat: .float32)
        self.onEvent = onEvent
    }

    public var isCapturing: Bool { runner.isCapturing }

    /// Counts since the last start.
    public var statistics: MicrophoneStatistics { latest.withLock { $0 } }

    /// Opens the device and begins.
    ///
    /// - Throws: `CaptureError.custom` with a ``MicrophoneError``; `alreadyCapturing`; `invalidOption`.
    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        guard (1...2).contains(format.channels) else {
            throw .invalidOption("\(format.channels) channels: a microphone is captured with 1 or 2")
        }
        guard !device.isEmpty, !device.utf8.contains(0) else {
            throw .invalidOption("the microphone's name is empty or has a zero byte in it")
        }
        try runner.start(into: consumer) { [device, format, onEvent, latest] run throws(CaptureError) in
            latest.withLock { $0 = MicrophoneStatistics() }
            let observers = MicrophoneLoop.Observers(
                isStopped: { run.isStopRequested }, onEvent: onEvent,
                onStatistics: { statistics in latest.withLock { $0 = statistics } })
            var loop: MicrophoneLoop
            do throws(MicrophoneError) {
                loop = try MicrophoneLoop(
                    device, format: format, system: ALSASystem(run: run), consumer: consumer, observers: observers)
            } catch {
                throw .custom(error)
            }
            guard run.begin() else { return }
            loop.run()
        }
    }

    public func stop() {
        runner.stop()
    }

    /// The devices to record from, as ALSA's configuration names them; none are opened.
    public static func devices() -> [MicrophoneDevice] { ALSADevices.list() }
}
