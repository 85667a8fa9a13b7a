import CEmisoraOpus
import EmisoraAudio
import EmisoraCore

/// Opus at 48 kHz in packets of 20 ms. Owns the codec; one thread at a time.
public final class OpusEncoder {
    public struct Configuration: Hashable, Sendable {
        public var channels: Int
        public var bitrate: DataRate
        /// 0 (cheapest) … 10.
        public var complexity: Int
        /// Each packet carries the one before again, coarsely, for the receiver that lost it (RFC 6716 §2.1.7).
        public var usesInbandFEC: Bool
        /// How much loss to prepare for; FEC is written only when it is above zero.
        public var expectedLossPercent: Int
        /// Sends nothing while it is silent.
        public var usesDTX: Bool

        public init(
            channels: Int = 1, bitrate: DataRate = .kilobitsPerSecond(32), complexity: Int = 5,
            usesInbandFEC: Bool = true, expectedLossPercent: Int = 5, usesDTX: Bool = false
        ) {
            self.channels = channels
            self.bitrate = bitrate
            self.complexity = complexity
            self.usesInbandFEC = usesInbandFEC
            self.expectedLossPercent = expectedLossPercent
            self.usesDTX = usesDTX
        }
    }

    /// Samples of each channel in a packet.
    public static let frameSampleCount = 960
    /// RFC 6716 §3.2.1's largest frame, with room for what comes before it.
    private static let maximumPacketByteCount = 1_275

    public let configuration: Configuration
    private let encoder: OpaquePointer
    private var packet = [UInt8](repeating: 0, count: maximumPacketByteCount)

    public init(_ configuration: Configuration = Configuration()) throws(CodecError) {
        guard (1...2).contains(configuration.channels) else {
            throw .invalidConfiguration("Opus takes one or two channels, not \(configuration.channels).")
        }
        var status: Int32 = 0
        guard
            let encoder = opus_encoder_create(
                48_000, Int32(configuration.channels), OPUS_APPLICATION_AUDIO, &status), status == OPUS_OK
        else { throw .library(String(cString: opus_strerror(status))) }
        self.encoder = encoder
        self.configuration = configuration
        let results = [
            emisora_opus_set_bitrate(encoder, Int32(clamping: configuration.bitrate.bitsPerSecond)),
            emisora_opus_set_complexity(encoder, Int32(clamping: configuration.complexity)),
            emisora_opus_set_inband_fec(encoder, configuration.usesInbandFEC ? 1 : 0),
            emisora_opus_set_packet_loss_percent(encoder, Int32(clamping: configuration.expectedLossPercent)),
            emisora_opus_set_dtx(encoder, configuration.usesDTX ? 1 : 0),
        ]
        if let failed = results.first(where: { $0 != OPUS_OK }) {
            throw .invalidConfiguration(
                "Opus refuses bitrate, complexity or loss: \(String(cString: opus_strerror(failed)))")
        }
    }

    deinit {
        opus_encoder_destroy(encoder)
    }

    /// Encodes exactly 20 ms of interleaved samples; `nil` when DTX says that nothing needs to be sent.
    public func encode(_ samples: [Int16]) throws(CodecError) -> [UInt8]? {
        guard samples.count == Self.frameSampleCount * configuration.channels else {
            throw .invalidConfiguration(
                "Opus takes \(Self.frameSampleCount) samples a channel at a time, not \(samples.count).")
        }
        let count = opus_encode(
            encoder, samples, Int32(Self.frameSampleCount), &packet, Int32(packet.count))
        guard count >= 0 else { throw .library(String(cString: opus_strerror(count))) }
        // Two bytes or fewer are the mark of a packet that need not be sent.
        return count <= 2 && configuration.usesDTX ? nil : Array(packet[..<Int(count)])
    }
}
