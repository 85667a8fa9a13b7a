import EmisoraCongestionControl
import EmisoraCore
import EmisoraRTP

/// What is sent of the queues, at which rate, and what follows from the peer's word on it.
extension PeerEngine {
    /// How much a peer may have waiting before pictures are left out for it alone.
    private static var longestBacklog: Duration { .seconds(1) }
    /// After pictures were left out a key frame is asked for, which is as dear for all others, no sooner than this.
    private static var resumptionInterval: Duration { .seconds(3) }

    /// Bounds what is sent to this peer, media and headers together. Before the first packet it also says where to
    /// start: what is likely to be carried, since feedback corrects it soon.
    package func setMaximumBitrate(_ ceiling: DataRate, start: DataRate, now: Instant) {
        maximumBitrate = ceiling
        sending.setMaximum(ceilingWithRepair, start: start, now: now)
        announceTarget()
    }

    /// What may be sent to this peer at present, all media together, and what bounds it.
    package var sendDecision: CongestionDecision { sending.decision }

    /// How long the pictures that wait take at the present rate.
    package var videoBacklog: Duration {
        sending.duration(of: videoLayers.reduce(0) { $0 + $1.stream.queuedByteCount })
    }

    /// Whether there is room for another picture. A path that carries less than the encoder makes for all gets none
    /// until a key frame, which is asked for when its queue has run dry.
    func hasRoomForVideo(_ index: Int, now: Instant) -> Bool {
        let backlog = sending.duration(of: videoLayers[index].stream.queuedByteCount)
        guard backlog > Self.longestBacklog else { return true }
        videoLayers[index].isWaitingForKeyFrame = true
        videoLayers[index].resumeAt = videoLayers[index].resumeAt ?? now + Self.resumptionInterval
        return false
    }

    // MARK: Packets

    func pollMedia(into buffer: inout MutableRawSpan, now: Instant) -> Int? {
        guard security.isEstablished else { return nil }
        while let kind = sending.next(of: waitingPackets, now: now) {
            if let byteCount = pollMedia(kind, into: &buffer, now: now) { return byteCount }
        }
        return nil
    }

    private var waitingPackets: Pacer.Waiting {
        var waiting: Pacer.Waiting = []
        if audioSender?.hasPackets == true { waiting.insert(.audio) }
        if nextLayer(.retransmission) != nil { waiting.insert(.retransmission) }
        if nextLayer(.media) != nil { waiting.insert(.media) }
        return waiting
    }

    /// The layer whose turn it is: the one with the least to send, which is the smallest picture, and the one that is
    /// most likely to be of use where not all of them get through.
    private func nextLayer(_ kind: Pacer.Kind) -> Int? {
        var next: Int?
        for (index, layer) in videoLayers.enumerated() {
            let isWaiting =
                kind == .retransmission ? layer.stream.hasRetransmissions : layer.stream.hasMedia
            guard isWaiting else { continue }
            if let known = next, videoLayers[known].stream.queuedByteCount <= layer.stream.queuedByteCount { continue }
            next = index
        }
        return next
    }

    /// `nil` where what waited turns out not to be worth sending any more.
    private func pollMedia(_ kind: Pacer.Kind, into buffer: inout MutableRawSpan, now: Instant) -> Int? {
        let values: HeaderExtensionValues
        let packet: RTPSendStream.SentPacket?
        if kind == .audio {
            values = sending.values(for: audioSender?.configuration.extensions?.ids, now: now)
            packet = audioSender?.pollPacket(.any, values: values, into: &buffer, now: now)
        } else {
            guard let index = nextLayer(kind) else { return nil }
            values = sending.values(for: videoLayers[index].stream.configuration.extensions?.ids, now: now)
            packet = videoLayers[index].stream.pollPacket(
                kind == .retransmission ? .retransmission : .media, values: values, into: &buffer, now: now)
        }
        guard let packet, let byteCount = sealRTP(&buffer, byteCount: packet.byteCount, now: now) else { return nil }
        sending.didSend(
            packet, of: kind == .audio ? .audio : .video,
            isNumbered: (values.transportSequenceNumber != nil || isToldOfEachPacket) && !packet.isRepetition, now: now)
        return byteCount
    }

