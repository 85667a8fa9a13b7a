import EmisoraCore
import EmisoraRTP
import EmisoraSDP

/// The encodings of our pictures that the peer gets: one, or the layers of a simulcast (RFC 8853).
extension PeerEngine {
    /// An encoding that the peer takes as one of several.
    package struct SimulcastEncoding: Equatable, Sendable {
        package var encoding: Int
        package var rid: String
        /// What the peer takes at most, in bits a second.
        package var maximumBitrate: Int?
    }

    /// The encodings that the peer takes at present; empty: one alone, without a name.
    package var simulcast: [SimulcastEncoding] {
        videoLayers.filter(\.isWanted).compactMap { layer in
            layer.rid.map {
                SimulcastEncoding(encoding: layer.encoding, rid: $0, maximumBitrate: layer.maximumBitrate)
            }
        }
    }

    /// Those of them that there is room for.
    package var activeEncodings: Set<Int> { Set(videoLayers.filter(\.isSent).map(\.encoding)) }

    /// Says which of the encodings there is room for. Of the others nothing is sent; one that comes back begins with a
    /// key frame.
    package func setActive(_ encodings: Set<Int>) {
        for index in videoLayers.indices {
            let isActive = encodings.contains(videoLayers[index].encoding)
            guard videoLayers[index].isActive != isActive else { continue }
            videoLayers[index].isActive = isActive
            if videoLayers[index].isSent { begin(index) } else { videoLayers[index].rest() }
        }
    }

    /// Which encoding a peer without simulcast gets.
    var mainEncoding: Int { negotiation.mainEncoding }

    /// The stream of that encoding, or another one where the peer does not take it.
    var videoSender: RTPSendStream? {
        get { mainLayer.map { videoLayers[$0].stream } }
        set { if let newValue, let mainLayer { videoLayers[mainLayer].stream = newValue } }
    }

    private var mainLayer: Int? {
        videoLayers.firstIndex { $0.encoding == mainEncoding } ?? videoLayers.indices.first
    }

    func needKeyFrame(_ encoding: Int) {
        events.append(encoding == mainEncoding ? .keyFrameNeeded : .layerKeyFrameNeeded(encoding: encoding))
    }

    /// All that is sent begins with key frames: the connection stands.
    func beginLayers() {
        for index in videoLayers.indices where videoLayers[index].isSent { begin(index) }
    }

    private func begin(_ index: Int) {
        videoLayers[index].isWaitingForKeyFrame = true
        videoLayers[index].resumeAt = nil
        if security.isEstablished { needKeyFrame(videoLayers[index].encoding) }
    }

    /// Follows what was agreed on. Streams that exist keep their numbers and counters across re-offers and holds.
    func updateLayers(_ media: NegotiatedSession.Media?) {
        let wanted = media.map(WantedLayer.all) ?? []
        for index in videoLayers.indices where !wanted.contains(where: { $0.encoding == videoLayers[index].encoding }) {
            setWanted(index, false)
        }
        guard let media else { return }
        for one in wanted { update(one, of: media) }
    }

    private func update(_ wanted: WantedLayer, of media: NegotiatedSession.Media) {
        var described = media
        described.ssrc = wanted.ssrc
        described.retransmissionSSRC = wanted.retransmissionSSRC
        var configuration = sendConfiguration(described, clockRate: 90_000, rid: wanted.rid)
        if wanted.encoding != mainEncoding {
            // Parity packets are announced as those of the one encoding.
            configuration.flexfecPayloadType = nil
            configuration.flexfecSSRC = nil
        }
        let index: Int
        if let known = videoLayers.firstIndex(where: { $0.encoding == wanted.encoding }) {
            index = known
            videoLayers[index].stream.renegotiate(configuration)
        } else {
            index = videoLayers.count
            videoLayers.append(
                VideoLayer(encoding: wanted.encoding, stream: RTPSendStream(configuration, using: &random)))
            videoLayers[index].isWanted = false
        }
        videoLayers[index].rid = wanted.rid
        videoLayers[index].maximumBitrate = wanted.maximumBitrate
        // One that has no others beside it has the whole path.
        if wanted.rid == nil { videoLayers[index].isActive = true }
        setWanted(index, !wanted.isPaused)
    }

    private func setWanted(_ index: Int, _ isWanted: Bool) {
        guard videoLayers[index].isWanted != isWanted else { return }
        videoLayers[index].isWanted = isWanted
        if videoLayers[index].isSent { begin(index) } else { videoLayers[index].rest() }
    }
}

/// A stream of pictures as the descriptions want it.
private struct WantedLayer {
    var encoding: Int
    var rid: String?
    var ssrc: UInt32
    var retransmissionSSRC: UInt32?
    var isPaused = false
    var maximumBitrate: Int?

    static func all(of media: NegotiatedSession.Media) -> [WantedLayer] {
        guard media.direction.sends else { return [] }
        guard !media.sendLayers.isEmpty else {
            return [
                WantedLayer(
                    encoding: media.mainEncoding, ssrc: media.ssrc, retransmissionSSRC: media.retransmissionSSRC)
            ]
        }
        return media.sendLayers.map {
            WantedLayer(
                encoding: $0.encoding, rid: $0.rid, ssrc: $0.ssrc, retransmissionSSRC: $0.retransmissionSSRC,
                isPaused: $0.isPaused, maximumBitrate: $0.maximumBitrate)
        }
    }
}
