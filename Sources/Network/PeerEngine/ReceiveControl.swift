import EmisoraCongestionControl
import EmisoraCore
import EmisoraRTP

/// What a peer connection tells the sender of the path it receives on: what arrived, by transport-wide numbers or as
/// RFC 8888 has it, where one of them was negotiated, else an estimate of the path (REMB), and the round trip by XR
/// (RFC 3611).
struct ReceiveControl {
    /// As often as a peer's own reports, and at once when the path carries notably less.
    private static let estimateInterval: Duration = .seconds(1)
    private static let notableDrop = 0.97
    /// Receivers whose reference times are answered.
    private static let referenceLimit = 8

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
    mutating func configure(
        ids: HeaderExtensionIDs, hasTransportFeedback: Bool, hasPacketFeedback: Bool, hasEstimates: Bool, now: Instant
    ) {
        self.ids = ids
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
            estimator = hasEstimates && ids.absoluteSendTime != nil ? estimator ?? ReceiverEstimator(now: now) : nil
        }
    }

    // MARK: What arrives

    mutating func handle(_ values: HeaderExtensionValues, of header: RTPHeader, byteCount: Int, now: Instant) {
        let ssrc = header.ssrc
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

    /// Prepares what is due, and answers whether there is anything that cannot wait for the next report.
    mutating func isFeedbackDue(senderSSRC: UInt32, wallClock: WallClock, now: Instant) -> Bool {
        if unsent == nil {
            unsent =
                feedback?.pollFeedback(senderSSRC: senderSSRC, now: now).map(Unsent.transportWide)
                ?? packetFeedback?.pollFeedback(senderSSRC: senderSSRC, wallClock: wallClock, now: now)
                .map(Unsent.perPacket)
        }
        estimator?.update(now: now)
        return unsent != nil || isEstimateDue(now: now)
    }

    private func isEstimateDue(now: Instant) -> Bool {
        guard let estimate = estimator?.bitrate else { return false }
        guard let sentEstimate else { return true }
        let limit = Double(sentEstimate.bitrate.bitsPerSecond) * Self.notableDrop
        return now - sentEstimate.at >= Self.estimateInterval || Double(estimate.bitsPerSecond) < limit
    }

    mutating func write(to writer: inout RTCPWriter, senderSSRC: UInt32, now: Instant) throws(RTPError) {
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
