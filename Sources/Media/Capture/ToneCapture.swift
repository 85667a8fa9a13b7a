import EmisoraAudio
import EmisoraCore
import EmisoraVideo
import Glibc

/// A sine tone, gentle enough to leave on, with clicks for measuring lip-sync if wanted.
///
/// Frames follow one another without a gap or a jump of phase, timed by the monotonic clock. A thread that comes late
/// makes up for as much as 200 ms; beyond, sound is skipped and counted as ``DropReason/captureLate``.
public final class ToneCapture: AudioCapture {
    public let format: AudioFormat
    /// In Hz.
    public let frequency: Double
    /// The peak, 1 being full scale.
    public let level: Double
    /// How much sound a frame holds.
    public let frameDuration: AudioFrameDuration
    public let clicks: ClickTrack?
    private let runner = CaptureRunner()

    /// How long a click lasts: a burst at the fourfold level.
    public static let clickDuration = Duration.milliseconds(5)

    public init(
        frequency: Double = 440, level: Double = 0.1, format: AudioFormat = .mono,
        frameDuration: AudioFrameDuration = .milliseconds20, clicks: ClickTrack? = nil
    ) {
        self.format = format
        self.frequency = frequency
        self.level = level
        self.frameDuration = frameDuration
        self.clicks = clicks
    }

    public var isCapturing: Bool { runner.isCapturing }

    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        guard frequency > 0, frequency < Double(format.sampleRate) / 2 else {
            throw .invalidOption("tone of \(frequency) Hz: must lie between 0 and half the sample rate")
        }
        guard level >= 0, level <= 1 else { throw .invalidOption("level \(level): must be 0 to 1") }
        let tone = ToneGenerator(frequency: frequency, level: level, clicks: clicks)
        let sampleRate = format.sampleRate
        try runner.pace(format: format, frameDuration: frameDuration, into: consumer) { index, time, count in
            tone.samples(frame: index, time: time, count: count, sampleRate: sampleRate)
        }
    }

    public func stop() {
        runner.stop()
    }
}

/// Digital silence, for streams that need a sound track and have no sound. Paced as ``ToneCapture``.
public final class SilenceCapture: AudioCapture {
    public let format: AudioFormat
    public let frameDuration: AudioFrameDuration
    private let runner = CaptureRunner()

    public init(format: AudioFormat = .mono, frameDuration: AudioFrameDuration = .milliseconds20) {
        self.format = format
        self.frameDuration = frameDuration
    }

    public var isCapturing: Bool { runner.isCapturing }

    public func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        try runner.pace(format: format, frameDuration: frameDuration, into: consumer) { _, _, count in
            [Float](repeating: 0, count: count)
        }
    }

    public func stop() {
        runner.stop()
    }
}

/// How much sound a frame holds.
public enum AudioFrameDuration: Hashable, Sendable {
    case milliseconds10
    case milliseconds20

    /// Frames in a second.
    var rate: FrameRate { self == .milliseconds10 ? 100 : 50 }
}

/// Computes a tone by the number of the sample, so that leaving out frames keeps its phase in time.
struct ToneGenerator: Sendable {
    let frequency: Double
    let level: Double
    let clicks: ClickTrack?

    /// One channel of frame number `frame`, each frame having `count` samples.
    func samples(frame: Int, time: Instant, count: Int, sampleRate: Int) -> [Float] {
        let rate = Double(sampleRate)
        let first = Double(frame) * Double(count)
        // Turns since sample 0, without the whole ones: precise for days.
        let start = (first * frequency / rate).truncatingRemainder(dividingBy: 1)
        let step = frequency / rate
        var samples = [Float](repeating: 0, count: count)
        for index in 0..<count {
            samples[index] = Float(level * sin(2 * .pi * (start + Double(index) * step)))
        }
        addClick(to: &samples, frame: frame, time: time, sampleRate: sampleRate)
        return samples
    }

    /// A click may have begun in the frame before and reach into this one.
    private func addClick(to samples: inout [Float], frame: Int, time: Instant, sampleRate: Int) {
        guard let clicks else { return }
        let count = samples.count
        let duration = Duration.nanoseconds(Int64(count) * 1_000_000_000 / Int64(sampleRate))
        for number in [frame - 1, frame] {
            let start = time - duration * (frame - number)
            guard let delay = clicks.click(inFrame: number, start: start, duration: duration) else { continue }
            let offset = (number - frame) * count + Int((delay.inSeconds * Double(sampleRate)).rounded())
            let length = Int(ToneCapture.clickDuration.inSeconds * Double(sampleRate))
            let peak = Float(min(1, max(4 * level, 0.2)))
            let (first, end) = (max(0, offset), min(count, offset + length))
            guard first < end else { continue }
            for index in first..<end {
                // A square wave at 2 kHz: sharp in time, easy to tell from the tone.
                let phase = Double(index - offset) * 2000 / Double(sampleRate)
                samples[index] = phase.truncatingRemainder(dividingBy: 1) < 0.5 ? peak : -peak
            }
        }
    }
}

extension CaptureRunner {
    /// Paces sound: `make` returns one channel, scaled to ±1, which goes to all channels of `format`.
    func pace(
        format: AudioFormat, frameDuration: AudioFrameDuration, into consumer: AudioCaptureConsumer,
        make: @escaping @Sendable (_ index: Int, _ time: Instant, _ count: Int) -> [Float]
    ) throws(CaptureError) {
        do throws(AudioFrameError) {
            try format.validate()
        } catch {
            throw .audioFormat(error)
        }
        let rate = frameDuration.rate
        let count = format.sampleRate / rate.numerator
        guard count * rate.numerator == format.sampleRate else {
            throw .invalidOption("\(format.sampleRate) Hz: not a whole number of samples in each frame")
        }
        try pace(rate, patience: rate.numerator / 5, into: consumer) { tick, run in
            let samples = make(tick.index, tick.time, count).interleaved(for: format)
            if let frame = try? AudioFrame(samples: samples, format: format, timestamp: tick.time) {
                run.hand(frame, to: consumer)
            } else {
                consumer.didDrop(.invalid)
            }
        }
    }
}

extension [Float] {
    /// These samples on each channel of `format`.
    fileprivate func interleaved(for format: AudioFormat) -> AudioSamples {
        let channels = format.channels
        switch format.sampleFormat {
        case .float32:
            var samples = [Float](repeating: 0, count: count * channels)
            for index in samples.indices { samples[index] = self[index / channels] }
            return .float32(samples)
        case .int16:
            var samples = [Int16](repeating: 0, count: count * channels)
            for index in samples.indices {
                samples[index] = Int16(clamping: Int((self[index / channels] * 32_767).rounded()))
            }
            return .int16(samples)
        }
    }
}
