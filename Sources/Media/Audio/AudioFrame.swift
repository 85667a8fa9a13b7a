import EmisoraCore

/// Interleaved samples: for stereo L R L R ….
public enum AudioSamples: Hashable, Sendable {
    case int16([Int16])
    case float32([Float])

    /// Samples of all channels together.
    public var count: Int {
        switch self {
        case .int16(let samples): samples.count
        case .float32(let samples): samples.count
        }
    }

    public var sampleFormat: AudioSampleFormat {
        switch self {
        case .int16: .int16
        case .float32: .float32
        }
    }
}

/// A stretch of sound, usually 10 or 20 ms: a value that any thread may read.
///
/// ```swift
/// let frame = try AudioFrame([Int16](repeating: 0, count: 960), format: .mono, timestamp: now)
/// ```
public struct AudioFrame: Sendable {
    /// The longest frame, in seconds of sound.
    public static let longestDuration = 1

    public let format: AudioFormat
    public let samples: AudioSamples
    /// When the first sample was taken, on the monotonic clock; of sound that was received, when it is to be heard.
    public var timestamp: Instant

    /// - Throws: If the format is not valid, the samples are of another kind than the format says, do not fill all
    ///   channels, or last longer than a second.
    public init(samples: AudioSamples, format: AudioFormat, timestamp: Instant) throws(AudioFrameError) {
        try format.validate()
        guard samples.sampleFormat == format.sampleFormat else {
            throw .wrongSampleFormat(needed: format.sampleFormat, given: samples.sampleFormat)
        }
        guard samples.count.isMultiple(of: format.channels) else {
            throw .incompleteSample(samples: samples.count, channels: format.channels)
        }
        let limit = format.sampleRate * Self.longestDuration * format.channels
        guard samples.count > 0, samples.count <= limit else {
            throw .lengthOutOfRange(samples: samples.count, limit: limit)
        }
        self.samples = samples
        self.format = format
        self.timestamp = timestamp
    }

    public init(_ samples: [Int16], format: AudioFormat, timestamp: Instant) throws(AudioFrameError) {
        try self.init(samples: .int16(samples), format: format, timestamp: timestamp)
    }

    public init(_ samples: [Float], format: AudioFormat, timestamp: Instant) throws(AudioFrameError) {
        try self.init(samples: .float32(samples), format: format, timestamp: timestamp)
    }

    /// Samples in each channel.
    public var samplesPerChannel: Int { samples.count / format.channels }

    /// How long the sound lasts, rounded down to a nanosecond.
    public var duration: Duration {
        .nanoseconds(Int64(samplesPerChannel) * 1_000_000_000 / Int64(format.sampleRate))
    }
}
