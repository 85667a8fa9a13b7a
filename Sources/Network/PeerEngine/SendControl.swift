import EmisoraCongestionControl
import EmisoraCore
import EmisoraRTP

/// How much a peer connection sends and when: congestion control, pacer and circuit breakers with what they are told.
///
/// The connection asks ``next(of:now:)`` what may leave, tells of what left, and hands in all RTCP that is about the path.
struct SendControl {
    enum Stream {
        case audio
        case video
    }

    /// Longer than RFC 8083's three least intervals of 5 s, so that a path that is lost altogether is ended by consent
    /// (RFC 7675), which can tell it from one that loses RTCP alone; participants of RTP give up each other after five
    /// intervals (RFC 3550 §6.3.5).
    private static let reportTimeout: Duration = .seconds(27)
    /// libwebrtc reports on sound every five seconds.
    private static let audioReportInterval: Duration = .seconds(5)
    private static let audioReportTimeout: Duration = .seconds(35)
    /// A smaller change of the target is not worth a change of the encoder's.
    private static let worthwhileChange = 0.02

    private var control: CongestionControl
    private var adapter = TransportFeedbackAdapter()
    private var pacer: Pacer
    private var limits = ReceiverLimits()
    private var lossReporter = LossReporter()
    private var videoBreaker: CircuitBreaker
    private var audioBreaker: CircuitBreaker
    private var notification: TemporaryMaximumBitrate?
    private var announcedTarget: DataRate
    private var hasSent = false
    /// When the pacer lets the next packet go; `nil`: nothing waits, or only for feedback.
    private(set) var nextPacketAt: Instant?

    init(now: Instant) {
        control = CongestionControl(CongestionControl.Options(), now: now)
        pacer = Pacer(rate: control.decision.pacingRate)
        announcedTarget = control.decision.targetBitrate
        var video = CircuitBreaker.Options()
        video.reportTimeout = Self.reportTimeout
        videoBreaker = CircuitBreaker(video)
        var audio = CircuitBreaker.Options()
        audio.frameInterval = .milliseconds(20)
        audio.reportInterval = Self.audioReportInterval
        audio.reportTimeout = Self.audioReportTimeout
        audioBreaker = CircuitBreaker(audio)
    }

    var decision: CongestionDecision { control.decision }
    var queueingDelay: Duration { control.queueingDelay }

    /// Bounds the rate, and before anything is sent sets where it starts.
    mutating func setMaximum(_ ceiling: DataRate, start: DataRate, now: Instant) {
        if hasSent {
            control.setCeiling(ceiling, now: now)
        } else {
            var options = control.options
            options.ceiling = ceiling
            options.start = start
            control = CongestionControl(options, now: now)
        }
        follow()
    }

    // MARK: Sending

    /// What may leave now; `nil`: nothing, before ``nextPacketAt``.
    mutating func next(of waiting: Pacer.Waiting, now: Instant) -> Pacer.Kind? {
        let kind = pacer.next(of: waiting, inFlightByteCount: adapter.inFlightByteCount, now: now)
        if kind == nil {
            nextPacketAt = pacer.nextDeadline(
                for: waiting, inFlightByteCount: adapter.inFlightByteCount, now: now)
        }
        return kind
    }

    /// What the next packet of a stream with these ids has to carry.
    func values(for ids: HeaderExtensionIDs?, now: Instant) -> HeaderExtensionValues {
        var values = HeaderExtensionValues()
        guard let ids else { return values }
        if ids.transportSequenceNumber != nil { values.transportSequenceNumber = adapter.nextNumber }
        if ids.absoluteSendTime != nil { values.absoluteSendTime = HeaderExtensionValues.absoluteSendTime(at: now) }
        return values
    }

