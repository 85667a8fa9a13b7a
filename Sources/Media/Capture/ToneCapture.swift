import EmisoraAudio
import EmisoraCore
import EmisoraVideo
import Glibc
import Synchronization

/// A quiet steady tone, with a click at each instant of a `ClickTrack`.
public final class ToneCapture: AudioCapture {
    public let format = AudioFormat.mono48k
    private let frequency: Double
    private let amplitude: Double
    private let clicks: ClickTrack?
    private let pace: PacedCapture

    /// Samples in a frame of 20 ms.
    private static let frameSampleCount = 960
    private static let clickSampleCount = 240

    /// - Parameters:
    ///   - frequency: in hertz; held between 20 and 20 000.
    ///   - amplitude: 0…1 of full scale; zero is silence.
    ///   - clicks: where a `PatternCapture` announces its flashes.
    public init(frequency: Double = 440, amplitude: Double = 0.1, clicks: ClickTrack? = nil) {
        self.frequency = min(max(frequency, 20), 20_000)
        self.amplitude = min(max(amplitude, 0), 1)
        self.clicks = clicks
        pace = PacedCapture(rate: FrameRate(50) ?? .fps25)
    }

    public var isCapturing: Bool { pace.isRunning }

    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        try pace.start { [frequency, amplitude, clicks, format] tick in
            let count = Self.frameSampleCount
            // What has sounded in the 20 ms before now, as from a microphone.
            let start = tick.timestamp - .milliseconds(20)
            let first = tick.index * Int64(count)
            var samples = (0..<count).map { offset in
                let cycles = frequency / 48_000 * Double(first + Int64(offset))
                return Int16(32_767 * amplitude * sin(2 * .pi * (cycles - cycles.rounded(.down))))
            }
            for click in clicks?.take(before: tick.timestamp) ?? [] {
                let offset = Int(max(0, (click - start).nanoseconds) * 48 / 1_000_000)
                for index in offset..<min(count, offset + Self.clickSampleCount) {
                    samples[index] = index / 12 % 2 == 0 ? 26_000 : -26_000
                }
            }
            if let frame = AudioFrame(format: format, samples: samples, timestamp: start) { consumer.consume(frame) }
        }
    }

    public func stop() {
        pace.stop()
    }
}

/// Digital silence, for a stream that must have sound but says nothing.
public final class SilenceCapture: AudioCapture {
    private let tone = ToneCapture(amplitude: 0)

    public init() {}

    public var format: AudioFormat { tone.format }
    public var isCapturing: Bool { tone.isCapturing }
    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) { try tone.start(into: consumer) }
    public func stop() { tone.stop() }
}
