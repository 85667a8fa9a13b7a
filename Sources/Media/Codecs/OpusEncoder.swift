import CEmisoraOpus
import EmisoraAudio
import EmisoraCore

/// Opus at 48 kHz, as a rule in packets of 20 ms. Owns the codec; one thread at a time.
public final class OpusEncoder {
    /// What the sound mostly is.
    public enum Application: String, Hashable, Sendable, CaseIterable {
        /// Speech.
        case voice
        /// Music and mixtures; at low expected loss without FEC, which lives in Opus's speech layer.
        case audio
    }

    public struct Configuration: Hashable, Sendable {
        public var channels: Int
        public var application: Application
        public var bitrate: DataRate
        /// 0 (cheapest) … 10.
        public var complexity: Int
        /// Each packet carries the one before again, coarsely, for the receiver that lost it (RFC 6716 §2.1.7).
        public var usesInbandFEC: Bool
        /// How much loss to prepare for. At 32 kbit/s libopus 1.3.1 writes FEC from ten percent on, and none at five
        /// (measured).
        public var expectedLossPercent: Int
        /// Sends nothing while it is silent.
        public var usesDTX: Bool
        /// How long packets sound, in milliseconds: 5, 10, 20, 40 or 60. Longer ones have fewer headers and more delay.
        public var packetMilliseconds: Int
        /// Frequencies that a player of this sampling rate (Hz) could not play are left out.
        public var maximumPlaybackRate: Int

        /// Samples of each channel in a packet.
        public var samplesPerPacket: Int { packetMilliseconds * 48 }

        /// - Parameter application: `nil`: voice for one channel, audio for two.
        public init(
            channels: Int = 1, bitrate: DataRate = .kilobitsPerSecond(32), complexity: Int = 5,
            usesInbandFEC: Bool = true, expectedLossPercent: Int = 10, usesDTX: Bool = false,
            packetMilliseconds: Int = 20, maximumPlaybackRate: Int = 48_000,
            application: Application? = nil
        ) {
            self.channels = channels
            self.application = application ?? (channels == 1 ? .voice : .audio)
            self.bitrate = bitrate
            self.complexity = complexity
            self.usesInbandFEC = usesInbandFEC
            self.expectedLossPercent = expectedLossPercent
            self.usesDTX = usesDTX
            self.packetMilliseconds = packetMilliseconds
            self.maximumPlaybackRate = maximumPlaybackRate
        }
    }

    /// Samples of each channel in a packet of 20 ms.
    public static let frameSampleCount = 960
    /// RFC 6716 §3.2.1's largest frame, with room for what comes before it.
    private static let maximumPacketByteCount = 1_275

    public private(set) var configuration: Configuration
    private let encoder: OpaquePointer
    private var packet = [UInt8](repeating: 0, count: maximumPacketByteCount)

    public init(_ configuration: Configuration = Configuration()) throws(CodecError) {
        guard (1...2).contains(configuration.channels) else {
            throw .invalidConfiguration("Opus takes one or two channels, not \(configuration.channels).")
        }
        try Self.checkPacketTime(configuration.packetMilliseconds)
        let application =
            switch configuration.application {
            case .voice: OPUS_APPLICATION_VOIP
            case .audio: OPUS_APPLICATION_AUDIO
            }
        var status: Int32 = 0
        guard
            let encoder = opus_encoder_create(48_000, Int32(configuration.channels), application, &status),
            status == OPUS_OK
        else { throw .library(String(cString: opus_strerror(status))) }
        self.encoder = encoder
        self.configuration = configuration
        let results = [
            emisora_opus_set_bitrate(encoder, Self.bits(configuration.bitrate)),
            emisora_opus_set_complexity(encoder, Int32(clamping: configuration.complexity)),
            emisora_opus_set_inband_fec(encoder, configuration.usesInbandFEC ? 1 : 0),
            emisora_opus_set_packet_loss_percent(encoder, Int32(clamping: configuration.expectedLossPercent)),
            emisora_opus_set_dtx(encoder, configuration.usesDTX ? 1 : 0),
            emisora_opus_set_max_bandwidth(encoder, Self.bandwidth(configuration.maximumPlaybackRate)),
        ]
        if let failed = results.first(where: { $0 != OPUS_OK }) {
            throw .invalidConfiguration(
                "Opus refuses bitrate, complexity or loss: \(String(cString: opus_strerror(failed)))")
        }
    }

    deinit {
        opus_encoder_destroy(encoder)
    }

    // MARK: Changing while running

