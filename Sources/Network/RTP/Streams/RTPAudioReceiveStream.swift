import EmisoraCore

/// One received stream of sound: packets in at the network's pace, packets out at the player's.
///
/// Which stream a packet belongs to is the caller's decision; the stream takes the SSRC of its first packet.
package struct RTPAudioReceiveStream: Sendable {
    package struct Configuration: Equatable, Sendable {
        package var payloadType: UInt8
        /// Packets may carry those before them once more (RFC 2198) under this type.
        package var redPayloadType: UInt8?
        package var clockRate = OpusPacketizer.clockRate
        package var jitterBuffer = AudioJitterBuffer.Configuration()

        package init(payloadType: UInt8) {
            self.payloadType = payloadType
        }
    }

    package private(set) var configuration: Configuration
    /// The media SSRC, `nil` before the first packet.
    package private(set) var ssrc: UInt32?
    /// When the last packet came, by which the caller tells that a source has gone silent.
    package private(set) var lastPacketReceivedAt: Instant?
    package private(set) var senderClock: SenderClock

    private var reception: ReceptionStatistics?
    private var unwrapper = SequenceUnwrapper()
    private var jitterBuffer: AudioJitterBuffer
    private var counters = InboundRTPStatistics()
    /// What was handed out last, and when it is heard.
    package private(set) var playing: PlayingMedia?

    /// Follows a later description: payload types. All else goes on.
    package mutating func renegotiate(_ configuration: Configuration) {
        self.configuration = configuration
    }

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        senderClock = SenderClock(clockRate: configuration.clockRate)
        jitterBuffer = AudioJitterBuffer(
            clockRate: configuration.clockRate, configuration: configuration.jitterBuffer)
    }

    /// Whether a packet of this payload type is for this stream.
    package func accepts(payloadType: UInt8) -> Bool {
        payloadType == configuration.payloadType || payloadType == configuration.redPayloadType
    }

    /// Takes a decrypted packet with its parsed header.
    package mutating func handle(_ header: RTPHeader, packet: RawSpan, now: Instant) {
        guard header.payload.upperBound <= packet.byteCount else { return }
        if ssrc == nil, accepts(payloadType: header.payloadType) { switchSSRC(to: header.ssrc) }
        guard accepts(payloadType: header.payloadType), header.ssrc == ssrc else {
            counters.packetsDiscarded += 1
            return
        }
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
        let number = unwrapper.unwrap(header.sequenceNumber)
        let payload = packet.extracting(header.payload)
        guard header.payloadType == configuration.redPayloadType else {
            insert(number, timestamp: header.timestamp, payload, now: now)
            return
        }
        let blocks = REDPayload.blocks(of: payload)
        for (index, block) in blocks.enumerated() where block.payloadType == configuration.payloadType {
            let bytes = payload.extracting(block.range)
            let age = blocks.count - 1 - index
            if age == 0 {
                insert(number, timestamp: header.timestamp, bytes, now: now)
            } else {
                insertRedundant(number - Int64(age), timestamp: header.timestamp &- block.timestampOffset, bytes, now)
            }
        }
    }

    private mutating func insert(_ number: Int64, timestamp: UInt32, _ payload: RawSpan, now: Instant) {
        switch jitterBuffer.insert(number: number, timestamp: timestamp, payload: payload, now: now) {
        case .inserted: break
        case .duplicate: counters.packetsDuplicated += 1
        case .late: counters.packetsDiscarded += 1
        }
    }

    /// What a packet carries of one before it: of use only where that one has not come.
    private mutating func insertRedundant(_ number: Int64, timestamp: UInt32, _ payload: RawSpan, _ now: Instant) {
        counters.fecPacketsReceived += 1
        counters.fecBytesReceived += UInt64(payload.byteCount)
        let insertion = jitterBuffer.insert(
            number: number, timestamp: timestamp, payload: payload, isRedundant: true, now: now)
        if insertion == .inserted { counters.packetsRepaired += 1 } else { counters.fecPacketsDiscarded += 1 }
    }

    /// Takes one RTCP packet, ignoring what is of other sources.
    package mutating func handle(_ packet: RTCPPacket, now: Instant) {
        guard case .senderReport(let report) = packet, report.ssrc == ssrc else { return }
        senderClock.handle(report, now: now)
    }

    /// What to play next; see ``AudioJitterBuffer/pop(now:)``.
    package mutating func pop(now: Instant) -> AudioJitterBuffer.Output {
        let output = jitterBuffer.pop(now: now)
        if case .packet(_, let timestamp) = output { playing = PlayingMedia(timestamp: timestamp, at: now) }
        return output
    }

    /// The delay that the jitter buffer aims at.
    package var targetDelay: Duration { jitterBuffer.targetDelay }
    /// The least sound that waited lately; `nil` while not enough is known.
    package var delay: Duration? { jitterBuffer.delay }
    /// What is aimed at for the network alone.
    package var networkDelay: Duration { jitterBuffer.networkDelay }
    /// What lining up with pictures takes at the least.
    package var synchronizationDelay: Duration {
        get { jitterBuffer.synchronizationDelay }
        set { jitterBuffer.synchronizationDelay = newValue }
    }

    /// Takes the time of capture that a packet of the media SSRC carries (`abs-capture-time`).
    package mutating func handle(
        _ captureTime: HeaderExtensionValues.AbsoluteCaptureTime, of header: RTPHeader
    ) {
        guard header.ssrc == ssrc else { return }
        senderClock.handle(captureTime, of: header.timestamp)
    }

    /// Goes over to another SSRC, for a sender that changed it: everything of the old one is past.
    package mutating func switchSSRC(to ssrc: UInt32) {
        self.ssrc = ssrc
        reception = ReceptionStatistics(ssrc: ssrc, clockRate: configuration.clockRate)
        senderClock = SenderClock(clockRate: configuration.clockRate)
        restart()
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
        statistics.jitterBufferDelay = jitterBuffer.totalDelay
        statistics.jitterBufferEmittedCount = jitterBuffer.emittedCount
        statistics.jitterBufferTargetDelay = jitterBuffer.totalTargetDelay
        statistics.jitterBufferMinimumDelay = jitterBuffer.totalNetworkDelay
        statistics.concealmentEvents = jitterBuffer.concealmentEvents
        statistics.packetsRemovedForAcceleration = jitterBuffer.packetsRemovedForAcceleration
        statistics.removedSamplesForAcceleration = jitterBuffer.removedSamplesForAcceleration
        statistics.packetsInsertedForDeceleration = jitterBuffer.packetsInsertedForDeceleration
        return statistics
    }

    private mutating func restart() {
        unwrapper = SequenceUnwrapper()
        jitterBuffer.reset()
        playing = nil
    }
}
