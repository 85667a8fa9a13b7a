import EmisoraCore

/// One received stream of sound: packets in at the network's pace, packets out at the player's.
///
/// Which stream a packet belongs to is the caller's decision; the stream takes the SSRC of its first packet.
package struct RTPAudioReceiveStream: Sendable {
    package struct Configuration: Equatable, Sendable {
        package var payloadType: UInt8
        package var clockRate = OpusPacketizer.clockRate
        package var jitterBuffer = AudioJitterBuffer.Configuration()

        package init(payloadType: UInt8) {
            self.payloadType = payloadType
        }
    }

    package let configuration: Configuration
    /// The media SSRC, `nil` before the first packet.
    package private(set) var ssrc: UInt32?
    /// When the last packet came, by which the caller tells that a source has gone silent.
    package private(set) var lastPacketReceivedAt: Instant?
    package private(set) var senderClock: SenderClock

    private var reception: ReceptionStatistics?
    private var unwrapper = SequenceUnwrapper()
    private var jitterBuffer: AudioJitterBuffer
    private var counters = InboundRTPStatistics()

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        senderClock = SenderClock(clockRate: configuration.clockRate)
        jitterBuffer = AudioJitterBuffer(
            clockRate: configuration.clockRate, configuration: configuration.jitterBuffer)
    }

    /// Whether a packet of this payload type is for this stream.
    package func accepts(payloadType: UInt8) -> Bool { payloadType == configuration.payloadType }

    /// Takes a decrypted packet with its parsed header.
    package mutating func handle(_ header: RTPHeader, packet: RawSpan, now: Instant) {
        guard header.payload.upperBound <= packet.byteCount else { return }
        if ssrc == nil, header.payloadType == configuration.payloadType { switchSSRC(to: header.ssrc) }
        guard header.payloadType == configuration.payloadType, header.ssrc == ssrc else {
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
        switch jitterBuffer.insert(number: number, timestamp: header.timestamp, payload: payload, now: now) {
        case .inserted: break
        case .duplicate: counters.packetsDuplicated += 1
        case .late: counters.packetsDiscarded += 1
        }
    }

    /// Takes one RTCP packet, ignoring what is of other sources.
    package mutating func handle(_ packet: RTCPPacket, now: Instant) {
        guard case .senderReport(let report) = packet, report.ssrc == ssrc else { return }
        senderClock.handle(report, now: now)
    }

    /// What to play next; see ``AudioJitterBuffer/pop(now:)``.
    package mutating func pop(now: Instant) -> AudioJitterBuffer.Output {
        jitterBuffer.pop(now: now)
    }

    /// The delay that the jitter buffer aims at.
    package var targetDelay: Duration { jitterBuffer.targetDelay }

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

    /// The block for the next report; `nil` before the source has shown two packets in sequence.
    package mutating func reportBlock(now: Instant) -> ReportBlock? {
        guard reception?.isValid == true else { return nil }
        return reception?.reportBlock(senderClock: senderClock, now: now)
    }

    package var statistics: InboundRTPStatistics {
        var statistics = counters
        statistics.packetsLost = reception?.packetsLost ?? 0
        statistics.jitter = reception?.jitter ?? 0
        statistics.jitterBufferDelay = jitterBuffer.totalDelay
        statistics.jitterBufferEmittedCount = jitterBuffer.emittedCount
        statistics.concealmentEvents = jitterBuffer.concealmentEvents
        statistics.packetsRemovedForAcceleration = jitterBuffer.packetsRemovedForAcceleration
        return statistics
    }

    private mutating func restart() {
        unwrapper = SequenceUnwrapper()
        jitterBuffer.reset()
    }
}
