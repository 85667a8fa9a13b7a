/// What is wrong with a WAV file, and where. ``WAVCapture`` throws it within ``CaptureError/custom(_:)``.
public struct WAVError: Error, Hashable, Sendable {
    public let path: String
    /// Bytes from the start of the file to what is wrong.
    public let offset: Int
    public let problem: Problem

    public enum Problem: Error, Hashable, Sendable {
        /// The file does not begin with `RIFF` and `WAVE`.
        case notWAV
        /// No chunk of that name among the first 1000.
        case missingChunk(String)
        /// The description of the samples is shorter than it must be.
        case formatTooShort(bytes: Int)
        /// Samples are not linear PCM or floating point; this is the number of their kind.
        case unsupportedEncoding(tag: Int)
        /// Samples of so many bits are not read.
        case unsupportedBits(Int, isFloat: Bool)
        case channelCountOutOfRange(Int)
        case sampleRateOutOfRange(Int)
        /// The size of a sample in all channels contradicts channels and bits.
        case contradictoryBlockSize(needed: Int, given: Int)
        /// There are no samples.
        case noSamples
        /// The file ends within its samples. Counted from ``WAVError/offset``.
        case truncated(needed: Int, available: Int)
    }
}

extension WAVError: CustomStringConvertible {
    public var description: String {
        "\(path): byte \(offset): \(problem)"
    }
}

extension WAVError.Problem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notWAV: "not a WAV file, it must begin with RIFF and WAVE; other kinds are played with file:PATH"
        case .missingChunk(let name): "the file has no chunk \"\(name)\": fetch or make it again"
        case .formatTooShort(let bytes): "the description of the samples has \(bytes) bytes, at least 16 are needed"
        case .unsupportedEncoding(let tag):
            "samples of kind \(tag) are not read, only linear PCM and floating point; \(Self.cure)"
        case .unsupportedBits(let bits, true): "floating point of \(bits) bits is not read, only of 32; \(Self.cure)"
        case .unsupportedBits(let bits, false):
            "samples of \(bits) bits are not read, only of 8, 16, 24 and 32; \(Self.cure)"
        case .channelCountOutOfRange(let count):
            "\(count) channels: 1 to \(WAVHeader.channelCounts.upperBound) are read"
        case .sampleRateOutOfRange(let rate): "\(rate) samples a second: 8000 to 192000 are read; \(Self.cure)"
        case .contradictoryBlockSize(let needed, let given):
            "a sample of all channels has \(needed) bytes, the file says \(given): make it again"
        case .noSamples: "the file has no samples"
        case .truncated(let needed, let available):
            "the file ends: \(needed) bytes needed, \(available) left; \(Self.cure)"
        }
    }

    private static var cure: String { "convert it with ffmpeg -i IN -c:a pcm_s16le OUT.wav" }
}
