import EmisoraCore

/// Finds out when the samples of a sound card were taken, and how fast its clock really runs, from readings that
/// jitter: a Kalman filter whose state is the time of a sample and the clock's deviation.
///
/// In the steady state it is the delay-locked loop that sound servers use; unlike one, it needs no bandwidth for the
/// start. Knows no clock and no device.
package struct DriftEstimator: Sendable {
    /// Clocks that deviate more are taken for ones that do so much.
    package static let largestDeviation = 1000e-6
    /// Readings that are farther off than this, again and again, are no jitter: samples are missing.
    package static let largestError = 0.02
    private static let patience = 5
    /// What a clock may be off before anything was measured (standard deviation).
    private static let expectedDeviation = 150e-6
    /// How a deviation wanders as the device grows warm: variance per second.
    private static let wander = 1e-14
    private static let noiseRange = 1e-8...1e-4

    private let rate: Double
    private var origin: Instant?
    /// The state belongs to this sample.
    private var index = 0.0
    /// Seconds from the origin to that sample.
    private var time = 0.0
    /// How much longer a sample lasts than the rate says, relative.
    package private(set) var deviation = 0.0
    private var timeVariance = 0.0
    private var covariance = 0.0
    private var deviationVariance = Self.expectedDeviation * Self.expectedDeviation
    /// The variance of readings.
    private var noise = 2.5e-7
    private var strikes = 0

    package init(sampleRate: Int) {
        rate = Double(max(1, sampleRate))
    }

    /// How much faster the device's clock is than the monotonic one, in millionths.
    package var partsPerMillion: Double { -deviation * 1e6 }

    /// Forgets when samples were taken, since some are missing; what is known of the clock's speed stays.
    package mutating func restart() {
        origin = nil
        strikes = 0
        covariance = 0
    }

    /// When sample `index` was taken; `nil` before the first reading.
    package func time(ofSample index: Double) -> Instant? {
        guard let origin else { return nil }
        return origin + .nanoseconds(Int64(seconds(to: index) * 1e9))
    }

    /// Takes in a reading: sample `index` was taken at `instant`. Indices grow.
    ///
    /// - Returns: `false` if readings have jumped, so that the times of samples are no longer known.
    package mutating func observe(sample index: Int, at instant: Instant) -> Bool {
        guard let origin else {
            origin = instant
            self.index = Double(index)
            time = 0
            timeVariance = noise
            return true
        }
        let elapsed = max(0, (Double(index) - self.index) / rate)
        time = seconds(to: Double(index))
        self.index = Double(index)
        timeVariance += elapsed * (2 * covariance + elapsed * deviationVariance)
        covariance += elapsed * deviationVariance
        deviationVariance += elapsed * Self.wander

        let error = (instant - origin).inSeconds - time
        strikes = abs(error) > Self.largestError ? strikes + 1 : 0
        if strikes >= Self.patience { return false }
        correct(by: error)
        return true
    }

    private mutating func correct(by error: Double) {
        let total = timeVariance + noise
        // A thread that was held up must not pull far.
        let limit = 3 * total.squareRoot()
        let error = min(limit, max(-limit, error))
        let (timeGain, deviationGain) = (timeVariance / total, covariance / total)
        time += timeGain * error
        deviation = min(Self.largestDeviation, max(-Self.largestDeviation, deviation + deviationGain * error))
        deviationVariance -= deviationGain * covariance
        covariance -= deviationGain * timeVariance
        timeVariance -= timeGain * timeVariance
        noise += 0.02 * (error * error - noise)
        noise = min(Self.noiseRange.upperBound, max(Self.noiseRange.lowerBound, noise))
    }

    private func seconds(to index: Double) -> Double {
        time + (index - self.index) / rate * (1 + deviation)
    }
}
