import EmisoraCore
import EmisoraPeerEngine
import EmisoraRTP

/// How one kind of received media is played. Names are those of W3C webrtc-stats `inbound-rtp`.
public struct PlayoutStatistics: Hashable, Sendable {
    /// Seconds from the first packet of a picture, or the packet of sound, to the decoder, summed up …
    public var jitterBufferDelay = 0.0
    /// … what was aimed at likewise, from when the fastest are complete, …
    public var jitterBufferTargetDelay = 0.0
    /// … what of it the network alone needed, without lining up sound and pictures …
    public var jitterBufferMinimumDelay = 0.0
    /// … over so many pictures, or packets of sound.
    public var jitterBufferEmittedCount: UInt64 = 0
    /// Packets that came too late or did not fit.
    public var packetsDiscarded: UInt64 = 0
    /// Packets that came twice (not of W3C).
    public var packetsDuplicated: UInt64 = 0
    /// Sound: samples made up to lengthen the delay, and left out to shorten it.
    public var insertedSamplesForDeceleration: UInt64 = 0
    public var removedSamplesForAcceleration: UInt64 = 0
    /// Sound: how often samples were made up since they were missing.
    public var concealmentEvents: UInt64 = 0
    /// The time by the sender's wall clock of what is played now, in milliseconds since 1900; `nil` while the sender has
    /// not told it.
    public var estimatedPlayoutTimestamp: Double?

    public init() {}

    init(_ inbound: InboundRTPStatistics?, playing: NTPTimestamp?) {
        guard let inbound else { return }
        jitterBufferDelay = inbound.jitterBufferDelay
        jitterBufferTargetDelay = inbound.jitterBufferTargetDelay
        jitterBufferMinimumDelay = inbound.jitterBufferMinimumDelay
        jitterBufferEmittedCount = inbound.jitterBufferEmittedCount
        packetsDiscarded = inbound.packetsDiscarded
        packetsDuplicated = inbound.packetsDuplicated
        removedSamplesForAcceleration = inbound.removedSamplesForAcceleration
        concealmentEvents = inbound.concealmentEvents
        estimatedPlayoutTimestamp = playing.map { Double($0.rawValue) / 4_294_967_296 * 1_000 }
    }
}
