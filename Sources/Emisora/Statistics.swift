import EmisoraCapture
import EmisoraCore
import EmisoraEventLoop
import EmisoraPeerEngine
import EmisoraRTP

/// Figures of a session. Names are those of W3C webrtc-stats where it has one.
public struct SessionStatistics: Sendable {
    public var publishers: [PublisherStatistics] = []
    public var subscribers: [SubscriberStatistics] = []
}

/// Figures of a stream that is published, over all its receivers.
public struct PublisherStatistics: Sendable {
    public var stream: String
    public var capture: CaptureLedger
    public var framesEncoded: UInt64
    public var keyFramesEncoded: UInt64
    public var firstFrameEncodedAt: Instant?
    public var bytesEncoded: UInt64
    /// Time spent in the video encoder.
    public var totalEncodeTime: Duration
    public var frameWidth: Int
    public var frameHeight: Int
    public var audioFramesEncoded: UInt64
    /// Root mean square of the last 20 ms of sound, 0…1.
    public var audioLevel: Double
    /// Receivers whose connection is up.
    public var subscriberCount: Int
    /// Summed over all receivers, those that have left included.
    public var framesSent: UInt64
    public var packetsSent: UInt64
    public var bytesSent: UInt64
    public var retransmittedPacketsSent: UInt64
    /// Sent against losses before they happened: parity packets of pictures, and packets of sound that later ones carried
    /// once more.
    public var fecPacketsSent: UInt64
    public var fecBytesSent: UInt64
    public var nackCount: UInt64
    public var pliCount: UInt64
    public var firCount: UInt64
    /// The worst of the present receivers, in seconds; `nil` before the first report.
    public var roundTripTime: Double?
    /// The worst of the present receivers: which part of the pictures' packets its last report misses, 0…1; `nil` before
    /// the first report.
    public var fractionLost: Double?
    /// What the video encoder aims at; `nil` without pictures.
    public var targetBitrate: DataRate?
    /// What the path to the worst of the present receivers is taken to carry, all media and headers together; `nil`
    /// without receivers.
    public var availableOutgoingBitrate: DataRate?
    public var qualityLimitationReason: QualityLimitationReason
    /// One for each of ``Publisher/Options/encodings``; empty without simulcast.
    public var encodings: [EncodingStatistics]
    public var delivery: [DeliveryLedger]
    /// One for each present receiver.
    public var transports: [TransportStatistics]
    /// What the encoders said last when something failed.
    public var lastError: String?
}

/// Why pictures are worse than the application wants, as in W3C webrtc-stats.
public enum QualityLimitationReason: String, Hashable, Sendable {
    case none
    /// A receiver's path carries less than the wanted bitrate.
    case bandwidth
    /// A receiver can decode only smaller pictures, or fewer.
    case other
}

/// Figures of a stream that is received.
public struct SubscriberStatistics: Sendable {
    public var stream: String
    public var framesReceived: UInt64
    public var framesDecoded: UInt64
    public var keyFramesDecoded: UInt64
    public var framesDropped: UInt64
    public var frameWidth: Int
    public var frameHeight: Int
    public var packetsReceived: UInt64
    public var bytesReceived: UInt64
    public var packetsLost: Int64
    /// Of the packets received: those that came again after they were lost (W3C `retransmittedPacketsReceived`).
    public var retransmittedPacketsReceived: UInt64
    /// Parity packets of pictures, and packets of sound that later ones carried once more; of these, those that brought
    /// nothing new; and lost packets that came back by them.
    public var fecPacketsReceived: UInt64
    public var fecBytesReceived: UInt64
    public var fecPacketsDiscarded: UInt64
    public var packetsRepaired: UInt64
    public var jitter: Double
    public var nackCount: UInt64
    public var pliCount: UInt64
    /// How often pictures stood still for longer than their rhythm explains, and for how long altogether.
    public var freezeCount: UInt64
    public var totalFreezesDuration: Duration
    public var videoPlayout: PlayoutStatistics
    public var audioPlayout: PlayoutStatistics
    /// By how much sound is heard behind the pictures it belongs to; `nil` while the sender has not told how they go
    /// together, and with ``Subscriber/Playout/immediate``.
    public var lipSyncOffset: Duration?
    /// The bounds that the sender sets for the time from capture to display (`playout-delay`); `nil`: none.
    public var playoutDelay: ClosedRange<Duration>?
    /// Root mean square of the last 20 ms that were decoded, 0…1.
    public var audioLevel: Double
    /// What the sender says of its sound in the last packet, 0…1 (RFC 6464); `nil` where it says nothing.
    public var announcedAudioLevel: Double?
    /// Whether the sender takes that for voice; `nil` where it says nothing.
    public var voiceActivity: Bool?
    public var totalSamplesReceived: UInt64
    public var concealedSamples: UInt64
    public var currentRoundTripTime: Double?
    public var dtlsCipher: String
    public var srtpCipher: String
    public var timeToFirstFrame: Duration?
    public var transport: TransportStatistics
}

