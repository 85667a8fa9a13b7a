import EmisoraCore
import EmisoraRTP
import EmisoraSDP

/// Which stream a received packet is of, and what its header extensions tell.
extension PeerEngine {
    /// A source of sound that is silent for that long may have gone on under another SSRC …
    private static var sourceTimeout: Duration { .seconds(2) }
    /// … and one whose MID says that the new SSRC is the same media's, much sooner.
    private static var announcedSourceTimeout: Duration { .milliseconds(200) }

    /// Whether pictures are to come, as far as was agreed on.
    var receivesVideo: Bool { negotiated?.media(.video)?.direction.receives == true }

    /// The header extensions that we use, in the order of the ids that we offer.
    static func headerExtensions(_ kind: MediaConfiguration.Kind) -> [HeaderExtensionIDs.Kind] {
        let common: [HeaderExtensionIDs.Kind] = [
            .mid, .transportSequenceNumber, .absoluteSendTime, .absoluteCaptureTime,
        ]
        return common + (kind == .audio ? [.audioLevel] : [.videoOrientation, .playoutDelay, .rid, .repairedRID])
    }

    /// By XR where the sender answers it, else by ICE's checks.
    var inboundRoundTripTime: Duration? { receiving.roundTripTime ?? ice.statistics.currentRoundTripTime }

    func handleRTP(_ header: RTPHeader, packet: RawSpan, now: Instant) {
        let values = HeaderExtensionValues(of: header, in: packet, ids: receiving.ids)
        let mid = mid(of: header, in: packet)
        let kind = kind(of: header, mid: mid)
        receiving.handle(values, of: header, kind: kind, byteCount: packet.byteCount, now: now)
        switch kind {
        case .video:
            guard takesVideo(header, in: packet, hasMID: mid != nil, now: now) else {
                packetsDiscarded += 1
                break
            }
            videoReceiver?.handle(header, packet: packet, now: now)
            videoReceiver?.handle(values, of: header)
            if let time = values.absoluteCaptureTime { videoReceiver?.handle(time, of: header) }
        case .audio:
            followAudioSource(of: header, hasMID: mid != nil, now: now)
            audioReceiver?.handle(header, packet: packet, now: now)
            if let time = values.absoluteCaptureTime { audioReceiver?.handle(time, of: header) }
            if let level = values.audioLevel { remoteAudioLevel = level }
        case nil: packetsDiscarded += 1
        }
    }

    /// RFC 8843 §9.2: the MID tells the m-line of an SSRC that nothing announced; without one it is the payload type,
    /// which is of one m-line only.
    private func kind(of header: RTPHeader, mid: String?) -> MediaConfiguration.Kind? {
        let known = mid.flatMap { mid in negotiated?.media.first { $0.mid == mid } }
        // A MID of no m-line that we took.
        if mid != nil, known == nil { return nil }
        if videoReceiver?.accepts(payloadType: header.payloadType) == true {
            return known?.kind ?? .video == .video ? .video : nil
        }
        if audioReceiver?.accepts(payloadType: header.payloadType) == true {
            return known?.kind ?? .audio == .audio ? .audio : nil
        }
        return nil
    }

    private func mid(of header: RTPHeader, in packet: RawSpan) -> String? {
        guard let id = receiving.ids.mid, header.extensionProfile != nil else { return nil }
        return HeaderExtensions(of: header, in: packet).text(of: id)
    }

    /// Whether a packet is of the one stream of pictures that we take; goes over to another one where that is to be.
    private func takesVideo(_ header: RTPHeader, in packet: RawSpan, hasMID: Bool, now: Instant) -> Bool {
        guard let receiver = videoReceiver else { return false }
        let isRetransmission = receiver.isRetransmission(payloadType: header.payloadType)
        if videoSources.isNameless(header.ssrc), header.extensionProfile != nil,
            let id = isRetransmission ? receiving.ids.repairedRID : receiving.ids.rid,
            let rid = HeaderExtensions(of: header, in: packet).text(of: id)
        {
            videoSources.learn(rid, of: header.ssrc)
        }
        if isRetransmission { return videoSources.takesRetransmission(header.ssrc, current: receiver.ssrc) }
        var current: (ssrc: UInt32, lastPacketAt: Instant)?
        if let ssrc = receiver.ssrc, let last = receiver.lastPacketReceivedAt { current = (ssrc, last) }
        switch videoSources.judge(header.ssrc, current: current, hasMID: hasMID, now: now) {
        case .take: return true
        case .takeOver:
            videoReceiver?.switchSSRC(to: header.ssrc)
            return true
        case .ignore: return false
        }
    }

    private func followAudioSource(of header: RTPHeader, hasMID: Bool, now: Instant) {
        guard let receiver = audioReceiver, receiver.ssrc != header.ssrc, let last = receiver.lastPacketReceivedAt,
            now - last > (hasMID ? Self.announcedSourceTimeout : Self.sourceTimeout)
        else { return }
        audioReceiver?.switchSSRC(to: header.ssrc)
    }
}
