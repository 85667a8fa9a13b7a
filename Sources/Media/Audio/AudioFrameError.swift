/// Why a stretch of sound could not be made into a frame.
public enum AudioFrameError: Error, Hashable, Sendable {
    case sampleRateOutOfRange(Int)
    case channelCountOutOfRange(Int)
    case wrongSampleFormat(needed: AudioSampleFormat, given: AudioSampleFormat)
    /// The last sample lacks channels.
    case incompleteSample(samples: Int, channels: Int)
    /// No samples, or more than a second of them. Counted over all channels.
    case lengthOutOfRange(samples: Int, limit: Int)
}

extension AudioFrameError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .sampleRateOutOfRange(let rate):
            "\(rate) samples per second: must be \(AudioFormat.sampleRates.lowerBound) to \(AudioFormat.sampleRates.upperBound)"
        case .channelCountOutOfRange(let count):
            "\(count) channels: must be \(AudioFormat.channelCounts.lowerBound) to \(AudioFormat.channelCounts.upperBound)"
        case .wrongSampleFormat(let needed, let given):
            "\(given) samples given, the format says \(needed)"
        case .incompleteSample(let samples, let channels):
            "\(samples) samples do not divide among \(channels) channels"
        case .lengthOutOfRange(let samples, let limit):
            "\(samples) samples: a frame has 1 to \(limit)"
        }
    }
}
