import EmisoraCore

/// One received VP8 stream with its retransmissions: packets in, frames and feedback out.
///
/// Which stream a packet belongs to is the caller's decision, since SSRCs need not be signalled; the stream takes the
/// SSRC of its first packet.
///
/// ```swift
/// stream.handle(header, packet: datagram, now: now)
/// while let frame = stream.pollFrame(now: now) { … decode … }
/// switch stream.pollFeedback(now: now) { … write RTCP … }
/// // at stream.nextDeadline: stream.handleTimeout(now:), then poll again
/// ```
package struct RTPVideoReceiveStream: Sendable {
    package struct Configuration: Equatable, Sendable {
        package var payloadType: UInt8
        package var clockRate: Int = 90_000
        /// The payload type whose `apt` is `payloadType` (RFC 4588 §8.6).
        package var rtxPayloadType: UInt8?
        /// Packets of the stream may come wrapped in RED (RFC 2198), with parity packets among them.
        package var redundancy: VideoRedundancy?
        /// The sender answers generic NACKs.
        package var usesNack = true
        /// The sender answers PLI (`nack pli`) or FIR; without it key frames are waited for.
        package var usesKeyFrameRequests = true
        package var jitterBuffer = VideoJitterBuffer.Configuration()
        package var nack = NackGenerator.Configuration()

        package init(payloadType: UInt8) {
            self.payloadType = payloadType
        }
    }

    package enum Feedback: Equatable, Sendable {
        /// Ask for these packets of ``RTPVideoReceiveStream/ssrc`` again.
        case nack([UInt16])
        /// Send a PLI, or a FIR with a new sequence number.
        case keyFrameRequest
    }

    /// How long the first packets may take to turn out to be a key frame before one is asked for.
    private static let startGrace: Duration = .milliseconds(50)
    /// Senders keep packets for about that long: what is missing after such a silence is not to be had any more.
    private static let outage: Duration = .seconds(1)

    package private(set) var configuration: Configuration
    /// The media SSRC, `nil` before the first packet.
    package private(set) var ssrc: UInt32?
    /// When the last packet came, by which the caller tells that a source has gone silent.
    package private(set) var lastPacketReceivedAt: Instant?
    package private(set) var senderClock: SenderClock
    /// The bounds that the sender sets for the time from capture to display (`playout-delay`); `nil`: none.
    package var playoutDelay: ClosedRange<Duration>? { playout.timeline.bounds }

    private var orientations = VideoOrientationTrack()
    private var reception: ReceptionStatistics?
    var unwrapper = SequenceUnwrapper()
    var repair: ULPFECReceiver?
    private var jitterBuffer: VideoJitterBuffer
    private var nackGenerator: NackGenerator
    private var keyFrameRequester: KeyFrameRequester
    var counters = InboundRTPStatistics()
    /// When frames are shown, and those that wait for it.
    package var playout: VideoPlayout

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        senderClock = SenderClock(clockRate: configuration.clockRate)
        playout = VideoPlayout(clockRate: configuration.clockRate)
        jitterBuffer = VideoJitterBuffer(configuration.jitterBuffer)
        nackGenerator = NackGenerator(configuration.nack)
        keyFrameRequester = KeyFrameRequester()
    }

    /// Paces repeated NACKs, where the caller knows it (from ICE, or from the other direction's reports).
    package var roundTripTime: Duration {
        get { nackGenerator.roundTripTime }
        set { nackGenerator.roundTripTime = newValue }
    }

    /// Follows a later description: payload types and what the sender answers. All else goes on.
    package mutating func renegotiate(_ configuration: Configuration) {
        self.configuration = configuration
    }

    // MARK: Packets

    /// Whether such a packet repeats one of another source.
    package func isRetransmission(payloadType: UInt8) -> Bool {
        payloadType == configuration.rtxPayloadType || payloadType == configuration.redundancy?.redRTXPayloadType
    }

    /// Whether a packet of this payload type is for this stream.
    package func accepts(payloadType: UInt8) -> Bool {
        payloadType == configuration.payloadType || payloadType == configuration.rtxPayloadType
            || configuration.redundancy?.accepts(payloadType) == true
    }

    /// Whether it is a type of the media SSRC's: plain, or inside RED.
    package func isMedia(payloadType: UInt8) -> Bool {
        payloadType == configuration.payloadType || payloadType == configuration.redundancy?.redPayloadType
    }

    /// Takes a decrypted packet with its parsed header.
    package mutating func handle(_ header: RTPHeader, packet: RawSpan, now: Instant) {
        guard header.payload.upperBound <= packet.byteCount else { return }
        let redundancy = configuration.redundancy
        if isMedia(payloadType: header.payloadType) {
            handleMedia(header, packet, now: now)
        } else if header.payloadType == configuration.rtxPayloadType
            || header.payloadType == redundancy?.redRTXPayloadType
        {
            handleRTX(header, packet, now: now)
        } else {
            counters.packetsDiscarded += 1
        }
    }

    /// Takes one RTCP packet, ignoring what is of other sources.
    package mutating func handle(_ packet: RTCPPacket, now: Instant) {
        guard case .senderReport(let report) = packet, report.ssrc == ssrc else { return }
        senderClock.handle(report, now: now)
    }

    /// Takes the time of capture that a packet of the media SSRC carries (`abs-capture-time`).
    package mutating func handle(
        _ captureTime: HeaderExtensionValues.AbsoluteCaptureTime, of header: RTPHeader
    ) {
        guard header.ssrc == ssrc else { return }
        senderClock.handle(captureTime, of: header.timestamp)
    }

    /// Takes what a packet of the stream, also one that came again, tells of how its picture lies and is to be played.
    package mutating func handle(_ values: HeaderExtensionValues, of header: RTPHeader) {
        let isRetransmission =
            header.payloadType == configuration.rtxPayloadType
            || header.payloadType == configuration.redundancy?.redRTXPayloadType
        guard header.ssrc == ssrc || isRetransmission else { return }
        // A retransmission has the timestamp of what it repeats (RFC 4588 §4).
        if let orientation = values.videoOrientation { orientations.note(orientation, timestamp: header.timestamp) }
        if let bounds = values.playoutDelay?.durations { playout.timeline.bounds = bounds }
    }

    /// Goes over to another SSRC, for a sender that changed it: everything of the old one is past.
    package mutating func switchSSRC(to ssrc: UInt32) {
        self.ssrc = ssrc
        reception = ReceptionStatistics(ssrc: ssrc, clockRate: configuration.clockRate)
        senderClock = SenderClock(clockRate: configuration.clockRate)
        orientations = VideoOrientationTrack()
        playout.timeline.bounds = nil
        restart()
    }

    // MARK: Outputs

    /// The next frame in order of decoding, once it is due: a moment before it is shown, in which it is decoded.
    package mutating func pollFrame(now: Instant) -> ReceivedFrame? {
        while var frame = jitterBuffer.pollFrame() {
            if let orientation = orientations.orientation(at: frame.rtpTimestamp) { frame.orientation = orientation }
            playout.add(frame)
        }
        guard let frame = playout.poll(now: now) else { return nil }
        counters.framesReceived += 1
        if frame.isKeyFrame { counters.keyFramesReceived += 1 }
        counters.jitterBufferDelay += max(0, (now - frame.firstPacketReceivedAt).inSeconds)
        counters.jitterBufferEmittedCount += 1
        return frame
    }

    /// What to tell the sender now; to be called until `nil`.
    package mutating func pollFeedback(now: Instant) -> Feedback? {
        if configuration.usesKeyFrameRequests, ssrc != nil, keyFrameRequester.poll(now: now) {
            counters.pliCount += 1
            return .keyFrameRequest
        }
        guard configuration.usesNack else { return nil }
        let numbers = nackGenerator.pollNack(now: now)
        guard !numbers.isEmpty else { return nil }
        counters.nackCount += 1
        return .nack(numbers)
    }

    /// The decoder cannot go on: frames are held back until the next key frame, which is asked for.
    package mutating func requestKeyFrame(now: Instant) {
        counters.framesDropped += UInt64(playout.removeAll())
        jitterBuffer.waitForKeyFrame(now: now)
        update(now: now)
    }

    package mutating func handleTimeout(now: Instant) {
        playout.handleTimeout(now: now)
        jitterBuffer.handleTimeout(now: now)
        update(now: now)
    }

    /// When to call ``handleTimeout(now:)`` and poll again.
    package var nextDeadline: Instant? {
        let deadlines = [
            jitterBuffer.nextDeadline, configuration.usesNack ? nackGenerator.nextDeadline : nil,
            configuration.usesKeyFrameRequests && ssrc != nil ? keyFrameRequester.nextDeadline : nil,
            playout.nextDeadline,
        ]
        return deadlines.lazy.compactMap { $0 }.min()
    }

    /// The block for the next report; `nil` before the source has shown two packets in sequence, and when it has been
    /// silent for so long that it counts as gone.
    package mutating func reportBlock(now: Instant) -> ReportBlock? {
        guard reception?.isValid == true, let lastPacketReceivedAt,
            now - lastPacketReceivedAt < ReceptionStatistics.sourceTimeout
        else { return nil }
        return reception?.reportBlock(senderClock: senderClock, now: now)
    }

    package var statistics: InboundRTPStatistics {
        var statistics = counters
        statistics.packetsLost = reception?.packetsLost ?? 0
        statistics.jitter = reception?.jitter ?? 0
        statistics.framesDropped += jitterBuffer.framesDropped
        statistics.jitterBufferTargetDelay = playout.totalTargetDelay
        statistics.jitterBufferMinimumDelay = playout.totalNetworkDelay
        return statistics
    }

    // MARK: Inside

    private mutating func handleMedia(_ header: RTPHeader, _ packet: RawSpan, now: Instant) {
        if ssrc == nil { switchSSRC(to: header.ssrc) }
        guard header.ssrc == ssrc else {
            counters.packetsDiscarded += 1
            return
        }
        let isAfterOutage = lastPacketReceivedAt.map { now - $0 > Self.outage } ?? false
        lastPacketReceivedAt = now
        counters.packetsReceived += 1
        counters.bytesReceived += UInt64(header.payload.count)
        counters.headerBytesReceived += UInt64(packet.byteCount - header.payload.count)
        switch reception?.handle(sequenceNumber: header.sequenceNumber, timestamp: header.timestamp, now: now) {
        case .jumped, nil:
            counters.packetsDiscarded += 1
            return
        case .restarted:
            restart()
        case .inOrder, .misordered:
            break
        }
        unwrap(
            header, payloadType: header.payloadType, sequenceNumber: header.sequenceNumber, header.payload, of: packet,
            now: now)
        guard isAfterOutage, nackGenerator.missingCount > 0 else { return }
        // Asking and waiting for it would only put off the key frame, which comes behind all that is repeated.
        nackGenerator.giveUp()
        jitterBuffer.waitForKeyFrame(now: now)
        update(now: now)
    }

    private mutating func handleRTX(_ header: RTPHeader, _ packet: RawSpan, now: Instant) {
        lastPacketReceivedAt = now
        counters.packetsReceived += 1
        counters.headerBytesReceived += UInt64(packet.byteCount - header.payload.count)
        // Before the first media packet there is nothing that it could repeat.
        guard ssrc != nil, header.ssrc != ssrc, let original = RTXPacket.original(of: header, in: packet) else {
            return
        }
        counters.bytesReceived += UInt64(original.payload.count)
        counters.retransmittedPacketsReceived += 1
        counters.retransmittedBytesReceived += UInt64(original.payload.count)
        let isWrapped = header.payloadType == configuration.redundancy?.redRTXPayloadType
        unwrap(
            header, payloadType: isWrapped ? configuration.redundancy?.redPayloadType : configuration.payloadType,
            sequenceNumber: original.sequenceNumber, original.payload, of: packet, now: now)
    }

    mutating func insert(_ number: Int64, _ header: RTPHeader, _ payload: RawSpan, now: Instant) {
        let isRecoverable = nackGenerator.handle(number, now: now)
        let insertion = jitterBuffer.insert(
            number: number, timestamp: header.timestamp, marker: header.marker, payload: payload, now: now)
        if !isRecoverable { jitterBuffer.waitForKeyFrame(now: now) }
        switch insertion {
        case .inserted, .keyFrameBegan: break
        case .duplicate: counters.packetsDuplicated += 1
        case .late: counters.packetsDiscarded += 1
        }
        update(now: now)
        if insertion == .keyFrameBegan {
            // Give the rest of it the time that a missing packet gets.
            keyFrameRequester.postpone(by: jitterBuffer.maximumWait, now: now)
        }
    }

    /// Brings the feedback in line with what the jitter buffer is waiting for.
    private mutating func update(now: Instant) {
        let patience = LossPatience(
            roundTripTime: roundTripTime, jitter: .nanoseconds(Int64(min(1, reception?.jitter ?? 0) * 1e9)),
            frameInterval: playout.timeline.frameInterval, isMended: configuration.usesNack)
        jitterBuffer.maximumWait = patience.missingPacket
        keyFrameRequester.retryInterval = patience.keyFrame
        if let floor = jitterBuffer.floor { nackGenerator.discard(before: floor) }
        switch jitterBuffer.state {
        case .decoding:
            keyFrameRequester.satisfy()
        case .waitingForKeyFrame:
            let delay: Duration =
                if jitterBuffer.hasPartialKeyFrame {
                    jitterBuffer.maximumWait
                } else if !jitterBuffer.hasBegun {
                    Self.startGrace
                } else {
                    .zero
                }
            keyFrameRequester.want(after: delay, now: now)
        }
    }

    private mutating func restart() {
        unwrapper = SequenceUnwrapper()
        repair = nil
        jitterBuffer.reset()
        nackGenerator.reset()
        keyFrameRequester.satisfy()
        playout.reset()
    }
}
