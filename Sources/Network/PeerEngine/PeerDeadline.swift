import EmisoraCore

/// When a peer connection wants to be called next, and what for.
package struct PeerDeadline: Equatable, Sendable {
    package enum Reason: String, Equatable, Sendable {
        case ice
        case security
        /// The peer is to be asked whether it is still there.
        case silence
        /// A regular RTCP report.
        case report
        /// NACKs, key frame requests and frames given up.
        case videoReceiver
        /// Feedback on what arrives: transport-wide, REMB.
        case receiveControl
        /// SCTP's timers.
        case dataChannels
        /// The pacer lets the next packet go.
        case pacing
        /// The congestion control's own interval.
        case sendControl
        case circuitBreaker
        /// A peer without room for pictures may have some again.
        case resumption
    }

    package var at: Instant
    package var reason: Reason

    package init(at: Instant, reason: Reason) {
        self.at = at
        self.reason = reason
    }
}

extension PeerEngine {
    /// `nil` when there is nothing to wait for.
    package var deadline: PeerDeadline? {
        if state == .closed || state == .failed { return nil }
        var next: PeerDeadline?
        func add(_ instant: Instant?, _ reason: PeerDeadline.Reason) {
            guard let instant, instant < next?.at ?? .distantFuture else { return }
            next = PeerDeadline(at: instant, reason: reason)
        }
        add(ice.nextDeadline, .ice)
        add(security.nextDeadline, .security)
        if receivesVideo { add(videoReceiver?.nextDeadline, .videoReceiver) }
        if security.isEstablished { add(reports.nextDeadline, .report) }
        // What cannot be sent without a path is not waited for.
        guard isReadyForMedia else { return next }
        add(silence.deadline, .silence)
        if security.canSendApplicationData { add(dataChannels?.nextDeadline, .dataChannels) }
        add(receiving.nextDeadline, .receiveControl)
        add(sending.nextPacketAt, .pacing)
        add(sending.nextIntervalAt, .sendControl)
        add(sending.nextTripAt, .circuitBreaker)
        for layer in videoLayers { add(layer.resumeAt, .resumption) }
        return next
    }

    package var nextDeadline: Instant? { deadline?.at }
}
