import EmisoraCore
import EmisoraPeerEngine

/// Figures of one of a publisher's encodings. Names are those of W3C webrtc-stats where it has one.
public struct EncodingStatistics: Sendable {
    public var rid: String
    /// Of its last picture.
    public var frameWidth: Int
    public var frameHeight: Int
    public var framesEncoded: UInt64
    public var bytesEncoded: UInt64
    /// What its encoder aims at; `nil` while nobody takes it.
    public var targetBitrate: DataRate?
    /// Over all present receivers that take it.
    public var framesSent: UInt64
    public var bytesSent: UInt64
    public var pliCount: UInt64
    /// Present receivers that are sent it.
    public var receivers: Int
}

extension SessionCore {
    func encodingStatistics(
        _ publication: Publication, _ peers: [PeerStatistics]
    ) -> [EncodingStatistics] {
        guard let video = publication.publisher.video, let layers = video.layers else { return [] }
        let main = VideoEncoding.main(of: layers.encodings)
        return layers.encodings.enumerated().map { number, encoding in
            var figures = layers.statistics(number) ?? .init()
            var targetBitrate = layers.bitrate(number)
            if number == main {
                let counters = video.statistics
                figures.framesEncoded = counters.framesEncoded
                figures.bytesEncoded = counters.bytesEncoded
                (figures.frameWidth, figures.frameHeight) = (counters.frameWidth, counters.frameHeight)
                let settings = video.currentSettings
                targetBitrate = settings.isTaken ? settings.encoderBitrate : nil
            }
            let sent = peers.flatMap(\.outboundLayers).filter { $0.encoding == number }
            return EncodingStatistics(
                rid: encoding.rid, frameWidth: figures.frameWidth, frameHeight: figures.frameHeight,
                framesEncoded: figures.framesEncoded, bytesEncoded: figures.bytesEncoded,
                targetBitrate: targetBitrate, framesSent: sent.reduce(0) { $0 + $1.outbound.framesSent },
                bytesSent: sent.reduce(0) { $0 + $1.outbound.bytesSent },
                pliCount: sent.reduce(0) { $0 + $1.outbound.pliCount }, receivers: sent.count(where: \.isActive))
        }
    }
}
