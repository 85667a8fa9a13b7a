import EmisoraCapture
import EmisoraCore
import Glibc
import Testing

@Suite struct DriftEstimatorTests {
    @Test(arguments: [-200.0, -35, 0, 120, 200], [Duration.microseconds(20), .milliseconds(1), .milliseconds(4)])
    func clockSpeedIsFoundInSpiteOfJitter(_ drift: Double, _ jitter: Duration) {
        var card = SimulatedCard(drift: drift, jitter: jitter, seed: 7)
        var estimator = DriftEstimator(sampleRate: 48_000)
        var worstTime = 0.0
        for step in 0..<12_000 {
            let index = card.position
            let isSteady = estimator.observe(sample: index, at: card.nextReading())
            #expect(isSteady)
            guard step > 6000, let estimate = estimator.time(ofSample: Double(index)) else { continue }
            worstTime = max(worstTime, abs((estimate - card.start).inSeconds - card.time(ofSample: index)))
        }
        #expect(abs(estimator.partsPerMillion - drift) < 3 + jitter.inMilliseconds, "after two minutes")
        #expect(worstTime < 20e-6 + jitter.inSeconds / 10)
    }

    @Test func aHeldUpThreadDoesNotPullFar() throws {
        var card = SimulatedCard(drift: 50, jitter: .microseconds(100))
        var estimator = DriftEstimator(sampleRate: 48_000)
        for step in 0..<6000 {
            let index = card.position
            var time = card.nextReading()
            if step % 500 == 499 { time = time + .milliseconds(15) }
            let isSteady = estimator.observe(sample: index, at: time)
            #expect(isSteady)
        }
        #expect(abs(estimator.partsPerMillion - 50) < 5)
    }

    @Test func missingSamplesAreNoJitter() {
        var card = SimulatedCard(drift: 0, jitter: .microseconds(100))
        var estimator = DriftEstimator(sampleRate: 48_000)
        var answers: [Bool] = []
        for step in 0..<505 {
            if step == 500 { card.lose(.milliseconds(50)) }
            let index = card.position
            answers.append(estimator.observe(sample: index, at: card.nextReading()))
        }
        #expect(answers.firstIndex(of: false) == 504)
    }
}

@Suite struct DriftCorrectorTests {
    /// Plays the card for so many seconds.
    private func run(
        _ card: inout SimulatedCard, _ corrector: inout DriftCorrector, seconds: Int
    ) -> [DriftCorrector.Frame] {
        var frames: [DriftCorrector.Frame] = []
        for _ in 0..<seconds * 100 {
            let (samples, time) = card.next()
            corrector.append(samples, at: time)
            while let frame = corrector.takeFrame() { frames.append(frame) }
        }
        return frames
    }

    /// By how many seconds a frame's tone is off from where its timestamp says.
    private func offset(_ frame: DriftCorrector.Frame, from start: Instant) -> Double {
        let base = (frame.timestamp - start).inSeconds
        var (cosine, sine) = (0.0, 0.0)
        for (index, sample) in frame.samples.enumerated() {
            let turn = 2 * .pi * SimulatedCard.frequency * (base + Double(index) / 48_000)
            cosine += Double(sample) * cos(turn)
            sine += Double(sample) * sin(turn)
        }
        return atan2(cosine, sine) / (2 * .pi * SimulatedCard.frequency)
    }

    private func largestStep(_ samples: [Float]) -> Float {
        zip(samples, samples.dropFirst()).map { abs($0 - $1) }.max() ?? 0
    }

    /// What the tone itself has from one sample to the next at 48 kHz.
    private var toneStep: Float {
        Float(2 * SimulatedCard.amplitude * sin(Double.pi * SimulatedCard.frequency / 48_000))
    }

