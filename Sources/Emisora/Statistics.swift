import EmisoraCapture
import EmisoraCore
import EmisoraPeerEngine

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
    /// Summed over the present receivers.
    public var framesSent: UInt64
    public var packetsSent: UInt64
    public var bytesSent: UInt64
    public var retransmittedPacketsSent: UInt64
    public var nackCount: UInt64
    public var pliCount: UInt64
    public var firCount: UInt64
    /// The worst of the present receivers, in seconds; `nil` before the first report.
    public var roundTripTime: Double?
    public var delivery: [DeliveryLedger]
    /// What the encoders said last when something failed.
    public var lastError: String?
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
    public var jitter: Double
    public var nackCount: UInt64
    public var pliCount: UInt64
    public var audioLevel: Double
    public var totalSamplesReceived: UInt64
    public var concealedSamples: UInt64
    public var currentRoundTripTime: Double?
    public var dtlsCipher: String
    public var srtpCipher: String
    public var timeToFirstFrame: Duration?
}

extension SessionCore {
    var statistics: SessionStatistics {
        SessionStatistics(
            publishers: publications.keys.sorted().compactMap { publications[$0].map(publisherStatistics) },
            subscribers: subscriptions.values.map(subscriberStatistics))
    }

    private func publisherStatistics(_ publication: Publication) -> PublisherStatistics {
        let publisher = publication.publisher
        let video = publisher.video?.statistics ?? .init()
        let audio = publisher.audio?.statistics ?? .init()
        let peers = publication.fanout.engines.map(\.statistics)
        func sum(_ path: (PeerStatistics) -> UInt64?) -> UInt64 { peers.reduce(0) { $0 + (path($1) ?? 0) } }
        return PublisherStatistics(
            stream: publisher.name, capture: publisher.captureLedger, framesEncoded: video.framesEncoded,
            keyFramesEncoded: video.keyFramesEncoded, bytesEncoded: video.bytesEncoded,
            totalEncodeTime: video.totalEncodeTime, frameWidth: video.frameWidth, frameHeight: video.frameHeight,
            audioFramesEncoded: audio.framesEncoded, audioLevel: audio.audioLevel,
            subscriberCount: publication.connected.count, framesSent: sum { $0.outboundVideo?.framesSent },
            packetsSent: sum { $0.outboundVideo?.packetsSent } + sum { $0.outboundAudio?.packetsSent },
            bytesSent: sum { $0.outboundVideo?.bytesSent } + sum { $0.outboundAudio?.bytesSent },
            retransmittedPacketsSent: sum { $0.outboundVideo?.retransmittedPacketsSent },
            nackCount: sum { $0.outboundVideo?.nackCount }, pliCount: sum { $0.outboundVideo?.pliCount },
            firCount: sum { $0.outboundVideo?.firCount },
            roundTripTime: peers.compactMap { $0.remoteInboundVideo?.roundTripTime }.max(),
            delivery: Array(publication.fanout.ledgers.values) + [publication.pastDelivery],
            lastError: video.lastError ?? audio.lastError)
    }

    private func subscriberStatistics(_ subscription: Subscription) -> SubscriberStatistics {
        let subscriber = subscription.reception.subscriber
        let video = subscriber.video.statistics
        let audio = subscriber.audio.statistics
        let peer = subscription.reception.peer.engine.statistics
        return SubscriberStatistics(
            stream: subscription.stream, framesReceived: peer.inboundVideo?.framesReceived ?? 0,
            framesDecoded: video.framesDecoded, keyFramesDecoded: video.keyFramesDecoded,
            framesDropped: video.framesDropped + (peer.inboundVideo?.framesDropped ?? 0),
            frameWidth: video.frameWidth, frameHeight: video.frameHeight,
            packetsReceived: (peer.inboundVideo?.packetsReceived ?? 0) + (peer.inboundAudio?.packetsReceived ?? 0),
            bytesReceived: (peer.inboundVideo?.bytesReceived ?? 0) + (peer.inboundAudio?.bytesReceived ?? 0),
            packetsLost: peer.inboundVideo?.packetsLost ?? 0, jitter: peer.inboundVideo?.jitter ?? 0,
            nackCount: peer.inboundVideo?.nackCount ?? 0, pliCount: peer.inboundVideo?.pliCount ?? 0,
            audioLevel: audio.audioLevel, totalSamplesReceived: audio.totalSamplesReceived,
            concealedSamples: audio.concealedSamples,
            currentRoundTripTime: peer.ice.currentRoundTripTime?.inSeconds, dtlsCipher: peer.security.dtlsCipher,
            srtpCipher: peer.security.srtpCipher, timeToFirstFrame: subscriber.timeToFirstFrame)
    }
}
