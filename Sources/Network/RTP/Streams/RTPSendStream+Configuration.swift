import EmisoraCore

extension RTPSendStream {
    /// What was agreed on for the stream, and the bounds of what it keeps.
    package struct Configuration: Equatable, Sendable {
        package var ssrc: UInt32
        package var payloadType: UInt8
        /// Ticks a second.
        package var clockRate: Int
        /// With both of these retransmissions use RTX (RFC 4588); else they repeat the packet on the media SSRC.
        package var rtxSSRC: UInt32?
        package var rtxPayloadType: UInt8?
        /// Sound may carry the packets before it once more under this type (RED), see
        /// ``RTPSendStream/redundancyDepth``.
        package var redPayloadType: UInt8?
        /// With both of these parity packets may be sent (FlexFEC), see ``RTPSendStream/protection``.
        package var flexfecSSRC: UInt32?
        package var flexfecPayloadType: UInt8?
        /// What a payload made here may take.
        package var payloadByteLimit = 1_100
        /// Written into every packet, retransmissions included: the MID, when an id was negotiated for it.
        package var extensions: HeaderExtensionBlock?
        /// Stands in for them until a report shows that the receiver knows the SSRC, and names the stream besides: the
        /// rid (RFC 8852 §3.1) …
        package var introduction: HeaderExtensionBlock?
        /// … and for retransmissions the rid of what they repair (§3.2).
        package var rtxIntroduction: HeaderExtensionBlock?
        /// For the time of capture, where an id was negotiated for it.
        package var wallClock: WallClock?
        /// Bounds for the time from capture to display, where an id was negotiated for them.
        package var playoutDelay: HeaderExtensionValues.PlayoutDelay?
        /// How long a packet can be asked for again.
        package var historyDuration: Duration = .seconds(1)
        package var historyPacketLimit = 2048
        /// Frames that may wait in the queue; more are refused.
        package var queuedFrameLimit = 64

        package init(ssrc: UInt32, payloadType: UInt8, clockRate: Int) {
            self.ssrc = ssrc
            self.payloadType = payloadType
            self.clockRate = clockRate
        }
    }
}
