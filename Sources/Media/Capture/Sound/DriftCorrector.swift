import EmisoraCore

/// Turns the samples of a device, whose clock is its own, into frames of 20 ms at 48 kHz of the monotonic clock: each
/// begins exactly where the one before ended, for as long as no sample is missing.
///
/// ```
/// samples, times ─▶ DriftEstimator ─▶ when each sample was taken ─▶ ratio ─▶ SincResampler ─▶ frames
/// ```
///
/// The ratio follows what was measured slowly: by 20 millionths a second, and by 100 millionths more than the drift
/// when times are to be caught up. Knows no clock and no device; one thread at a time.
package struct DriftCorrector: Sendable {
    package static let sampleRate = 48_000
    /// Samples of each channel in a frame.
    package static let frameLength = 960
    package static let frameDuration = Duration.milliseconds(20)

    package struct Frame: Sendable {
        /// Interleaved.
        package let samples: [Float]
        package let timestamp: Instant
        /// How much sound is missing before it.
        package let lost: Duration
    }

    /// In seconds: within this time, sound that is early or late comes to its place.
    private static let catchUpTime = 10.0
    private static let largestCatchUp = 100e-6
    /// Less than this is caught up the slower the less it is: it is mostly the readings' jitter, which must not be heard.
    private static let smallError = 0.001
    private static let largestChange = 20e-6 * frameDuration.inSeconds
    /// Sound that is farther from its place begins anew there.
    private static let largestError = 0.025

    private let channels: Int
    private let inputRate: Int
    private var estimator: DriftEstimator
    private var resampler: SincResampler
    /// Relative to the ratio of the rates.
    private var correction = 0.0
    /// Samples of each channel since the estimator began.
    private var appended = 0
    /// Samples at the beginning that are left out, since their time is over; how many were, and how many are to come.
    private var skipped = 0
    private var surplus = 0
    /// The time of the next frame; `nil` before the first samples and after an interruption.
    private var next: Instant?
    /// The end of the last frame.
    private var end: Instant?

    package init(channels: Int, inputRate: Int) {
        self.channels = channels
        self.inputRate = inputRate
        estimator = DriftEstimator(sampleRate: inputRate)
        resampler = SincResampler(channels: channels, inputRate: inputRate, outputRate: Self.sampleRate)
    }

    /// How much faster the device's clock is than the monotonic one, in millionths.
    package var partsPerMillion: Double { estimator.partsPerMillion }

    /// Samples are missing before those that come next, whose times tell how many. What does not fill a frame goes.
    package mutating func interrupt() {
        estimator.restart()
        resampler.restart()
        appended = 0
        surplus = 0
        next = nil
    }

    /// One for another device, or the same one opened anew: its times follow those of this one.
    package func following(inputRate: Int) -> DriftCorrector {
        var other = DriftCorrector(channels: channels, inputRate: inputRate)
        other.end = end
        return other
    }

    /// Takes in interleaved samples.
    ///
    /// - Parameter time: When the first of them was taken, as well as is known.
    package mutating func append(_ samples: [Float], at time: Instant) {
        let count = samples.count / channels
        guard count > 0 else { return }
        if !estimator.observe(sample: appended, at: time) {
            interrupt()
            _ = estimator.observe(sample: 0, at: time)
        }
        if next == nil { begin(at: time) }
        appended += count
        let left = min(surplus, count)
        surplus -= left
        resampler.append(left == 0 ? samples : Array(samples.dropFirst(left * channels)))
    }

    /// The next frame, if enough was appended.
    package mutating func takeFrame() -> Frame? {
        guard let timestamp = next, let error = error(at: timestamp) else { return nil }
        guard abs(error) <= Self.largestError else {
            interrupt()
            return nil
        }
        // Sound that was taken later than its frame says is used up slower, until it is not.
        let urgency = min(1, abs(error) / Self.smallError) / Self.catchUpTime
        let catchUp = min(Self.largestCatchUp, max(-Self.largestCatchUp, error * urgency))
        let wanted = -estimator.deviation - catchUp
        let change = min(Self.largestChange, max(-Self.largestChange, wanted - correction))
        resampler.step = Double(inputRate) / Double(Self.sampleRate) * (1 + correction + change)
        guard let samples = resampler.make(Self.frameLength) else { return nil }
        // Only now, so that a frame changes it once however often it is asked for.
        correction += change
        defer {
            end = timestamp + Self.frameDuration
            next = end
        }
        return Frame(samples: samples, timestamp: timestamp, lost: end.map { timestamp - $0 } ?? .zero)
    }

    private mutating func begin(at time: Instant) {
        let start = max(time, end ?? time)
        next = start
        // Times that step back would have the same moment twice.
        surplus = Int(((start - time).inSeconds * Double(inputRate)).rounded())
        skipped = surplus
    }

    /// By how many seconds the next frame's first sample was taken later than its time says.
    private func error(at timestamp: Instant) -> Double? {
        estimator.time(ofSample: resampler.inputPosition + Double(skipped)).map { ($0 - timestamp).inSeconds }
    }
}
