import EmisoraCore

/// One packet of a compound RTCP packet.
package enum RTCPPacket: Equatable, Sendable {
    case senderReport(SenderReport)
    case receiverReport(ReceiverReport)
    case sourceDescription(SourceDescription)
    case goodbye(Goodbye)
    case nack(GenericNACK)
    case pictureLossIndication(PictureLossIndication)
    case fullIntraRequest(FullIntraRequest)
    case receiverEstimatedMaximumBitrate(ReceiverEstimatedMaximumBitrate)
    case temporaryMaximumBitrate(TemporaryMaximumBitrate)
    case transportWideFeedback(TransportWideFeedback)
    case congestionControlFeedback(CongestionControlFeedback)
    case extendedReport(ExtendedReport)
    /// A packet that is not understood here, or whose body does not hold what its head promises: skipped by its length.
    case other(type: RTCPPacketType, format: UInt8)
}

/// The packet type field (RFC 3550 §12.1, RFC 4585 §6.1).
package struct RTCPPacketType: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let senderReport = Self(rawValue: 200)
    package static let receiverReport = Self(rawValue: 201)
    package static let sourceDescription = Self(rawValue: 202)
    package static let goodbye = Self(rawValue: 203)
    package static let application = Self(rawValue: 204)
    package static let transportFeedback = Self(rawValue: 205)
    package static let payloadSpecificFeedback = Self(rawValue: 206)
    /// RFC 3611 §2.
    package static let extendedReport = Self(rawValue: 207)
}

/// SR (RFC 3550 §6.4.1).
package struct SenderReport: Equatable, Sendable {
    package var ssrc: UInt32
    /// The wall-clock time of the report …
    package var ntpTimestamp: NTPTimestamp
    /// … and the same instant on the stream's RTP clock.
    package var rtpTimestamp: UInt32
    /// Packets sent by this SSRC since it began, modulo 2³².
    package var packetCount: UInt32
    /// Bytes of payload sent, without headers and padding, modulo 2³².
    package var octetCount: UInt32
    package var reports: [ReportBlock]

    package init(
        ssrc: UInt32, ntpTimestamp: NTPTimestamp, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32,
        reports: [ReportBlock] = []
    ) {
        self.ssrc = ssrc
        self.ntpTimestamp = ntpTimestamp
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
        self.reports = reports
    }
}

/// RR (RFC 3550 §6.4.2).
package struct ReceiverReport: Equatable, Sendable {
    package var ssrc: UInt32
    package var reports: [ReportBlock]

    package init(ssrc: UInt32, reports: [ReportBlock] = []) {
        self.ssrc = ssrc
        self.reports = reports
    }
}

/// What one receiver says of one source (RFC 3550 §6.4.1).
package struct ReportBlock: Equatable, Sendable {
    package static let byteCount = 24

    /// The source that is reported on.
    package var ssrc: UInt32
    /// Lost since the last report, in 1/256.
    package var fractionLost: UInt8
    /// Expected less received since the start; negative with duplicates. Held to signed 24 bits when written.
    package var cumulativeLost: Int32
    /// Cycles in the high 16 bits, the highest sequence number in the low ones.
    package var extendedHighestSequenceNumber: UInt32
    /// Interarrival jitter, in ticks of the RTP clock.
    package var jitter: UInt32
    /// The middle 32 bits of the last SR's NTP timestamp, 0 without one.
    package var lastSenderReport: UInt32
    /// Between receiving that SR and sending this block, in 1/65536 s.
    package var delaySinceLastSenderReport: UInt32

    package init(
        ssrc: UInt32, fractionLost: UInt8 = 0, cumulativeLost: Int32 = 0, extendedHighestSequenceNumber: UInt32 = 0,
        jitter: UInt32 = 0, lastSenderReport: UInt32 = 0, delaySinceLastSenderReport: UInt32 = 0
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.extendedHighestSequenceNumber = extendedHighestSequenceNumber
        self.jitter = jitter
        self.lastSenderReport = lastSenderReport
        self.delaySinceLastSenderReport = delaySinceLastSenderReport
    }
}

/// SDES, of which the canonical name is all that WebRTC uses (RFC 3550 §6.5, RFC 7022).
package struct SourceDescription: Equatable, Sendable {
    package struct Chunk: Equatable, Sendable {
        package var ssrc: UInt32
        /// `nil` if the chunk has no CNAME or not one in UTF-8.
        package var cname: String?

        package init(ssrc: UInt32, cname: String?) {
            self.ssrc = ssrc
            self.cname = cname
        }
    }

    package var chunks: [Chunk]

    package init(chunks: [Chunk]) {
        self.chunks = chunks
    }
}

/// BYE (RFC 3550 §6.6). The reason for leaving is not kept.
package struct Goodbye: Equatable, Sendable {
    package var sources: [UInt32]

    package init(sources: [UInt32]) {
        self.sources = sources
    }
}
