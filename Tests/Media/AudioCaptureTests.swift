import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import Glibc
import Testing

@Suite struct AudioFrameTests {
    @Test func frameKnowsItsLength() throws {
        let frame = try AudioFrame(
            [Float](repeating: 0, count: 882), format: format(44_100, 2, .float32), timestamp: .zero)
        #expect(frame.samplesPerChannel == 441)
        #expect(frame.duration == .milliseconds(10))
    }

    @Test func framesThatCannotBeAreRefused() {
        let samples = [Int16](repeating: 0, count: 3)
        #expect(throws: AudioFrameError.incompleteSample(samples: 3, channels: 2)) {
            _ = try AudioFrame(samples, format: .stereo, timestamp: .zero)
        }
        #expect(throws: AudioFrameError.wrongSampleFormat(needed: .float32, given: .int16)) {
            _ = try AudioFrame(samples, format: format(48_000, 1, .float32), timestamp: .zero)
        }
        #expect(throws: AudioFrameError.channelCountOutOfRange(0)) {
            _ = try AudioFrame(samples, format: format(48_000, 0, .int16), timestamp: .zero)
        }
        #expect(throws: AudioFrameError.sampleRateOutOfRange(0)) {
            _ = try AudioFrame(samples, format: format(0, 1, .int16), timestamp: .zero)
        }
        #expect(throws: AudioFrameError.lengthOutOfRange(samples: 0, limit: 48_000)) {
            _ = try AudioFrame([Int16](), format: .mono, timestamp: .zero)
        }
        #expect(throws: AudioFrameError.lengthOutOfRange(samples: 48_001, limit: 48_000)) {
            _ = try AudioFrame([Int16](repeating: 0, count: 48_001), format: .mono, timestamp: .zero)
        }
    }

    private func format(_ rate: Int, _ channels: Int, _ sampleFormat: AudioSampleFormat) -> AudioFormat {
        AudioFormat(sampleRate: rate, channels: channels, sampleFormat: sampleFormat)
    }
}

@Suite struct ToneCaptureTests {
    @Test(arguments: [AudioFrameDuration.milliseconds10, .milliseconds20])
    func toneHasItsFrequencyAcrossFrames(_ duration: AudioFrameDuration) throws {
        let consumer = makeOpenAudioConsumer()
        let capture = ToneCapture(frequency: 440, level: 0.1, frameDuration: duration)
        try capture.start(into: consumer)
        let frames = take(10, from: consumer)
        capture.stop()
        let samples = frames.flatMap(int16Samples).map { Double($0) / 32_767 }
        #expect(samples.count == 10 * (duration == .milliseconds10 ? 480 : 960))
        #expect(abs(amplitude(of: 440, in: samples) - 0.1) < 0.005)
        #expect(amplitude(of: 880, in: samples) < 0.002)
        #expect(amplitude(of: 500, in: samples) < 0.01)
    }

    @Test func timestampsFollowOneAnotherWithoutAGap() throws {
        let consumer = makeOpenAudioConsumer()
        let capture = ToneCapture(frameDuration: .milliseconds10)
        try capture.start(into: consumer)
        let frames = take(20, from: consumer)
        capture.stop()
        #expect(frames.count == 20)
        for (earlier, later) in zip(frames, frames.dropFirst()) {
            #expect(later.timestamp == earlier.timestamp + earlier.duration)
        }
    }

    @Test func allChannelsSoundAlike() throws {
        let consumer = makeOpenAudioConsumer()
        let capture = ToneCapture(format: AudioFormat(channels: 2, sampleFormat: .float32))
        try capture.start(into: consumer)
        let frame = try #require(take(1, from: consumer).first)
        capture.stop()
        guard case .float32(let samples) = frame.samples else {
            Issue.record("float samples expected")
            return
        }
        #expect(samples.count == 1920)
        for index in stride(from: 0, to: samples.count, by: 2) { #expect(samples[index] == samples[index + 1]) }
        #expect(samples.contains { $0 > 0.09 })
    }

    @Test func clickStandsAtItsFrame() throws {
        let consumer = makeOpenAudioConsumer()
        let capture = ToneCapture(level: 0.05, frameDuration: .milliseconds10, clicks: .frame(2))
        try capture.start(into: consumer)
        let frames = take(5, from: consumer)
        capture.stop()
        let peaks = frames.map { int16Samples($0).map { abs(Int($0)) }.max() ?? 0 }
        #expect(peaks.map { $0 > 5000 } == [false, false, true, false, false])
    }

    @Test func periodicClicksStandOnMultiplesOfThePeriod() throws {
        let consumer = makeOpenAudioConsumer(queueLimit: 50)
        let capture = ToneCapture(level: 0.05, frameDuration: .milliseconds10, clicks: .every(.milliseconds(50)))
        try capture.start(into: consumer)
        let frames = take(15, from: consumer)
        capture.stop()
        var clicks: [Instant] = []
        var wasLoud = false
        for frame in frames {
            for (index, sample) in int16Samples(frame).enumerated() {
                let isLoud = abs(Int(sample)) > 5000
                if isLoud, !wasLoud {
                    clicks.append(frame.timestamp + .nanoseconds(Int64(index) * 1_000_000_000 / 48_000))
                }
                wasLoud = isLoud
            }
        }
        #expect(clicks.count >= 2)
        for click in clicks.dropFirst() {
            let distance = (click.nanoseconds + 25_000_000) % 50_000_000 - 25_000_000
            #expect(abs(distance) < 50_000)
        }
    }

    @Test func silenceIsSilent() throws {
        let consumer = makeOpenAudioConsumer()
        let capture = SilenceCapture(format: .stereo)
        try capture.start(into: consumer)
        let frame = try #require(take(1, from: consumer).first)
        capture.stop()
        #expect(!capture.isCapturing)
        #expect(frame.samplesPerChannel == 960)
        #expect(int16Samples(frame).allSatisfy { $0 == 0 })
    }

    @Test func optionsOutOfRangeAreRefused() {
        let consumer = makeOpenAudioConsumer()
        let captures: [any AudioCapture] = [
            ToneCapture(frequency: 0), ToneCapture(frequency: 24_000), ToneCapture(frequency: .nan),
            ToneCapture(level: 1.5), ToneCapture(level: .nan), ToneCapture(format: AudioFormat(channels: 0)),
            SilenceCapture(format: AudioFormat(sampleRate: 11_025)),
        ]
        for capture in captures {
            #expect(throws: CaptureError.self) { try capture.start(into: consumer) }
            #expect(!capture.isCapturing)
        }
    }

    /// The amplitude of one frequency (Goertzel's algorithm).
    private func amplitude(of frequency: Double, in samples: [Double]) -> Double {
        let turn = 2 * Double.pi * frequency / 48_000
        let coefficient = 2 * cos(turn)
        var (last, beforeLast) = (0.0, 0.0)
        for sample in samples { (last, beforeLast) = (sample + coefficient * last - beforeLast, last) }
        let power = last * last + beforeLast * beforeLast - coefficient * last * beforeLast
        return 2 * power.squareRoot() / Double(samples.count)
    }
}
