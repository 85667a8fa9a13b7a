import EmisoraCore

/// A stretch of sound: interleaved samples with their format and the instant at which the first one was captured.
public struct AudioFrame: Sendable {
    public let format: AudioFormat
    public let samples: [Int16]
    public let timestamp: Instant

    /// `nil` unless `samples` holds the same number for each channel, at most one second.
    public init?(format: AudioFormat, samples: [Int16], timestamp: Instant) {
        guard samples.count % format.channels == 0, samples.count <= format.sampleRate * format.channels else {
            return nil
        }
        self.format = format
        self.samples = samples
        self.timestamp = timestamp
    }

    /// Samples of each channel.
    public var sampleCount: Int { samples.count / format.channels }
    public var duration: Duration { .nanoseconds(Int64(sampleCount) * 1_000_000_000 / Int64(format.sampleRate)) }

    /// Root mean square of all samples, 0…1.
    public var level: Double {
        guard !samples.isEmpty else { return 0 }
        let sum = samples.reduce(0.0) { $0 + Double($1) * Double($1) }
        return (sum / Double(samples.count)).squareRoot() / 32_768
    }
}

/// Where decoded sound goes.
///
/// Called on a media thread, one frame of 20 ms at a time. Return soon: the next one waits.
public protocol AudioFrameSink: Sendable {
    func receive(_ frame: AudioFrame)
}
