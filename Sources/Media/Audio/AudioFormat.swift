/// How a sound's samples are written.
public enum AudioSampleFormat: UInt8, CaseIterable, Hashable, Sendable {
    /// Signed 16-bit, full scale ±32768, in the machine's byte order.
    case int16
    /// 32-bit floating point, full scale ±1.
    case float32

    public var bytesPerSample: Int { self == .int16 ? 2 : 4 }
}

/// Rate, channels and sample format of a sound.
///
/// A format is only a description; it is checked when a frame is made with it, and by ``validate()``.
public struct AudioFormat: Hashable, Sendable {
    /// Samples per second in each channel.
    public let sampleRate: Int
    public let channels: Int
    public let sampleFormat: AudioSampleFormat

    public init(sampleRate: Int = 48_000, channels: Int = 1, sampleFormat: AudioSampleFormat = .int16) {
        self.sampleRate = sampleRate
        self.channels = channels
        self.sampleFormat = sampleFormat
    }

    /// 48 kHz, one channel, 16 bits.
    public static let mono = AudioFormat(channels: 1)
    /// 48 kHz, two channels, 16 bits.
    public static let stereo = AudioFormat(channels: 2)

    /// Rates a frame may have, in Hz.
    public static let sampleRates = 8_000...192_000
    /// Numbers of channels a frame may have.
    public static let channelCounts = 1...8

    /// Throws if no frame can have this format.
    public func validate() throws(AudioFrameError) {
        guard Self.sampleRates.contains(sampleRate) else { throw .sampleRateOutOfRange(sampleRate) }
        guard Self.channelCounts.contains(channels) else { throw .channelCountOutOfRange(channels) }
    }
}
