/// Figures of one sent stream, retransmissions included, named as in W3C webrtc-stats `outbound-rtp`.
package struct OutboundRTPStatistics: Equatable, Sendable {
    package var packetsSent: UInt64 = 0
    /// Payload only, without headers and padding.
    package var bytesSent: UInt64 = 0
    /// RTP headers with their extensions, and the two bytes that RTX puts before a payload.
    package var headerBytesSent: UInt64 = 0
    package var retransmittedPacketsSent: UInt64 = 0
    package var retransmittedBytesSent: UInt64 = 0
    /// Parity packets (FlexFEC), which have an SSRC of their own and are not among `packetsSent`; of sound, packets that
    /// later ones carried once more (RED), whose bytes are among `bytesSent`.
    package var fecPacketsSent: UInt64 = 0
    package var fecBytesSent: UInt64 = 0
    /// Frames whose last packet went out.
    package var framesSent: UInt64 = 0
    package var keyFramesSent: UInt64 = 0
    package var nackCount: UInt64 = 0
    package var pliCount: UInt64 = 0
    package var firCount: UInt64 = 0
    /// Seconds that packets spent between `enqueue` and `pollPacket`, summed.
    package var totalPacketSendDelay: Double = 0

    package init() {}
}

/// What the remote end reports of a stream we send, named as in W3C webrtc-stats `remote-inbound-rtp`.
package struct RemoteInboundRTPStatistics: Equatable, Sendable {
    package var packetsLost: Int64 = 0
    /// In seconds.
    package var jitter: Double = 0
    /// 0…1, of the last reporting interval.
    package var fractionLost: Double = 0
    /// In seconds; `nil` until a report answers one of our sender reports.
    package var roundTripTime: Double?
    /// In seconds, summed over `roundTripTimeMeasurements`.
    package var totalRoundTripTime: Double = 0
    package var roundTripTimeMeasurements: UInt64 = 0
    package var reportsReceived: UInt64 = 0

    package init() {}
}
