import EmisoraCore
import EmisoraRTP
import EmisoraSDP

/// Which stream a received packet is of, and what its header extensions tell.
extension PeerEngine {
    /// A source that is silent for that long may have gone on under another SSRC …
    private static var sourceTimeout: Duration { .seconds(2) }
    /// … and one whose MID says that the new SSRC is the same media's, much sooner.
    private static var announcedSourceTimeout: Duration { .milliseconds(200) }

    /// The header extensions that we use, in the order of the ids that we offer.
    static func headerExtensions(_ kind: MediaConfiguration.Kind) -> [HeaderExtensionIDs.Kind] {
        let common: [HeaderExtensionIDs.Kind] = [
            .mid, .transportSequenceNumber, .absoluteSendTime, .absoluteCaptureTime,
        ]
        return common + (kind == .audio ? [.audioLevel] : [.videoOrientation, .playoutDelay])
    }

    /// By XR where the sender answers it, else by ICE's checks.
    var inboundRoundTripTime: Duration? { receiving.roundTripTime ?? ice.statistics.currentRoundTripTime }

    func handleRTP(_ header: RTPHeader, packet: RawSpan, now: Instant) {
        let values = HeaderExtensionValues(of: header, in: packet, ids: receiving.ids)
        receiving.handle(values, of: header, byteCount: packet.byteCount, now: now)
        let mid = mid(of: header, in: packet)
        switch kind(of: header, mid: mid) {
        case .video:
            followVideoSource(of: header, hasMID: mid != nil, now: now)
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

    private func followVideoSource(of header: RTPHeader, hasMID: Bool, now: Instant) {
        guard let receiver = videoReceiver, receiver.isMedia(payloadType: header.payloadType),
            let known = receiver.ssrc, known != header.ssrc, let last = receiver.lastPacketReceivedAt,
            now - last > (hasMID ? Self.announcedSourceTimeout : Self.sourceTimeout)
        else { return }
        videoReceiver?.switchSSRC(to: header.ssrc)
    }

    private func followAudioSource(of header: RTPHeader, hasMID: Bool, now: Instant) {
        guard let receiver = audioReceiver, receiver.ssrc != header.ssrc, let last = receiver.lastPacketReceivedAt,
            now - last > (hasMID ? Self.announcedSourceTimeout : Self.sourceTimeout)
        else { return }
        audioReceiver?.switchSSRC(to: header.ssrc)
    }
}
