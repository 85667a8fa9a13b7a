import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSTUN

/// What arrives from the network.
extension PeerEngine {
    /// Takes one datagram, which is decrypted in place; its bytes are used up afterwards.
    ///
    /// - Returns: Whether it is a STUN message that proves to come from the peer.
    @discardableResult
    package func handle(datagram: inout MutableRawSpan, path: ICEPath, now: Instant) -> Bool {
        guard state != .closed else { return false }
        var isAuthentic = false
        switch DatagramKind(of: datagram.bytes) {
        case .stun:
            showReceived(datagram.bytes, on: path, now: now)
            isAuthentic = ice.handle(datagram: datagram.bytes, path: path, now: now) == .handled
            if isAuthentic, path == ice.selectedPath { silence.didHear(now: now) }
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
        return isAuthentic
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
        resolveCollision(with: header.ssrc)
        handleRTP(header, packet: packet, now: now)
    }

    /// Two sources meet once in billions; what meets ours again and again does so on purpose, or is an echo.
    private static var collisionLimit: Int { 4 }

    /// A source of the peer's bears the number of one of ours: ours goes on under another one (RFC 3550 §8.2).
    private func resolveCollision(with ssrc: UInt32) {
        guard collisions < Self.collisionLimit else { return }
        func has(_ layer: VideoLayer) -> Bool {
            let sender = layer.stream.configuration
            return [sender.ssrc, sender.rtxSSRC, sender.flexfecSSRC].contains(ssrc)
        }
        if let index = videoLayers.firstIndex(where: has) {
            let sender = videoLayers[index].stream.configuration
            let fresh = (UInt32(truncatingIfNeeded: random.next()), UInt32(truncatingIfNeeded: random.next()))
            videoLayers[index].stream.changeSSRC(
                to: fresh.0, rtxSSRC: sender.rtxSSRC == nil ? nil : fresh.1, using: &random)
            departedSources += [sender.ssrc, sender.rtxSSRC, sender.flexfecSSRC].compactMap { $0 }
            // Its receiver begins anew.
            videoLayers[index].isWaitingForKeyFrame = true
            needKeyFrame(videoLayers[index].encoding)
        } else if let sender = audioSender?.configuration, sender.ssrc == ssrc {
            audioSender?.changeSSRC(to: UInt32(truncatingIfNeeded: random.next()), rtxSSRC: nil, using: &random)
            departedSources.append(sender.ssrc)
        } else {
            return
        }
        collisions += 1
        isReportDue = true
    }

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
            if case .senderReport(let report) = packet { resolveCollision(with: report.ssrc) }
            videoReceiver?.handle(packet, now: now)
            audioReceiver?.handle(packet, now: now)
            if case .extendedReport(let report) = packet {
                receiving.handle(report, ssrc: feedbackSSRC, wallClock: configuration.wallClock, now: now)
            }
            for index in videoLayers.indices {
                let isKeyFrameWanted = videoLayers[index].stream.handle(
                    packet, wallClock: configuration.wallClock, now: now)
                if isKeyFrameWanted, videoLayers[index].isSent { needKeyFrame(videoLayers[index].encoding) }
            }
            _ = audioSender?.handle(packet, wallClock: configuration.wallClock, now: now)
            handleFeedback(packet, now: now)
            if case .goodbye(let goodbye) = packet, let ssrc = videoReceiver?.ssrc ?? audioReceiver?.ssrc,
                goodbye.sources.contains(ssrc)
            {
                events.append(.remoteSourceEnded)
            }
        }
        heedPause()
        announceTarget()
        if let roundTrip = inboundRoundTripTime { videoReceiver?.roundTripTime = roundTrip }
    }
}
