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

    /// The interleaved samples of a packet.
    public func decode(_ packet: [UInt8]) throws(CodecError) -> [Int16] {
        guard (1...Self.maximumPacketByteCount).contains(packet.count) else { throw .corrupted("it has no bytes") }
        return try run(packet, sampleCount: Self.maximumSampleCount, usesFEC: false)
    }

    /// Sound in place of a lost packet of 20 ms, made up from what was heard before.
    public func decodeLost() throws(CodecError) -> [Int16] {
        try run(nil, sampleCount: OpusEncoder.frameSampleCount, usesFEC: false)
    }

    /// A lost packet of 20 ms out of what the next one carries of it; made up where it carries nothing.
    public func decodeLost(next packet: [UInt8]) throws(CodecError) -> [Int16] {
        guard (1...Self.maximumPacketByteCount).contains(packet.count) else { return try decodeLost() }
        return try run(packet, sampleCount: OpusEncoder.frameSampleCount, usesFEC: true)
    }

    private func run(_ packet: [UInt8]?, sampleCount: Int, usesFEC: Bool) throws(CodecError) -> [Int16] {
        let count = opus_decode(
            decoder, packet, Int32(packet?.count ?? 0), &samples, Int32(sampleCount), usesFEC ? 1 : 0)
        guard count >= 0 else { throw .corrupted(String(cString: opus_strerror(count))) }
        return Array(samples[..<(Int(count) * channels)])
    }
}
