import EmisoraCongestionControl
import EmisoraCore
import EmisoraRTP
import EmisoraSDP

/// What a peer connection tells the sender of the path it receives on: what arrived, by transport-wide numbers or as
/// RFC 8888 has it, where one of them was negotiated, else an estimate of the path, as REMB or as a limit that is asked
/// for (TMMBR), and the round trip by XR (RFC 3611).
struct ReceiveControl {
    /// As often as a peer's own reports, and at once when the path carries notably less.
    private static let estimateInterval: Duration = .seconds(1)
    private static let notableDrop = 0.97
    /// Receivers whose reference times are answered.
    private static let referenceLimit = 8
    /// What of an estimate is left for pictures at the least, whatever sound takes.
    private static let leastShare = 0.5

    private enum Unsent {
        case transportWide(TransportWideFeedback)
        case perPacket(CongestionControlFeedback)
    }

    private struct Reference {
        var ssrc: UInt32
        var middle32: UInt32
        var receivedAt: Instant
    }

    /// Ids of all m-lines together: in a bundle one id has one meaning (RFC 8843 §9).
    private(set) var ids = HeaderExtensionIDs()
    private var feedback: TransportFeedbackReceiver?
    private var packetFeedback: CongestionFeedbackReceiver?
    private var unsent: Unsent?
    private var hasBeenPutOff = false
    private var estimator: ReceiverEstimator?
    /// Where the sender takes no REMB; `nil`: neither TMMBR.
    private var requester: TemporaryMaximumRequester?
    private var hasEstimates = false
    private var sound = SentRate()
    /// Headers of the packets of pictures, on average, in bytes.
    private var overhead = 0.0
    private var sources: [UInt32] = []
    private var sentEstimate: (bitrate: DataRate, at: Instant)?
    private var references: [Reference] = []
    /// By the sender's answers to our reference times.
    private(set) var roundTripTime: Duration?

    /// - Parameters:
    ///   - ids: of the header extensions in what is received.
    ///   - hasTransportFeedback: the sender takes transport-wide feedback.
    ///   - hasPacketFeedback: it takes that of RFC 8888.
    ///   - hasEstimates: it takes REMB.
    ///   - hasMaximum: it takes TMMBR.
    mutating func configure(
        ids: HeaderExtensionIDs, hasTransportFeedback: Bool, hasPacketFeedback: Bool, hasEstimates: Bool,
        hasMaximum: Bool, now: Instant
    ) {
        self.ids = ids
        self.hasEstimates = hasEstimates
        // One that has asked for less lets go when something better is agreed on.
        requester = hasMaximum ? requester ?? TemporaryMaximumRequester() : nil
        let kept = packetFeedback
        packetFeedback = nil
        if hasTransportFeedback, ids.transportSequenceNumber != nil {
            feedback = feedback ?? TransportFeedbackReceiver()
            estimator = nil
        } else if hasPacketFeedback {
            feedback = nil
            packetFeedback = kept ?? CongestionFeedbackReceiver()
            estimator = nil
        } else {
            feedback = nil
            let isOfUse = (hasEstimates || hasMaximum) && ids.absoluteSendTime != nil
            estimator = isOfUse ? estimator ?? ReceiverEstimator(now: now) : nil
        }
    }

    // MARK: What arrives

    mutating func handle(
        _ values: HeaderExtensionValues, of header: RTPHeader, kind: MediaConfiguration.Kind?, byteCount: Int,
        now: Instant
    ) {
        let ssrc = header.ssrc
        if kind == .audio {
            sound.add(byteCount: byteCount, now: now)
        } else {
            overhead += (Double(byteCount - header.payload.count) - overhead) / 16
        }
        packetFeedback?.handle(ssrc: ssrc, sequenceNumber: header.sequenceNumber, byteCount: byteCount, now: now)
        if feedback != nil, let number = values.transportSequenceNumber {
            feedback?.handle(sequenceNumber: number, mediaSSRC: ssrc, byteCount: byteCount, now: now)
        } else if estimator != nil, let sendTime = values.absoluteSendTime {
            if !sources.contains(ssrc), sources.count < Self.referenceLimit { sources.append(ssrc) }
            estimator?.handle(sendTime: sendTime, byteCount: byteCount, now: now)
        }
    }

