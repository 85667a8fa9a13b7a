import EmisoraCongestionControl
import EmisoraCore
import EmisoraICE
import EmisoraRTP

/// Figures of one peer connection, gathered when asked for.
package struct PeerStatistics: Sendable {
    package var state: PeerConnectionState
    package var ice: ICEStatistics
    package var security: TransportSecurityDescription
    package var outboundVideo: OutboundRTPStatistics?
    package var outboundAudio: OutboundRTPStatistics?
    package var remoteInboundVideo: RemoteInboundRTPStatistics?
    package var remoteInboundAudio: RemoteInboundRTPStatistics?
    /// Of pictures each stream that is sent or was.
    package var outboundLayers: [Layer]
    package var inboundVideo: InboundRTPStatistics?
    package var inboundAudio: InboundRTPStatistics?
    /// RTP and RTCP packets that were refused: forged, damaged, repeated, or of no stream.
    package var packetsDiscardedOnReceive: UInt64
    /// What may be sent, and what bounds it; `availableOutgoingBitrate` is its target.
    package var sendDecision: CongestionDecision
    /// How long packets wait on the path at the least.
    package var queueingDelay: Duration
    /// Of the path that media comes by, from XR or else from ICE.
    package var inboundRoundTripTime: Duration?
    /// Of the sound that came last, as its sender says.
    package var inboundAudioLevel: HeaderExtensionValues.AudioLevel?

    /// One stream of pictures that is sent.
    package struct Layer: Sendable {
        package var encoding: Int
        /// `nil` without simulcast.
        package var rid: String?
        /// Whether the peer wants it and the path has room for it.
        package var isActive: Bool
        package var outbound: OutboundRTPStatistics
    }
}
