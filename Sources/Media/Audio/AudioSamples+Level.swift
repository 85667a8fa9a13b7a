extension AudioSamples {
    /// Root mean square of all samples, 1 being full scale; 0 if there are none.
    public var level: Double {
        switch self {
        case .int16(let samples): Self.rootMeanSquare(samples, as: { Double($0) }) / 32_768
        case .float32(let samples): Self.rootMeanSquare(samples, as: { Double($0) })
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
