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

    /// libwebrtc reports on sound every five seconds.
    private static let audioReportInterval: Duration = .seconds(5)
    /// Of sound, whose bitrate is what it is: it cannot do with a tenth.
    private static let leastAudioRate: DataRate = .bitsPerSecond(.max)
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
    /// What the application lets be sent.
    private var wantedCeiling: DataRate
    private var hasSent = false
    /// Streams whose breakers let nothing go at present.
    private(set) var isPaused: Pacer.Waiting = []
    /// When the pacer lets the next packet go; `nil`: nothing waits, or only for feedback.
    private(set) var nextPacketAt: Instant?

    init(now: Instant) {
        control = CongestionControl(CongestionControl.Options(), now: now)
        pacer = Pacer(rate: control.decision.pacingRate)
        announcedTarget = control.decision.targetBitrate
        wantedCeiling = control.options.ceiling
        videoBreaker = CircuitBreaker()
        var audio = CircuitBreaker.Options()
        audio.frameInterval = .milliseconds(20)
        audio.reportInterval = Self.audioReportInterval
        audio.leastRate = Self.leastAudioRate
        audioBreaker = CircuitBreaker(audio)
    }

    var decision: CongestionDecision { control.decision }
    var queueingDelay: Duration { control.queueingDelay }

    /// Bounds the rate, and before anything is sent sets where it starts.
    mutating func setMaximum(_ ceiling: DataRate, start: DataRate, now: Instant) {
        wantedCeiling = ceiling
        if hasSent {
            heedBreakers(now: now)
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
        let waiting = waiting.subtracting(isPaused)
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
        reported(now: now)
        control.handle(adapter.handle(feedback, now: now))
        follow()
    }

    mutating func handle(_ feedback: CongestionControlFeedback, now: Instant) {
        reported(now: now)
        control.handle(adapter.handle(feedback, now: now))
        follow()
    }

    /// Takes one report's blocks on a medium's streams, of which simulcast has several, with the round trip that was
    /// measured last.
    mutating func handle(_ blocks: [ReportBlock], of stream: Stream, roundTripTime: Duration?, now: Instant) {
        guard var block = blocks.first else { return }
        if let roundTripTime, blocks.contains(where: { $0.lastSenderReport != 0 }) {
            control.handleRoundTripTime(roundTripTime, now: now)
        }
        for block in blocks { if let report = lossReporter.handle(block, now: now) { control.handle(report) } }
        // The circuit breaker looks at them as one: any that goes on is progress, and the worst loss is the path's.
        for other in blocks.dropFirst() {
            block.extendedHighestSequenceNumber &+= other.extendedHighestSequenceNumber
            block.fractionLost = max(block.fractionLost, other.fractionLost)
        }
        switch stream {
        case .audio: audioBreaker.handle(block, roundTripTime: roundTripTime ?? .zero, now: now)
        case .video: videoBreaker.handle(block, roundTripTime: roundTripTime ?? .zero, now: now)
        }
        // Whoever reports on one of the streams is there for the other, too, though it may have nothing of it to tell.
        reported(now: now)
        heedBreakers(now: now)
        follow()
    }

    /// A receiver reported: its requests stay (RFC 5104 §4.2.1.2).
    mutating func heard(from ssrc: UInt32, now: Instant) {
        limits.heard(from: ssrc, now: now)
        videoBreaker.heard(now: now)
        audioBreaker.heard(now: now)
        heedBreakers(now: now)
    }

    private mutating func reported(now: Instant) {
        videoBreaker.reported(now: now)
        audioBreaker.reported(now: now)
        heedBreakers(now: now)
    }

    /// Media goes by another path from now on.
    mutating func pathChanged(now: Instant) {
        videoBreaker.pathChanged()
        audioBreaker.pathChanged()
        heedBreakers(now: now)
    }

    /// What the breakers have to say of rate and streams; gives why sending has to end, if it has to.
    @discardableResult
    private mutating func heedBreakers(now: Instant) -> CircuitBreaker.Trip? {
        let video = videoBreaker.poll(now: now)
        let audio = audioBreaker.poll(now: now)
        let before = isPaused
        isPaused = []
        if video != .send { isPaused.formUnion([.media, .retransmission]) }
        if audio != .send { isPaused.insert(.audio) }
        if isPaused.isEmpty, !before.isEmpty { control.resume(now: now) }
        let ceiling = min(wantedCeiling, videoBreaker.ceiling ?? wantedCeiling)
        if ceiling != control.options.ceiling { control.setCeiling(ceiling, now: now) }
        for case .end(let trip) in [video, audio] { return trip }
        return nil
    }

    mutating func handle(_ estimate: ReceiverEstimatedMaximumBitrate, now: Instant) {
        limits.handle(estimate)
        control.handle(limits, now: now)
        follow()
    }

    /// Takes a TMMBR; the answer is to be fetched by ``takeNotification()``.
    mutating func handle(_ request: TemporaryMaximumBitrate, ours: [UInt32], now: Instant) {
        guard let answer = limits.handle(request, ours: ours, now: now) else { return }
        notification = answer
        control.handle(limits, now: now)
        follow()
    }

    mutating func receiverLeft(_ ssrc: UInt32, now: Instant) {
        notification = limits.remove(ssrc, now: now) ?? notification
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
            notification = limits.expire(now: now) ?? notification
            control.handle(limits, now: now)
            control.processInterval(now: now)
            follow()
        }
        return heedBreakers(now: now)
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
