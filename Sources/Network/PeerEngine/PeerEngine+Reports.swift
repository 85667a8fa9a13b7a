import EmisoraCore
import EmisoraRTP

/// The RTCP that we send: regular compound reports (RFC 3550 §6.1), feedback at once (RFC 4585), BYE at the end.
extension PeerEngine {
    func pollReport(into buffer: inout MutableRawSpan, now: Instant) -> Int? {
        guard security.isEstablished else { return nil }
        var extra = FeedbackMessages(
            video: receivesVideo ? videoReceiver?.pollFeedback(now: now) : nil,
            notification: sending.takeNotification())
        extra.isReceiveControlDue = receiving.isFeedbackDue(
            senderSSRC: feedbackSSRC, videoSSRC: receivesVideo ? videoReceiver?.ssrc : nil,
            wallClock: configuration.wallClock, now: now)
        guard isReportDue || !extra.isEmpty else { return nil }
        let isReducedSize = negotiated?.media.allSatisfy(\.isRTCPReducedSize) == true
        let isRegular = isReportDue
        isReportDue = false
        guard
            let plain = write(
                into: &buffer, isCompound: isRegular || !isReducedSize, isRegular: isRegular, extra, now: now)
        else { return nil }
        return sealRTCP(&buffer, byteCount: plain, now: now)
    }

    func pollGoodbye(into buffer: inout MutableRawSpan, now: Instant) -> Int? {
        guard security.isEstablished,
            let plain = write(
                into: &buffer, isCompound: true, isRegular: false, FeedbackMessages(isGoodbye: true), now: .zero),
            let byteCount = sealRTCP(&buffer, byteCount: plain, now: now)
        else {
            sayFarewell()
            return pollSecurity(into: &buffer, now: now)
        }
        sayFarewell()
        return byteCount
    }

    private func sayFarewell() {
        isGoodbyeDue = false
        security.close()
    }

    var localSSRCs: [UInt32] {
        videoLayers.map(\.stream.configuration.ssrc) + [audioSender?.configuration.ssrc].compactMap { $0 }
    }

    /// The SSRC that speaks for us in feedback, also where we send no media (RFC 3550 §6.4.2 allows any of ours).
    var feedbackSSRC: UInt32 { localSSRCs.first ?? negotiated?.media.first?.ssrc ?? 1 }

    /// What one RTCP datagram says beside its reports.
    private struct FeedbackMessages {
        var video: RTPVideoReceiveStream.Feedback?
        var notification: TemporaryMaximumBitrate?
        var isReceiveControlDue = false
        var isGoodbye = false

        var isEmpty: Bool { video == nil && notification == nil && !isReceiveControlDue }
    }

    private func write(
        into buffer: inout MutableRawSpan, isCompound: Bool, isRegular: Bool, _ extra: FeedbackMessages, now: Instant
    ) -> Int? {
        // The tag and the SRTCP index come behind it.
        let room = buffer.byteCount - Security.maximumOverhead
        guard room > 0 else { return nil }
        var plain = buffer._mutatingExtracting(0..<min(room, 1_200))
        var writer = RTCPWriter(&plain, form: isCompound ? .compound : .reducedSize)
        do throws(RTPError) {
            if isCompound {
                try writeReports(to: &writer, isGoodbye: extra.isGoodbye, now: now)
                let sources = localSSRCs.isEmpty ? [feedbackSSRC] : localSSRCs
                try writer.write(SourceDescription(chunks: sources.map { .init(ssrc: $0, cname: cname) }))
            }
            if isRegular {
                let report = receiving.extendedReport(
                    ssrc: feedbackSSRC, onlyReceives: localSSRCs.isEmpty, wallClock: configuration.wallClock, now: now)
                if let report { try writer.write(report) }
            }
            if let feedback = extra.video, let mediaSSRC = videoReceiver?.ssrc {
                try write(feedback, mediaSSRC: mediaSSRC, to: &writer)
            }
            if let notification = extra.notification { try writer.write(notification) }
            if extra.isReceiveControlDue || isRegular {
                try receiving.write(to: &writer, senderSSRC: feedbackSSRC, isRegular: isRegular, now: now)
            }
            if !departedSources.isEmpty, isCompound {
                try writer.write(Goodbye(sources: departedSources))
                departedSources = []
            }
            if extra.isGoodbye { try writer.write(Goodbye(sources: localSSRCs.isEmpty ? [feedbackSSRC] : localSSRCs)) }
        } catch {
            // What was written before stays valid; the rest waits for the next report.
        }
        return writer.byteCount > 0 ? writer.byteCount : nil
    }

    private func writeReports(to writer: inout RTCPWriter, isGoodbye: Bool, now: Instant) throws(RTPError) {
        var blocks: [ReportBlock] = []
        if !isGoodbye {
            if let block = videoReceiver?.reportBlock(now: now) { blocks.append(block) }
            if let block = audioReceiver?.reportBlock(now: now) { blocks.append(block) }
        }
        var wrote = false
        if !isGoodbye {
            for sender in videoLayers.map(\.stream) + [audioSender].compactMap({ $0 }) {
                guard var report = sender.senderReport(wallClock: configuration.wallClock, now: now) else { continue }
                report.reports = blocks
                blocks = []
                try writer.write(report)
                wrote = true
            }
        }
        if !wrote { try writer.write(ReceiverReport(ssrc: feedbackSSRC, reports: blocks)) }
    }

    private func write(
        _ feedback: RTPVideoReceiveStream.Feedback, mediaSSRC: UInt32, to writer: inout RTCPWriter
    ) throws(RTPError) {
        switch feedback {
        case .nack(let numbers):
            try writer.write(
                GenericNACK(senderSSRC: feedbackSSRC, mediaSSRC: mediaSSRC, sequenceNumbers: numbers))
        case .keyFrameRequest:
            if negotiated?.media(.video)?.feedback.pictureLossIndication == true {
                try writer.write(PictureLossIndication(senderSSRC: feedbackSSRC, mediaSSRC: mediaSSRC))
            } else {
                firSequenceNumber &+= 1
                try writer.write(
                    FullIntraRequest(
                        senderSSRC: feedbackSSRC,
                        entries: [.init(ssrc: mediaSSRC, sequenceNumber: firSequenceNumber)]))
            }
        }
    }
}

extension PeerEngine {
    package var connectionState: PeerConnectionState { state }

    package var statistics: PeerStatistics {
        PeerStatistics(
            state: state, ice: ice.statistics, security: security.description,
            outboundVideo: videoSender?.statistics, outboundAudio: audioSender?.statistics,
            remoteInboundVideo: videoSender?.remoteStatistics, remoteInboundAudio: audioSender?.remoteStatistics,
            outboundLayers: videoLayers.map(\.statistics),
            inboundVideo: videoReceiver?.statistics, inboundAudio: audioReceiver?.statistics,
            packetsDiscardedOnReceive: packetsDiscarded, sendDecision: sending.decision,
            queueingDelay: sending.queueingDelay, inboundRoundTripTime: inboundRoundTripTime,
            inboundAudioLevel: remoteAudioLevel)
    }
}
