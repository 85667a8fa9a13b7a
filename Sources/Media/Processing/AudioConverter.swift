import EmisoraAudio

/// Brings sound into the shape that Opus takes here: 48 kHz, one or two channels, 16-bit integers.
///
/// Changes channels and sample types only. Sound at another rate is refused: resampling without a filter would alias.
public enum AudioConverter {
    /// The sound with that many channels. Stereo becomes mono as the mean of both, mono becomes stereo twice.
    ///
    /// - Throws: `unsupportedSampleRate` unless the sound is at 48 kHz; `unsupportedChannels` unless it has one or two
    ///   and one or two are asked for.
    public static func convert(_ frame: AudioFrame, channels: Int) throws(AudioConversionError) -> AudioFrame {
        guard frame.format.sampleRate == 48_000 else { throw .unsupportedSampleRate(frame.format.sampleRate) }
        guard (1...2).contains(channels) else { throw .unsupportedChannels(channels) }
        guard (1...2).contains(frame.format.channels) else { throw .unsupportedChannels(frame.format.channels) }
        let format = AudioFormat(channels: channels)
        if format == frame.format { return frame }
        var samples = int16(frame.samples)
        if frame.format.channels != channels { samples = channels == 1 ? mono(samples) : stereo(samples) }
        do throws(AudioFrameError) {
            return try AudioFrame(samples, format: format, timestamp: frame.timestamp)
        } catch {
            throw .unsupportedChannels(channels)
        }
    }

    /// The samples as integers, whatever they are.
    public static func int16(_ samples: AudioSamples) -> [Int16] {
        switch samples {
        case .int16(let samples): samples
        case .float32(let samples): int16(samples)
        }
    }

    /// −1…1 to integers; what lies beyond is clipped, and what is no number is silence.
    public static func int16(_ samples: [Float]) -> [Int16] {
        samples.map { sample in
            guard !sample.isNaN else { return 0 }
            return Int16(max(-32_768, min(32_767, (sample * 32_768).rounded(.toNearestOrEven))))
        }
    }

    /// Integers to −1…1.
    public static func float32(_ samples: [Int16]) -> [Float] {
        samples.map { Float($0) / 32_768 }
    }

    /// Both channels as one, their mean.
    public static func mono(_ interleaved: [Int16]) -> [Int16] {
        (0..<interleaved.count / 2).map { index in
            Int16((Int32(interleaved[2 * index]) + Int32(interleaved[2 * index + 1])) >> 1)
        }
    }

    private static func stereo(_ samples: [Int16]) -> [Int16] {
        var result: [Int16] = []
        result.reserveCapacity(2 * samples.count)
        for sample in samples {
            result.append(sample)
            result.append(sample)
        }
        return result
    }
}

/// Why sound could not be converted.
public enum AudioConversionError: Error, Hashable, Sendable, CustomStringConvertible {
    case unsupportedSampleRate(Int)
    case unsupportedChannels(Int)

    public var description: String {
        switch self {
        case .unsupportedSampleRate(let rate):
            "Sound at \(rate) Hz cannot be converted; capture it at 48000 Hz."
        case .unsupportedChannels(let channels):
            "Sound has one or two channels here, not \(channels)."
        }
    }
}
