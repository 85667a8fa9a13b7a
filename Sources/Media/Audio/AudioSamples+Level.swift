extension AudioSamples {
    /// Root mean square of all samples, 1 being full scale; 0 if there are none.
    public var level: Double {
        switch self {
        case .int16(let samples): Self.rootMeanSquare(samples, as: { Double($0) }) / 32_768
        case .float32(let samples): Self.rootMeanSquare(samples, as: { Double($0) })
        }
    }

    /// The samples as 16 bits, what lies beyond full scale cut off.
    package var asInt16: [Int16] {
        switch self {
        case .int16(let samples): samples
        case .float32(let samples):
            samples.map { sample in
                // Not a number becomes silence; infinities become full scale.
                sample.isNaN ? 0 : Int16(clamping: Int((min(max(sample, -1), 1) * 32_767).rounded()))
            }
        }
    }

    private static func rootMeanSquare<Sample>(_ samples: [Sample], as number: (Sample) -> Double) -> Double {
        guard !samples.isEmpty else { return 0 }
        var sum = 0.0
        for sample in samples {
            let value = number(sample)
            sum += value * value
        }
        return (sum / Double(samples.count)).squareRoot()
    }
}

extension AudioFrame {
    /// Root mean square of all samples, 1 being full scale.
    public var level: Double { samples.level }
}
