import EmisoraCapture
import EmisoraCore
import Glibc

/// A sine tone fitted to samples, and how well it fits.
struct FittedTone {
    let frequency: Double
    let amplitude: Double
    /// The tone's power over that of everything else, in decibels.
    let signalToNoise: Double

    /// Finds the tone near `frequency`, within `range` of it, that leaves least of the samples.
    init(_ samples: [Float], near frequency: Double, range: Double, sampleRate: Double = 48_000) {
        func residue(_ frequency: Double) -> (noise: Double, signal: Double) {
            Self.fit(samples, 2 * .pi * frequency / sampleRate)
        }
        // The residue has one minimum within a fraction of the window's resolution: golden section.
        var (low, high) = (frequency - range, frequency + range)
        for _ in 0..<24 {
            let (left, right) = (low + 0.382 * (high - low), low + 0.618 * (high - low))
            if residue(left).noise < residue(right).noise { high = right } else { low = left }
        }
        self.frequency = (low + high) / 2
        let best = residue(self.frequency)
        amplitude = (2 * best.signal).squareRoot()
        signalToNoise = 10 * log10(best.signal / max(best.noise, 1e-20))
    }

    /// Least squares over a cosine, a sine and a constant; mean powers.
    private static func fit(_ samples: [Float], _ turn: Double) -> (noise: Double, signal: Double) {
        let count = Double(samples.count)
        let mean = samples.reduce(0) { $0 + Double($1) } / count
        var (cc, ss, cs, xc, xs) = (0.0, 0.0, 0.0, 0.0, 0.0)
        let (stepCos, stepSin) = (cos(turn), sin(turn))
        var (c, s) = (1.0, 0.0)
        for sample in samples {
            let x = Double(sample) - mean
            cc += c * c
            ss += s * s
            cs += c * s
            xc += x * c
            xs += x * s
            (c, s) = (c * stepCos - s * stepSin, s * stepCos + c * stepSin)
        }
        let determinant = cc * ss - cs * cs
        let (a, b) = ((xc * ss - xs * cs) / determinant, (xs * cc - xc * cs) / determinant)
        var (noise, signal) = (0.0, 0.0)
        (c, s) = (1, 0)
        for sample in samples {
            let tone = a * c + b * s
            let rest = Double(sample) - mean - tone
            noise += rest * rest
            signal += tone * tone
            (c, s) = (c * stepCos - s * stepSin, s * stepCos + c * stepSin)
        }
        return (noise / count, signal / count)
    }
}

/// A sound card with a clock of its own, in virtual time: a 1 kHz tone by the monotonic clock, sampled by the card's.
struct SimulatedCard {
    let sampleRate: Int
    /// How much faster its clock is, in millionths.
    var drift: Double
    /// How much readings of the time are off at most; `lateOnly` for threads that come late.
    var jitter: Duration
    var lateOnly = false
    var random: TestRandom
    /// When sample 0 was taken.
    let start = Instant.milliseconds(1_000_000)
    private(set) var position = 0
    /// Seconds of the monotonic clock that passed in samples that went lost.
    private var lost = 0.0

    init(sampleRate: Int = 48_000, drift: Double, jitter: Duration, lateOnly: Bool = false, seed: UInt64 = 1) {
        self.sampleRate = sampleRate
        self.drift = drift
        self.jitter = jitter
        self.lateOnly = lateOnly
        random = TestRandom(state: seed)
    }

    var samplePeriod: Double { 1 / (Double(sampleRate) * (1 + drift * 1e-6)) }

    /// When a sample is taken, in seconds since the start.
    func time(ofSample index: Int) -> Double { lost + Double(index) * samplePeriod }

    /// 10 ms of sound and a reading of when it began.
    mutating func next() -> (samples: [Float], time: Instant) {
        let samples = (0..<sampleRate / 100).map { Self.tone(at: time(ofSample: position + $0)) }
        return (samples, nextReading())
    }

    /// As ``next()``, without the sound.
    mutating func nextReading() -> Instant {
        let span = jitter.inSeconds * 1e9
        let error = Double.random(in: (lateOnly ? 0 : -1)...1, using: &random) * span
        let reading = start + .nanoseconds(Int64(time(ofSample: position) * 1e9 + error))
        position += sampleRate / 100
        return reading
    }

    /// Samples that nobody fetches.
    mutating func lose(_ duration: Duration) {
        lost += duration.inSeconds
    }

    static let frequency = 1000.0
    static let amplitude = 0.5

    static func tone(at seconds: Double) -> Float {
        Float(amplitude * sin(2 * .pi * (frequency * seconds).truncatingRemainder(dividingBy: 1)))
    }
}
