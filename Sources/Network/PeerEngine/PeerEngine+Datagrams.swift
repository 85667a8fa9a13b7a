import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSTUN

/// What arrives from the network.
extension PeerEngine {
    /// Takes one datagram, which is decrypted in place; its bytes are used up afterwards.
    package func handle(datagram: inout MutableRawSpan, path: ICEPath, now: Instant) {
        guard state != .closed else { return }
        switch DatagramKind(of: datagram.bytes) {
        case .stun:
            showReceived(datagram.bytes, on: path, now: now)
            if ice.handle(datagram: datagram.bytes, path: path, now: now) == .handled, path == ice.selectedPath {
                silence.didHear(now: now)
            }
            feedEarlyDatagrams(now: now)
        case .dtls:
            showReceived(datagram.bytes, on: path, now: now)
            // Bytes of strangers never reach the TLS library (RFC 8842 §6).
            if ice.isValidated(path), isSecurityStarted {
                security.handle(datagram.bytes, now: now)
            } else {
                earlyDatagrams.append(datagram.bytes, path: path)
            }
        case .rtp: handleRTP(&datagram, path: path, now: now)
        case .rtcp: handleRTCP(&datagram, path: path, now: now)
        case .other: packetsDiscarded += 1
        }
        settle(now: now)
    }

    func feedEarlyDatagrams(now: Instant) {
        guard isSecurityStarted else { return }
        let ice = ice
        for bytes in earlyDatagrams.take(where: { ice.isValidated($0) }) {
            security.handle(bytes.span.bytes, now: now)
        }
    }

    /// Whether a STUN response answers a request of this peer's.
    package func ownsTransaction(_ id: STUNTransactionID) -> Bool { ice.ownsTransaction(id) }
    /// Whether checks whose user name begins with that fragment are for this peer.
    package func ownsLocalFragment(_ fragment: String) -> Bool { ice.ownsLocalFragment(fragment) }
    /// Whether media from that path is this peer's.
    package func isValidated(_ path: ICEPath) -> Bool { ice.isValidated(path) }

    private func handleRTP(_ datagram: inout MutableRawSpan, path: ICEPath, now: Instant) {
        guard ice.isValidated(path),
            let byteCount = security.unprotectRTP(&datagram, byteCount: datagram.byteCount),
            let header = try? RTPHeader(parsing: datagram.bytes.extracting(0..<byteCount))
        else {
            packetsDiscarded += 1
            return
        }
        hear(path, now: now)
        let packet = datagram.bytes.extracting(0..<byteCount)
        showReceived(packet, on: path, now: now)
        // The payload type tells the kind: types are distinct within a bundle, while SSRCs need not be announced
        // (RFC 8843 §9.2, RFC 8834 §4.8).
        if videoReceiver?.accepts(payloadType: header.payloadType) == true {
            followSSRC(of: header, now: now)
            videoReceiver?.handle(header, packet: packet, now: now)
        } else if audioReceiver?.accepts(payloadType: header.payloadType) == true {
            if let silentSince = audioReceiver?.lastPacketReceivedAt, audioReceiver?.ssrc != header.ssrc,
                now - silentSince > Self.sourceTimeout
            {
                audioReceiver?.switchSSRC(to: header.ssrc)
            }
            audioReceiver?.handle(header, packet: packet, now: now)
        } else {
            packetsDiscarded += 1
        }
    }

    /// A source that went silent and comes back under another SSRC is followed.
    private func followSSRC(of header: RTPHeader, now: Instant) {
        guard let receiver = videoReceiver, header.payloadType == receiver.configuration.payloadType,
            let known = receiver.ssrc, known != header.ssrc, let last = receiver.lastPacketReceivedAt,
            now - last > Self.sourceTimeout
        else { return }
        videoReceiver?.switchSSRC(to: header.ssrc)
    }

    private static var sourceTimeout: Duration { .seconds(2) }

    private func handleRTCP(_ datagram: inout MutableRawSpan, path: ICEPath, now: Instant) {
        guard ice.isValidated(path),
            let byteCount = security.unprotectRTCP(&datagram, byteCount: datagram.byteCount)
        else {
            packetsDiscarded += 1
            return
        }
        hear(path, now: now)
        showReceived(datagram.bytes.extracting(0..<byteCount), on: path, now: now)
        var reader = RTCPReader(datagram.bytes.extracting(0..<byteCount))
        while let packet = try? reader.next() {
            videoReceiver?.handle(packet, now: now)
            audioReceiver?.handle(packet, now: now)
            if videoSender?.handle(packet, wallClock: configuration.wallClock, now: now) == true {
                events.append(.keyFrameNeeded)
            }
            _ = audioSender?.handle(packet, wallClock: configuration.wallClock, now: now)
            if case .goodbye(let goodbye) = packet, let ssrc = videoReceiver?.ssrc ?? audioReceiver?.ssrc,
                goodbye.sources.contains(ssrc)
            {
                events.append(.remoteSourceEnded)
            }
        }
        if let roundTrip = ice.statistics.currentRoundTripTime { videoReceiver?.roundTripTime = roundTrip }
    }
}