    /// Takes a receiver's reference time, and a sender's answers to ours (`ssrc`).
    mutating func handle(_ report: ExtendedReport, ssrc: UInt32, wallClock: WallClock, now: Instant) {
        if let time = report.receiverReferenceTime {
            references.removeAll { $0.ssrc == report.ssrc }
            if references.count < Self.referenceLimit {
                references.append(Reference(ssrc: report.ssrc, middle32: time.middle32, receivedAt: now))
            }
        }
        for delay in report.delays where delay.ssrc == ssrc && delay.lastReceiverReport != 0 {
            roundTripTime =
                RTCPRoundTrip.duration(
                    since: delay.lastReceiverReport, held: delay.delaySinceLastReceiverReport, wallClock: wallClock,
                    now: now) ?? roundTripTime
        }
    }

    // MARK: What is to be said

    /// When feedback is due; reports carry the rest.
    var nextDeadline: Instant? {
        if let feedback { return feedback.nextDeadline }
        if let packetFeedback { return packetFeedback.nextDeadline }
        return estimator?.nextDeadline
    }

    /// Takes a sender's answer to a limit that we (`ours`) asked for.
    mutating func handle(_ notification: TemporaryMaximumBitrate, ours: UInt32) {
        requester?.handle(notification, ours: ours)
    }

    /// Prepares what is due, and answers whether there is anything that cannot wait for the next report.
    ///
    /// - Parameter videoSSRC: of the pictures that we take.
    mutating func isFeedbackDue(
        senderSSRC: UInt32, videoSSRC: UInt32?, wallClock: WallClock, now: Instant
    ) -> Bool {
        if unsent == nil {
            unsent =
                feedback?.pollFeedback(senderSSRC: senderSSRC, now: now).map(Unsent.transportWide)
                ?? packetFeedback?.pollFeedback(senderSSRC: senderSSRC, wallClock: wallClock, now: now)
                .map(Unsent.perPacket)
        }
        estimator?.update(now: now)
        if let videoSSRC {
            let limit = limit(now: now)
            requester?.follow(limit, overhead: Int(overhead), of: videoSSRC)
        }
        return unsent != nil || isEstimateDue(now: now) || requester?.isUrgent(ours: senderSSRC) == true
    }

    /// What the sender of pictures is to keep to; REMB speaks of all that it sends, TMMBR of one source.
    private func limit(now: Instant) -> DataRate? {
        guard !hasEstimates, let estimate = estimator?.bitrate else { return nil }
        let whole = Double(estimate.bitsPerSecond)
        return .bitsPerSecond(Int(max(whole * Self.leastShare, whole - (sound.bitsPerSecond(now: now) ?? 0))))
    }

    private func isEstimateDue(now: Instant) -> Bool {
        guard hasEstimates, let estimate = estimator?.bitrate else { return false }
        guard let sentEstimate else { return true }
        let limit = Double(sentEstimate.bitrate.bitsPerSecond) * Self.notableDrop
        return now - sentEstimate.at >= Self.estimateInterval || Double(estimate.bitsPerSecond) < limit
    }

    /// - Parameter isRegular: with a regular report.
    mutating func write(
        to writer: inout RTCPWriter, senderSSRC: UInt32, isRegular: Bool, now: Instant
    ) throws(RTPError) {
        if let entry = requester?.pollEntry(isRegular: isRegular, ours: senderSSRC) {
            try writer.write(TemporaryMaximumBitrate(.request, senderSSRC: senderSSRC, entries: [entry]))
        }
        if isEstimateDue(now: now), let estimate = estimator?.bitrate {
            try writer.write(
                ReceiverEstimatedMaximumBitrate(senderSSRC: senderSSRC, bitrate: estimate, sources: sources))
            sentEstimate = (estimate, now)
        }
        guard let message = unsent else { return }
        // What has no room beside the rest goes into the next datagram; what has none there either is given up.
        if hasBeenPutOff { unsent = nil }
        hasBeenPutOff = !hasBeenPutOff
        switch message {
        case .transportWide(let feedback): try writer.write(feedback)
        case .perPacket(let feedback): try writer.write(feedback)
        }
        unsent = nil
        hasBeenPutOff = false
    }

    /// What goes with a regular report: our reference time where we only receive, and the answers to those of others.
    mutating func extendedReport(
        ssrc: UInt32, onlyReceives: Bool, wallClock: WallClock, now: Instant
    ) -> ExtendedReport? {
        let delays = references.map { reference in
            ExtendedReport.Delay(
                ssrc: reference.ssrc, lastReceiverReport: reference.middle32,
                delaySinceLastReceiverReport: RTCPRoundTrip.ticks(in: now - reference.receivedAt))
        }
        references.removeAll()
        guard onlyReceives || !delays.isEmpty else { return nil }
        return ExtendedReport(
            ssrc: ssrc, receiverReferenceTime: onlyReceives ? wallClock.ntp(at: now) : nil, delays: delays)
    }
}