    /// A packet leaves; `isNumbered` when the peer will tell of it, by the number that `values` gave or by its own.
    mutating func didSend(
        _ packet: RTPSendStream.SentPacket, of stream: Stream, isNumbered: Bool, now: Instant
    ) {
        hasSent = true
        if isNumbered {
            adapter.packetSent(
                byteCount: packet.byteCount, ssrc: packet.ssrc, sequenceNumber: packet.sequenceNumber, now: now)
        }
        pacer.didSend(byteCount: packet.byteCount, now: now)
        control.packetSent(byteCount: packet.byteCount, now: now)
        switch stream {
        case .audio: audioBreaker.packetSent(byteCount: packet.byteCount, now: now)
        case .video: videoBreaker.packetSent(byteCount: packet.byteCount, now: now)
        }
    }

    /// How long the path takes for that many bytes at the rate that is aimed at.
    func duration(of byteCount: Int) -> Duration {
        let seconds = Double(byteCount) * 8 / Double(max(1_000, decision.targetBitrate.bitsPerSecond))
        return .nanoseconds(Int64(min(3_600, seconds) * 1e9))
    }

    // MARK: Feedback

    mutating func handle(_ feedback: TransportWideFeedback, now: Instant) {
        control.handle(adapter.handle(feedback, now: now))
        follow()
    }

    mutating func handle(_ feedback: CongestionControlFeedback, now: Instant) {
        control.handle(adapter.handle(feedback, now: now))
        follow()
    }

    /// Takes a report block on one of our streams with the round trip that was measured last.
    mutating func handle(_ block: ReportBlock, of stream: Stream, roundTripTime: Duration?, now: Instant) {
        if let roundTripTime, block.lastSenderReport != 0 {
            control.handleRoundTripTime(roundTripTime, now: now)
        }
        if let report = lossReporter.handle(block, now: now) { control.handle(report) }
        switch stream {
        case .audio: audioBreaker.handle(block, roundTripTime: roundTripTime ?? .zero, now: now)
        case .video: videoBreaker.handle(block, roundTripTime: roundTripTime ?? .zero, now: now)
        }
        follow()
    }

    /// A receiver reported: its requests stay (RFC 5104 §4.2.1.2).
    mutating func heard(from ssrc: UInt32, now: Instant) { limits.heard(from: ssrc, now: now) }

    mutating func handle(_ estimate: ReceiverEstimatedMaximumBitrate, now: Instant) {
        limits.handle(estimate)
        control.handle(limits, now: now)
        follow()
    }

    /// Takes a TMMBR; the answer is to be fetched by ``takeNotification()``.
    mutating func handle(_ request: TemporaryMaximumBitrate, ours: [UInt32], senderSSRC: UInt32, now: Instant) {
        guard let answer = limits.handle(request, ours: ours, senderSSRC: senderSSRC, now: now) else { return }
        notification = answer
        control.handle(limits, now: now)
        follow()
    }

    mutating func receiverLeft(_ ssrc: UInt32, now: Instant) {
        limits.remove(ssrc, now: now)
        control.handle(limits, now: now)
        follow()
    }

    mutating func takeNotification() -> TemporaryMaximumBitrate? { notification.take() }

    // MARK: Time

    var nextIntervalAt: Instant? { hasSent ? control.nextDeadline : nil }

    var nextTripAt: Instant? {
        [videoBreaker.nextDeadline, audioBreaker.nextDeadline].lazy.compactMap { $0 }.min()
    }

    /// Answers why sending has to end, if it has to.
    mutating func handleTimeout(now: Instant) -> CircuitBreaker.Trip? {
        if hasSent, control.nextDeadline <= now {
            // Who reports keeps its request.
            control.handle(limits, now: now)
            control.processInterval(now: now)
            follow()
        }
        return videoBreaker.poll(now: now) ?? audioBreaker.poll(now: now)
    }

    /// A target that differs from the one told last by enough to be told.
    mutating func takeChangedTarget() -> DataRate? {
        let target = decision.targetBitrate
        let difference = abs(Double(target.bitsPerSecond - announcedTarget.bitsPerSecond))
        let isAtCeiling = target >= control.options.ceiling && target != announcedTarget
        guard isAtCeiling || difference > Self.worthwhileChange * Double(announcedTarget.bitsPerSecond) else {
            return nil
        }
        announcedTarget = target
        return target
    }

    private mutating func follow() {
        pacer.update(rate: decision.pacingRate, congestionWindow: decision.congestionWindow)
    }
}