extension SessionCore {
    var statistics: SessionStatistics {
        SessionStatistics(
            publishers: publications.keys.sorted().compactMap { publications[$0].map(publisherStatistics) },
            subscribers: subscriptions.map { subscriberStatistics($0.value, connection: $0.key) })
    }

    private func publisherStatistics(_ publication: Publication) -> PublisherStatistics {
        let publisher = publication.publisher
        let video = publisher.video?.statistics ?? .init()
        let audio = publisher.audio?.statistics ?? .init()
        let peers = publication.fanout.engines.map(\.statistics)
        var totals = publication.pastTotals
        for peer in peers { totals.add(peer) }
        let rates = publication.fanout.rateStatistics
        return PublisherStatistics(
            stream: publisher.name, capture: publisher.captureLedger, framesEncoded: video.framesEncoded,
            keyFramesEncoded: video.keyFramesEncoded, firstFrameEncodedAt: video.firstFrameEncodedAt,
            bytesEncoded: video.bytesEncoded,
            totalEncodeTime: video.totalEncodeTime, frameWidth: video.frameWidth, frameHeight: video.frameHeight,
            audioFramesEncoded: audio.framesEncoded, audioLevel: audio.audioLevel,
            subscriberCount: publication.connected.count, framesSent: totals.framesSent,
            packetsSent: totals.packetsSent, bytesSent: totals.bytesSent,
            retransmittedPacketsSent: totals.retransmittedPacketsSent, fecPacketsSent: totals.fecPacketsSent,
            fecBytesSent: totals.fecBytesSent, nackCount: totals.nackCount, pliCount: totals.pliCount,
            firCount: totals.firCount,
            roundTripTime: peers.compactMap { $0.remoteInboundVideo?.roundTripTime }.max(),
            fractionLost: peers.compactMap { $0.remoteInboundVideo }.filter { $0.reportsReceived > 0 }
                .map(\.fractionLost).max(),
            targetBitrate: rates.targetBitrate, availableOutgoingBitrate: rates.availableOutgoingBitrate,
            qualityLimitationReason: limitation(of: publication.fanout, rates),
            encodings: encodingStatistics(publication, peers),
            delivery: Array(publication.fanout.ledgers.values) + [publication.pastDelivery],
            transports: publication.peers.map { transportStatistics($0.value, connection: $0.key) },
            lastError: video.lastError ?? audio.lastError)
    }

    private func limitation(of fanout: MediaFanout, _ rates: EncoderRate.Statistics) -> QualityLimitationReason {
        if rates.isLimited { return .bandwidth }
        return fanout.isLimitedByReceivers ? .other : .none
    }

