/// The shape of sound: rate and channels; samples are interleaved 16-bit integers.
public struct AudioFormat: Hashable, Sendable {
    /// Samples a second of each channel.
    public let sampleRate: Int
    public let channels: Int

    /// `nil` unless the rate is one that Opus takes (8, 12, 16, 24 or 48 kHz) and there are one or two channels.
    public init?(sampleRate: Int, channels: Int) {
        guard [8_000, 12_000, 16_000, 24_000, 48_000].contains(sampleRate), (1...2).contains(channels) else {
            return nil
        }
        self.sampleRate = sampleRate
        self.channels = channels
    }

    private init(known sampleRate: Int, channels: Int) {
        self.sampleRate = sampleRate
        self.channels = channels
    }

    /// What WebRTC sends and what costs no conversion.
    public static let mono48k = AudioFormat(known: 48_000, channels: 1)
    public static let stereo48k = AudioFormat(known: 48_000, channels: 2)
}
