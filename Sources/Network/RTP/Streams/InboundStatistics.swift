/// Figures of one received stream, named as in W3C webrtc-stats `inbound-rtp`.
package struct InboundRTPStatistics: Equatable, Sendable {
    /// On the media SSRC and by RTX.
    package var packetsReceived: UInt64 = 0
    /// Payload only, without headers and padding.
    package var bytesReceived: UInt64 = 0
    package var headerBytesReceived: UInt64 = 0
    /// Expected less received on the media SSRC (RFC 3550 §6.4.1); negative with duplicates.
    package var packetsLost: Int64 = 0
    /// In seconds.
    package var jitter: Double = 0
    /// Came too late or did not fit; duplicates are counted apart.
    package var packetsDiscarded: UInt64 = 0
    package var packetsDuplicated: UInt64 = 0
    package var retransmittedPacketsReceived: UInt64 = 0
    package var retransmittedBytesReceived: UInt64 = 0
    /// Parity packets (ULPFEC), or sound carried once more (RED).
    package var fecPacketsReceived: UInt64 = 0
    package var fecBytesReceived: UInt64 = 0
    /// Those of them that brought nothing new.
    package var fecPacketsDiscarded: UInt64 = 0
    /// Lost packets that they brought back.
    package var packetsRepaired: UInt64 = 0
    /// Complete frames handed out.
    package var framesReceived: UInt64 = 0
    package var keyFramesReceived: UInt64 = 0
    /// Frames, complete or in part, given up or thrown away while waiting for a key frame, counted by their starts.
    package var framesDropped: UInt64 = 0
    package var nackCount: UInt64 = 0
    package var pliCount: UInt64 = 0
    /// Seconds from the first packet of a frame (of sound: the packet) to its delivery, summed over
    /// `jitterBufferEmittedCount` frames or packets.
    package var jitterBufferDelay: Double = 0
    package var jitterBufferEmittedCount: UInt64 = 0
    /// Sound: packets that were made up because they were missing.
    package var concealmentEvents: UInt64 = 0
    /// Sound: packets left out to shorten the delay.
    package var packetsRemovedForAcceleration: UInt64 = 0

    package init() {}
}