    private func subscriberStatistics(_ subscription: Subscription, connection: String) -> SubscriberStatistics {
        let subscriber = subscription.reception.subscriber
        let video = subscriber.video.statistics
        let audio = subscriber.audio.statistics
        let engine = subscription.reception.peer.engine
        let peer = engine.statistics
        let now = SystemClock.now()
        var audioPlayout = PlayoutStatistics(peer.inboundAudio, playing: engine.audioPlayoutTime(now: now))
        audioPlayout.insertedSamplesForDeceleration = audio.insertedSamples
        func sum(_ path: KeyPath<InboundRTPStatistics, UInt64>) -> UInt64 {
            (peer.inboundVideo?[keyPath: path] ?? 0) + (peer.inboundAudio?[keyPath: path] ?? 0)
        }
        return SubscriberStatistics(
            stream: subscription.stream, framesReceived: peer.inboundVideo?.framesReceived ?? 0,
            framesDecoded: video.framesDecoded, keyFramesDecoded: video.keyFramesDecoded,
            framesDropped: video.framesDropped + (peer.inboundVideo?.framesDropped ?? 0),
            frameWidth: video.frameWidth, frameHeight: video.frameHeight,
            packetsReceived: sum(\.packetsReceived), bytesReceived: sum(\.bytesReceived),
            packetsLost: peer.inboundVideo?.packetsLost ?? 0,
            retransmittedPacketsReceived: peer.inboundVideo?.retransmittedPacketsReceived ?? 0,
            fecPacketsReceived: sum(\.fecPacketsReceived), fecBytesReceived: sum(\.fecBytesReceived),
            fecPacketsDiscarded: sum(\.fecPacketsDiscarded), packetsRepaired: sum(\.packetsRepaired),
            jitter: peer.inboundVideo?.jitter ?? 0, nackCount: peer.inboundVideo?.nackCount ?? 0,
            pliCount: peer.inboundVideo?.pliCount ?? 0, freezeCount: video.freezes.freezeCount,
            totalFreezesDuration: video.freezes.totalFreezesDuration,
            videoPlayout: PlayoutStatistics(peer.inboundVideo, playing: engine.videoPlayoutTime(now: now)),
            audioPlayout: audioPlayout, lipSyncOffset: engine.lipSyncOffset, playoutDelay: engine.remotePlayoutDelay,
            audioLevel: audio.audioLevel, announcedAudioLevel: peer.inboundAudioLevel?.linear,
            voiceActivity: peer.inboundAudioLevel?.hasVoice, totalSamplesReceived: audio.totalSamplesReceived,
            concealedSamples: audio.concealedSamples,
            currentRoundTripTime: peer.inboundRoundTripTime?.inSeconds, dtlsCipher: peer.security.dtlsCipher,
            srtpCipher: peer.security.srtpCipher, timeToFirstFrame: subscriber.timeToFirstFrame,
            transport: transportStatistics(subscription.reception.peer, connection: connection))
    }
}

/// What was sent to peers that may be gone.
struct OutboundTotals {
    private(set) var framesSent: UInt64 = 0
    private(set) var packetsSent: UInt64 = 0
    private(set) var bytesSent: UInt64 = 0
    private(set) var retransmittedPacketsSent: UInt64 = 0
    private(set) var fecPacketsSent: UInt64 = 0
    private(set) var fecBytesSent: UInt64 = 0
    private(set) var nackCount: UInt64 = 0
    private(set) var pliCount: UInt64 = 0
    private(set) var firCount: UInt64 = 0

    mutating func add(_ peer: PeerStatistics) {
        for layer in peer.outboundLayers { framesSent += layer.outbound.framesSent }
        for stream in peer.outboundLayers.map(\.outbound) + [peer.outboundAudio].compactMap({ $0 }) {
            packetsSent += stream.packetsSent
            bytesSent += stream.bytesSent
            retransmittedPacketsSent += stream.retransmittedPacketsSent
            fecPacketsSent += stream.fecPacketsSent
            fecBytesSent += stream.fecBytesSent
            nackCount += stream.nackCount
            pliCount += stream.pliCount
            firCount += stream.firCount
        }
    }
}
