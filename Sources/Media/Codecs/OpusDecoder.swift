import CEmisoraOpus
import EmisoraAudio
import EmisoraCore

/// Opus decoder with loss concealment. Owns the codec; one thread at a time.
public final class OpusDecoder {
    /// A packet sounds at most 120 ms (RFC 6716 §3.2.5).
    private static let maximumSampleCount = 5_760
    private static let maximumPacketByteCount = 16_384

    public let channels: Int
    private let decoder: OpaquePointer
    private var samples: [Int16]
    private var floatSamples: [Float] = []

    public init(channels: Int = 1) throws(CodecError) {
        guard (1...2).contains(channels) else {
            throw .invalidConfiguration("Opus has one or two channels, not \(channels).")
        }
        var status: Int32 = 0
        guard let decoder = opus_decoder_create(48_000, Int32(channels), &status), status == OPUS_OK else {
            throw .library(String(cString: opus_strerror(status)))
        }
        self.decoder = decoder
        self.channels = channels
        samples = [Int16](repeating: 0, count: Self.maximumSampleCount * channels)
    }

    deinit {
        opus_decoder_destroy(decoder)
    }

    /// The interleaved samples of a packet, at most 120 ms of them.
    public func decode(_ packet: [UInt8]) throws(CodecError) -> [Int16] {
        try checkSize(packet)
        return try run(packet, sampleCount: Self.maximumSampleCount, usesFEC: false)
    }

    /// As `decode`, with samples in −1…1.
    public func decodeFloat(_ packet: [UInt8]) throws(CodecError) -> [Float] {
        try checkSize(packet)
        if floatSamples.isEmpty { floatSamples = [Float](repeating: 0, count: samples.count) }
        let count = opus_decode_float(
            decoder, packet, Int32(packet.count), &floatSamples, Int32(Self.maximumSampleCount), 0)
        guard count >= 0 else { throw .corrupted(String(cString: opus_strerror(count))) }
        return Array(floatSamples[..<(Int(count) * channels)])
    }

    /// Sound in place of a lost packet, made up from what was heard before.
    ///
    /// - Parameter sampleCount: samples of each channel that are missing: a multiple of 120 (2.5 ms) up to 5760.
    public func decodeLost(sampleCount: Int = OpusEncoder.frameSampleCount) throws(CodecError) -> [Int16] {
        try checkGap(sampleCount)
        return try run(nil, sampleCount: sampleCount, usesFEC: false)
    }

    /// A lost packet out of what the next one carries of it; made up where it carries nothing. The next packet still
    /// has to be decoded itself afterwards.
    public func decodeLost(
        next packet: [UInt8], sampleCount: Int = OpusEncoder.frameSampleCount
    ) throws(CodecError) -> [Int16] {
        try checkGap(sampleCount)
        guard (1...Self.maximumPacketByteCount).contains(packet.count) else {
            return try decodeLost(sampleCount: sampleCount)
        }
        return try run(packet, sampleCount: sampleCount, usesFEC: true)
    }

    // MARK: Inside

    private func checkSize(_ packet: [UInt8]) throws(CodecError) {
        guard (1...Self.maximumPacketByteCount).contains(packet.count) else {
            throw .corrupted("a packet has 1 to \(Self.maximumPacketByteCount) bytes, not \(packet.count)")
        }
    }

    private func checkGap(_ sampleCount: Int) throws(CodecError) {
        guard (120...Self.maximumSampleCount).contains(sampleCount), sampleCount % 120 == 0 else {
            throw .invalidConfiguration("Opus fills gaps in steps of 120 samples up to 5760, not \(sampleCount).")
        }
    }

    private func run(_ packet: [UInt8]?, sampleCount: Int, usesFEC: Bool) throws(CodecError) -> [Int16] {
        let count = opus_decode(
            decoder, packet, Int32(packet?.count ?? 0), &samples, Int32(sampleCount), usesFEC ? 1 : 0)
        guard count >= 0 else { throw .corrupted(String(cString: opus_strerror(count))) }
        return Array(samples[..<(Int(count) * channels)])
    }
}