    /// Goes over to another configuration with the next packet, without a gap.
    ///
    /// - Throws: `invalidConfiguration` where channels or application differ, which take another encoder.
    public func update(_ new: Configuration) throws(CodecError) {
        guard new != configuration else { return }
        guard new.channels == configuration.channels, new.application == configuration.application else {
            throw .invalidConfiguration("An Opus encoder keeps its channels and its application; make another one.")
        }
        try Self.checkPacketTime(new.packetMilliseconds)
        try setBitrate(new.bitrate)
        try setExpectedLossPercent(new.expectedLossPercent)
        try check(emisora_opus_set_complexity(encoder, Int32(clamping: new.complexity)))
        try check(emisora_opus_set_inband_fec(encoder, new.usesInbandFEC ? 1 : 0))
        try check(emisora_opus_set_dtx(encoder, new.usesDTX ? 1 : 0))
        try check(emisora_opus_set_max_bandwidth(encoder, Self.bandwidth(new.maximumPlaybackRate)))
        configuration = new
    }

    /// Takes effect with the next packet; Opus holds it between 0.5 and 300 kbit/s a channel.
    public func setBitrate(_ bitrate: DataRate) throws(CodecError) {
        guard bitrate != configuration.bitrate else { return }
        try check(emisora_opus_set_bitrate(encoder, Self.bits(bitrate)))
        configuration.bitrate = bitrate
    }

    /// The loss that receivers report, 0…100: it decides how much of each packet goes into FEC.
    public func setExpectedLossPercent(_ percent: Int) throws(CodecError) {
        guard percent != configuration.expectedLossPercent else { return }
        try check(emisora_opus_set_packet_loss_percent(encoder, Int32(clamping: percent)))
        configuration.expectedLossPercent = percent
    }

    // MARK: Encoding

    /// Encodes exactly one packet's interleaved samples; `nil` when DTX says that nothing needs to be sent. The RTP
    /// timestamp goes on over what is not sent (RFC 7587 §4.1).
    public func encode(_ samples: [Int16]) throws(CodecError) -> [UInt8]? {
        try checkCount(samples.count)
        return try collect(
            opus_encode(
                encoder, samples, Int32(configuration.samplesPerPacket), &packet, Int32(packet.count)))
    }

    /// As `encode` with integers; samples lie in −1…1, and what is beyond is limited softly.
    public func encode(_ samples: [Float]) throws(CodecError) -> [UInt8]? {
        try checkCount(samples.count)
        return try collect(
            opus_encode_float(
                encoder, samples, Int32(configuration.samplesPerPacket), &packet, Int32(packet.count)))
    }

    // MARK: Inside

    /// Zero and below have meanings of their own to Opus.
    private static func bits(_ bitrate: DataRate) -> Int32 { Int32(clamping: max(500, bitrate.bitsPerSecond)) }

    private func check(_ status: Int32) throws(CodecError) {
        guard status == OPUS_OK else {
            throw .invalidConfiguration("Opus refuses the value: \(String(cString: opus_strerror(status)))")
        }
    }

    private func checkCount(_ count: Int) throws(CodecError) {
        let needed = configuration.samplesPerPacket * configuration.channels
        guard count == needed else {
            throw .invalidConfiguration(
                "Opus takes \(needed) interleaved samples (\(configuration.packetMilliseconds) ms) at a time, "
                    + "not \(count).")
        }
    }

    private static func checkPacketTime(_ milliseconds: Int) throws(CodecError) {
        guard [5, 10, 20, 40, 60].contains(milliseconds) else {
            throw .invalidConfiguration("Opus makes packets of 5, 10, 20, 40 or 60 ms, not \(milliseconds) ms.")
        }
    }

    /// The audio bandwidth that a sampling rate can carry (RFC 7587 §3.1.1, table 1).
    private static func bandwidth(_ playbackRate: Int) -> Int32 {
        switch playbackRate {
        case ...8_000: OPUS_BANDWIDTH_NARROWBAND
        case ...12_000: OPUS_BANDWIDTH_MEDIUMBAND
        case ...16_000: OPUS_BANDWIDTH_WIDEBAND
        case ...24_000: OPUS_BANDWIDTH_SUPERWIDEBAND
        default: OPUS_BANDWIDTH_FULLBAND
        }
    }

    private func collect(_ count: Int32) throws(CodecError) -> [UInt8]? {
        guard count >= 0 else { throw .library(String(cString: opus_strerror(count))) }
        // Two bytes or fewer are the mark of a packet that need not be sent.
        return count <= 2 && configuration.usesDTX ? nil : Array(packet[..<Int(count)])
    }
}