    @Test(arguments: zip([-200.0, 200], [Duration.microseconds(50), .milliseconds(2)]))
    func driftIsCorrectedWithoutAClick(_ drift: Double, _ jitter: Duration) throws {
        var card = SimulatedCard(drift: drift, jitter: jitter, seed: 3)
        var corrector = DriftCorrector(channels: 1, inputRate: 48_000)
        let frames = run(&card, &corrector, seconds: 45)
        // So long, 200 millionths are 9 ms.
        #expect((2247...2251).contains(frames.count))
        for (earlier, later) in zip(frames, frames.dropFirst()) {
            #expect(later.timestamp == earlier.timestamp + .milliseconds(20))
            #expect(later.lost == .zero)
        }
        // The first samples rise from silence.
        let sound = frames.dropFirst().flatMap(\.samples)
        #expect(largestStep(sound) < toneStep * 1.001)
        for frame in frames.dropFirst() { #expect(abs(offset(frame, from: card.start)) < 0.004) }
        for frame in frames.suffix(1000) { #expect(abs(offset(frame, from: card.start)) < 0.0005) }

        for start in [0.5, 2, 5, 10, 30, 40] {
            let window = sound[Int(start * 48_000)..<Int(start * 48_000) + 4800]
            let tone = FittedTone(Array(window), near: 1000, range: 2)
            #expect(tone.signalToNoise > 60, "\(start) s after the start")
            #expect(abs(tone.amplitude - SimulatedCard.amplitude) < 0.001)
        }
        let end = FittedTone(Array(sound.suffix(48_000)), near: 1000, range: 0.5)
        #expect(end.signalToNoise > 60)
        #expect(abs(end.frequency - 1000) < 0.012, "12 millionths")
        #expect(abs(corrector.partsPerMillion - drift) < 5)
    }

    @Test(arguments: [44_100, 16_000, 96_000]) func otherRatesAreConvertedOnTheWay(_ rate: Int) {
        var card = SimulatedCard(sampleRate: rate, drift: 150, jitter: .microseconds(200))
        var corrector = DriftCorrector(channels: 1, inputRate: rate)
        let frames = run(&card, &corrector, seconds: 10)
        #expect((495...500).contains(frames.count))
        let sound = frames.dropFirst().flatMap(\.samples)
        #expect(largestStep(sound) < toneStep * 1.001)
        let tone = FittedTone(Array(sound.suffix(9600)), near: 1000, range: 1)
        #expect(tone.signalToNoise > 60)
        #expect(abs(tone.frequency - 1000) < 0.05)
    }

    @Test func readingsThatAreAlwaysLateShiftTheSoundByTheirMean() {
        var card = SimulatedCard(drift: -80, jitter: .milliseconds(6), lateOnly: true)
        var corrector = DriftCorrector(channels: 1, inputRate: 48_000)
        let frames = run(&card, &corrector, seconds: 60)
        for frame in frames.suffix(1000) {
            // Labelled later than it was: the tone stands earlier in the frame, by about 3 ms, modulo its period.
            let shift = offset(frame, from: card.start)
            #expect(abs(shift.remainder(dividingBy: 0.001)) < 0.0005)
        }
        #expect(largestStep(frames.dropFirst().flatMap(\.samples)) < toneStep * 1.001)
    }

    @Test(arguments: [Duration.milliseconds(7), .milliseconds(50), .seconds(4)])
    func timestampsJumpByWhatAnOverrunLost(_ lost: Duration) throws {
        var card = SimulatedCard(drift: 200, jitter: .microseconds(300))
        var corrector = DriftCorrector(channels: 1, inputRate: 48_000)
        let before = run(&card, &corrector, seconds: 10)
        card.lose(lost)
        corrector.interrupt()
        let after = run(&card, &corrector, seconds: 10)
        let last = try #require(before.last)
        let first = try #require(after.first)
        #expect(first.timestamp - last.timestamp == first.lost + .milliseconds(20))
        // What had not filled a frame went, too.
        #expect(first.lost > lost - .milliseconds(1))
        #expect(first.lost < lost + .milliseconds(22))
        #expect(after.dropFirst().allSatisfy { $0.lost == .zero })
        // The clock's speed is still known: at once right, and to the end.
        for frame in after.dropFirst() { #expect(abs(offset(frame, from: card.start)) < 0.0005) }
        #expect(abs(corrector.partsPerMillion - 200) < 20)
    }

    @Test func samplesThatGoLostWithoutAWordAreNoticed() throws {
        var card = SimulatedCard(drift: 0, jitter: .microseconds(300))
        var corrector = DriftCorrector(channels: 1, inputRate: 48_000)
        _ = run(&card, &corrector, seconds: 10)
        card.lose(.milliseconds(300))
        let after = run(&card, &corrector, seconds: 10)
        let gaps = after.filter { $0.lost != .zero }
        try #require(gaps.count == 1)
        #expect(abs(gaps[0].lost.inMilliseconds - 300) < 60)
        for frame in after.suffix(100) { #expect(abs(offset(frame, from: card.start)) < 0.0005) }
    }

    @Test func timesThatStepBackNeverMakeFramesOverlap() throws {
        var card = SimulatedCard(drift: 0, jitter: .microseconds(100))
        var corrector = DriftCorrector(channels: 1, inputRate: 48_000)
        var frames = run(&card, &corrector, seconds: 2)
        card.lose(.milliseconds(-200))
        corrector.interrupt()
        frames += run(&card, &corrector, seconds: 2)
        for (earlier, later) in zip(frames, frames.dropFirst()) {
            #expect(later.timestamp >= earlier.timestamp + .milliseconds(20))
        }
        for frame in frames.suffix(20) { #expect(abs(offset(frame, from: card.start)) < 0.0005) }
    }

    @Test func channelsStayApart() {
        var corrector = DriftCorrector(channels: 2, inputRate: 44_100)
        var frames: [DriftCorrector.Frame] = []
        for block in 0..<50 {
            let samples: [Float] = (0..<441).flatMap { _ -> [Float] in [0.25, -0.75] }
            corrector.append(samples, at: .milliseconds(1000 + 10 * block))
            while let frame = corrector.takeFrame() { frames.append(frame) }
        }
        #expect(frames.count >= 20)
        for frame in frames.dropFirst() {
            #expect(frame.samples.count == 1920)
            for index in stride(from: 0, to: 1920, by: 2) {
                #expect(abs(frame.samples[index] - 0.25) < 1e-4 && abs(frame.samples[index + 1] + 0.75) < 1e-4)
            }
        }
    }
}

@Suite struct SincResamplerTests {
    /// One second of a tone through the resampler; the first tenth left out.
    private func resampled(_ frequency: Double, from rate: Int, to output: Int = 48_000) -> [Float] {
        var resampler = SincResampler(channels: 1, inputRate: rate, outputRate: output)
        resampler.append((0..<rate).map { Float(0.5 * sin(2 * .pi * frequency * Double($0) / Double(rate))) })
        var samples: [Float] = []
        while let block = resampler.make(480) { samples += block }
        return Array(samples.dropFirst(output / 10))
    }

    @Test(arguments: [(44_100, 1000.0), (44_100, 15_000), (8000, 1000), (96_000, 1000), (192_000, 18_000)])
    func tonesKeepTheirPurity(_ rate: Int, _ frequency: Double) {
        let tone = FittedTone(resampled(frequency, from: rate), near: frequency, range: 0.5)
        #expect(tone.signalToNoise > 72)
        #expect(abs(tone.amplitude - 0.5) < 0.002)
        #expect(abs(tone.frequency - frequency) < 0.01)
    }

    @Test func whatTheOutputCannotCarryIsFilteredOut() {
        let samples = resampled(30_000, from: 96_000)
        #expect((samples.map { abs($0) }.max() ?? 1) < 0.0005)
    }

    @Test func blocksOfAnySizeMakeTheSameSound() throws {
        var random = TestRandom(state: 5)
        let sound = (0..<44_100).map { _ in Float.random(in: -1...1, using: &random) }
        var whole = SincResampler(channels: 1, inputRate: 44_100, outputRate: 48_000)
        whole.append(sound)
        let block = whole.make(40_000)
        let expected = try #require(block)
        var pieces = SincResampler(channels: 1, inputRate: 44_100, outputRate: 48_000)
        var (rest, made) = (sound[...], [Float]())
        while made.count < 40_000 {
            let count = min(40_000 - made.count, Int.random(in: 1...700, using: &random))
            if let piece = pieces.make(count) {
                made += piece
            } else {
                let size = min(rest.count, Int.random(in: 1...900, using: &random))
                pieces.append(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
        }
        let worst = zip(expected, made).map { abs($0 - $1) }.max() ?? 1
        #expect(worst < 1e-4)
    }
}