    // MARK: Feedback

    /// Takes what one RTCP packet says of the path that we send on.
    func handleFeedback(_ packet: RTCPPacket, now: Instant) {
        switch packet {
        case .transportWideFeedback(let feedback): sending.handle(feedback, now: now)
        case .congestionControlFeedback(let feedback): sending.handle(feedback, now: now)
        case .senderReport(let report): handle(report.reports, from: report.ssrc, now: now)
        case .receiverReport(let report): handle(report.reports, from: report.ssrc, now: now)
        case .receiverEstimatedMaximumBitrate(let estimate):
            // Some receivers name no source, which means all.
            guard estimate.sources.isEmpty || estimate.sources.contains(where: localSSRCs.contains) else { return }
            sending.handle(estimate, now: now)
        case .temporaryMaximumBitrate(let request):
            sending.handle(request, ours: localSSRCs, now: now)
            // What a sender says to a request of ours.
            receiving.handle(request, ours: feedbackSSRC)
        case .goodbye(let goodbye):
            for source in goodbye.sources { sending.receiverLeft(source, now: now) }
        default: break
        }
    }

    private func handle(_ blocks: [ReportBlock], from ssrc: UInt32, now: Instant) {
        sending.heard(from: ssrc, now: now)
        let onVideo = blocks.filter { block in videoLayers.contains { $0.stream.configuration.ssrc == block.ssrc } }
        if let first = onVideo.first {
            let layer = videoLayers.first { $0.stream.configuration.ssrc == first.ssrc }
            sending.handle(onVideo, of: .video, roundTripTime: layer?.stream.roundTripTime, now: now)
            // Repair goes with the encoding for peers without simulcast alone.
            let main = videoSender?.configuration.ssrc
            if let block = onVideo.first(where: { $0.ssrc == main }) { followLoss(block, of: .video, now: now) }
        }
        if let audioSender, let block = blocks.first(where: { $0.ssrc == audioSender.configuration.ssrc }) {
            sending.handle([block], of: .audio, roundTripTime: audioSender.roundTripTime, now: now)
            followLoss(block, of: .audio, now: now)
        }
    }

    // MARK: Time

    func handleSendTimeout(now: Instant) {
        let trip = sending.handleTimeout(now: now)
        if let trip, state != .failed {
            ice.close()
            enter(.failed, reason: trip.description)
        }
        heedPause()
        for index in videoLayers.indices {
            if let due = videoLayers[index].resumeAt, due <= now { resumeVideo(index, now: now) }
        }
        announceTarget()
    }

    /// Pictures that a circuit breaker holds back are of no use later; when it lets go the peer needs a key frame.
    func heedPause() {
        let isPaused = sending.isPaused.contains(.media)
        guard !videoLayers.isEmpty, isPaused != isVideoPaused else { return }
        isVideoPaused = isPaused
        for index in videoLayers.indices {
            videoLayers[index].isWaitingForKeyFrame = true
            if isPaused {
                _ = videoLayers[index].stream.dropQueuedFrames()
            } else {
                needKeyFrame(videoLayers[index].encoding)
            }
        }
    }

    private func resumeVideo(_ index: Int, now: Instant) {
        guard videoLayers[index].isWaitingForKeyFrame else {
            videoLayers[index].resumeAt = nil
            return
        }
        guard videoLayers[index].stream.queuedFrameCount == 0 else {
            videoLayers[index].resumeAt = now + .milliseconds(500)
            return
        }
        videoLayers[index].resumeAt = now + Self.resumptionInterval
        needKeyFrame(videoLayers[index].encoding)
    }

    /// - Parameter always: also an unchanged one, since media's part of it changed.
    func announceTarget(always: Bool = false) {
        let unchanged = always ? sending.decision.targetBitrate : nil
        guard let target = sending.takeChangedTarget() ?? unchanged else { return }
        // One that nobody has fetched yet is out of date.
        events.removeAll { if case .targetBitrateChanged = $0 { true } else { false } }
        events.append(.targetBitrateChanged(target))
    }
}
