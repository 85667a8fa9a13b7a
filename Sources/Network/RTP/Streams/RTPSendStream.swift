import EmisoraCore

/// One media stream to one peer: numbers and times packets, answers NACKs from its history, reports and counts.
///
/// ```swift
/// stream.enqueue(frame, captureTime: capturedAt, now: now)
/// while let packet = stream.pollPacket(into: &buffer, now: now) { … protect and send … }
/// ```
package struct RTPSendStream: Sendable {
    package struct Configuration: Equatable, Sendable {
        package var ssrc: UInt32
        package var payloadType: UInt8
        /// Ticks a second.
        package var clockRate: Int
        /// With both of these retransmissions use RTX (RFC 4588); else they repeat the packet on the media SSRC.
        package var rtxSSRC: UInt32?
        package var rtxPayloadType: UInt8?
        /// Sound may carry the packets before it once more under this type (RED), see
        /// ``RTPSendStream/redundancyDepth``.
        package var redPayloadType: UInt8?
        /// With both of these parity packets may be sent (FlexFEC), see ``RTPSendStream/protection``.
        package var flexfecSSRC: UInt32?
        package var flexfecPayloadType: UInt8?
        /// What a payload made here may take.
        package var payloadByteLimit = 1_100
        /// Written into every packet, retransmissions included: the MID, when an id was negotiated for it.
        package var extensions: HeaderExtensionBlock?
        /// Stands in for them until a report shows that the receiver knows the SSRC, and names the stream besides: the
        /// rid (RFC 8852 §3.1) …
        package var introduction: HeaderExtensionBlock?
        /// … and for retransmissions the rid of what they repair (§3.2).
        package var rtxIntroduction: HeaderExtensionBlock?
        /// For the time of capture, where an id was negotiated for it.
        package var wallClock: WallClock?
        /// Bounds for the time from capture to display, where an id was negotiated for them.
        package var playoutDelay: HeaderExtensionValues.PlayoutDelay?
        /// How long a packet can be asked for again.
        package var historyDuration: Duration = .seconds(1)
        package var historyPacketLimit = 2048
        /// Frames that may wait in the queue; more are refused.
        package var queuedFrameLimit = 64

        package init(ssrc: UInt32, payloadType: UInt8, clockRate: Int) {
            self.ssrc = ssrc
            self.payloadType = payloadType
            self.clockRate = clockRate
        }
    }

    package enum EnqueueResult: Equatable, Sendable {
        case queued
        /// The queue holds its limit; nothing was queued. The caller skips to the next key frame.
        case queueFull
        /// The frame has no packets.
        case empty
    }

    /// A packet that was written, to be protected and sent.
    package struct SentPacket: Equatable, Sendable {
        package var byteCount: Int
        package var ssrc: UInt32
        package var sequenceNumber: UInt16
        /// The very packet that was sent before, with the values that it had then.
        package var isRepetition = false
    }

    /// Which of the packets that wait.
    package enum Choice: Equatable, Sendable {
        case retransmission
        case media
        /// Retransmissions, then media.
        case any
    }

    struct QueuedFrame: Sendable {
        var frame: PacketizedFrame
        var timestamp: UInt32
        var captureTime: Instant
        var enqueuedAt: Instant
    }

    /// The pair that sender reports extrapolate from.
    private struct LastFrame: Sendable {
        var timestamp: UInt32
        var captureTime: Instant
        var durationInTicks: UInt32?
    }

    private struct LastFIR: Sendable {
        var senderSSRC: UInt32
        var sequenceNumber: UInt8
    }

    package private(set) var configuration: Configuration
    package internal(set) var statistics = OutboundRTPStatistics()
    package private(set) var remoteStatistics = RemoteInboundRTPStatistics()
    /// From the newest report; paces repeats of retransmissions.
    package private(set) var roundTripTime: Duration?

    private let clock: RTPTimestampClock
    private var nextSequenceNumber: UInt16
    private var nextRTXSequenceNumber: UInt16
    private var queue: [QueuedFrame] = []
    private var nextPacketIndex = 0
    private var retransmissions: [UInt16] = []
    private var history: PacketHistory
    private var budget = RetransmissionBudget()
    private var last: LastFrame?
    private var lastFIR: LastFIR?
    private var lastCaptureTimeAt: Instant?
    /// The receiver has reported on these SSRCs.
    private var isSSRCKnown = false
    private var isRTXSSRCKnown = false
    private var lastOrientation = HeaderExtensionValues.VideoOrientation.upright
    private var playoutDelay: PlayoutDelayAnnouncement?
    /// Of this SSRC since it began, for sender reports.
    private var counters = SenderCounters()
    var sound: REDSoundBlocks?
    var parity: FlexFECSender?
    /// What each packet that is carried once more adds, in bits a second.
    var blockBitrate = 0

    /// Starts a stream at random sequence numbers and a random timestamp (RFC 3550 §5.1).
    package init(_ configuration: Configuration, using generator: inout some RandomNumberGenerator) {
        self.configuration = configuration
        clock = RTPTimestampClock(
            rate: configuration.clockRate, offset: UInt32(truncatingIfNeeded: generator.next()))
        nextSequenceNumber = Self.firstSequenceNumber(using: &generator)
        nextRTXSequenceNumber = Self.firstSequenceNumber(using: &generator)
        history = PacketHistory(duration: configuration.historyDuration, limit: configuration.historyPacketLimit)
        playoutDelay = configuration.playoutDelay.map(PlayoutDelayAnnouncement.init)
        makeRepair(using: &generator)
    }

    // MARK: Media

    package var queuedFrameCount: Int { queue.count }
    package var hasRetransmissions: Bool { !retransmissions.isEmpty }
    package var hasPackets: Bool { hasMedia || !retransmissions.isEmpty }
    /// Packets of frames, or parity packets over those that went out.
    package var hasMedia: Bool { !queue.isEmpty || parity?.hasPackets == true }
    /// Payload of the frames that wait, less what went out of the first.
    package private(set) var queuedByteCount = 0

    /// Queues a frame. `captureTime` becomes its RTP timestamp; sound goes on sample for sample from the packet before
    /// it unless the capture time tells of a gap.
    @discardableResult
    package mutating func enqueue(_ frame: PacketizedFrame, captureTime: Instant, now: Instant) -> EnqueueResult {
        guard !frame.packets.isEmpty else { return .empty }
        guard queue.count < configuration.queuedFrameLimit else { return .queueFull }
        let timestamp = timestamp(of: frame, captureTime: captureTime)
        last = LastFrame(timestamp: timestamp, captureTime: captureTime, durationInTicks: frame.durationInTicks)
        queue.append(QueuedFrame(frame: frame, timestamp: timestamp, captureTime: captureTime, enqueuedAt: now))
        queuedByteCount += frame.byteCount
        return .queued
    }

    /// Forgets all frames that have not begun to go out, and answers how many. A frame of which packets went out goes
    /// on, since the receiver could not use the part.
    package mutating func dropQueuedFrames() -> Int {
        let kept = nextPacketIndex > 0 ? 1 : 0
        let dropped = max(0, queue.count - kept)
        for queued in queue.suffix(dropped) { queuedByteCount -= queued.frame.byteCount }
        queue.removeLast(dropped)
        return dropped
    }

    /// Forgets all that waits, also the rest of a frame of which packets went out.
    package mutating func discardQueue() {
        queue.removeAll()
        nextPacketIndex = 0
        queuedByteCount = 0
        parity?.discard()
        for number in retransmissions { _ = history.withEntry(number) { $0.isQueued = false } }
        retransmissions.removeAll()
    }

    /// Follows a later description. SSRCs, numbers and counters go on; what was sent in another form cannot be asked for
    /// any more.
    package mutating func renegotiate(_ new: Configuration) {
        var new = new
        new.ssrc = configuration.ssrc
        if new.rtxSSRC != nil { new.rtxSSRC = configuration.rtxSSRC ?? new.rtxSSRC }
        followRepair(in: &new)
        guard new != configuration else { return }
        configuration = new
        if new.extensions?.ids.playoutDelay == nil {
            playoutDelay = nil
        } else if playoutDelay == nil {
            playoutDelay = new.playoutDelay.map(PlayoutDelayAnnouncement.init)
        }
        for number in retransmissions { _ = history.withEntry(number) { $0.isQueued = false } }
        retransmissions.removeAll()
        history.removeAll()
    }

    /// Writes the next packet as plain RTP and answers what it is; `nil` when none of that choice waits.
    ///
    /// `values` go into the header where their extensions were negotiated; level of sound and time of capture are the
    /// stream's own. `buffer` needs room for a packet of the path's MTU. A packet that does not fit is lost, as the
    /// network might lose it.
    package mutating func pollPacket(
        _ choice: Choice = .any, values: HeaderExtensionValues = HeaderExtensionValues(),
        into buffer: inout MutableRawSpan, now: Instant
    ) -> SentPacket? {
        if choice != .media {
            while let number = retransmissions.first {
                retransmissions.removeFirst()
                if let sent = writeRetransmission(of: number, values, into: &buffer) { return sent }
            }
        }
        guard choice != .retransmission else { return nil }
        if let sent = writeParity(values, into: &buffer) { return sent }
        while let queued = queue.first {
            let packetIndex = nextPacketIndex
            let isLast = packetIndex + 1 == queued.frame.packets.count
            queuedByteCount -= queued.frame.packets[packetIndex].byteCount
            if isLast {
                queue.removeFirst()
                nextPacketIndex = 0
            } else {
                nextPacketIndex += 1
            }
            var values = values
            values.audioLevel = queued.frame.audioLevel
            if packetIndex == 0 { values.absoluteCaptureTime = absoluteCaptureTime(of: queued, now: now) }
            if isLast { values.videoOrientation = orientation(of: queued.frame) }
            if configuration.extensions?.ids.playoutDelay != nil {
                values.playoutDelay = playoutDelay?.value(
                    for: nextSequenceNumber, isKeyFrame: queued.frame.isKeyFrame)
            }
            let (frame, payloadType) = addRedundancy(to: queued)
            let packet = frame.packets[packetIndex]
            let entry = PacketHistory.Entry(
                sequenceNumber: nextSequenceNumber, timestamp: queued.timestamp, frame: frame,
                packetIndex: packetIndex, payloadType: payloadType, values: values,
                isIntroduction: !isSSRCKnown && configuration.introduction != nil, sentAt: now)
            nextSequenceNumber &+= 1
            history.append(entry, now: now)
            guard let byteCount = write(entry, into: &buffer) else { continue }

            parity?.handleMedia(buffer.bytes.extracting(0..<byteCount))
            if isLast { parity?.finishGroup() }
            counters.count(octets: packet.byteCount)
            count(byteCount: byteCount, payloadByteCount: packet.byteCount)
            statistics.totalPacketSendDelay += (now - queued.enqueuedAt).inSeconds
            if isLast {
                statistics.framesSent += 1
                if queued.frame.isKeyFrame { statistics.keyFramesSent += 1 }
            }
            budget.earn(sentByteCount: byteCount)
            return SentPacket(
                byteCount: byteCount, ssrc: configuration.ssrc, sequenceNumber: entry.sequenceNumber)
        }
        return nil
    }

    // MARK: Feedback

    /// Takes one RTCP packet, ignoring what is for other streams, and answers whether it asks for a key frame.
    package mutating func handle(_ packet: RTCPPacket, wallClock: WallClock, now: Instant) -> Bool {
        switch packet {
        case .senderReport(let report):
            for block in report.reports { handle(block, wallClock: wallClock, now: now) }
        case .receiverReport(let report):
            for block in report.reports { handle(block, wallClock: wallClock, now: now) }
        case .nack(let nack) where nack.mediaSSRC == configuration.ssrc:
            handleNACK(nack.sequenceNumbers, now: now)
        case .pictureLossIndication(let indication) where indication.mediaSSRC == configuration.ssrc:
            statistics.pliCount += 1
            return true
        case .fullIntraRequest(let request):
            for entry in request.entries where entry.ssrc == configuration.ssrc {
                return handleFIR(senderSSRC: request.senderSSRC, sequenceNumber: entry.sequenceNumber)
            }
        default:
            break
        }
        return false
    }

    /// Queues the packets that are asked for, if the history has them and none of them went out again within a round
    /// trip, the time in which a repeated NACK may still be about the loss that is already mended.
    package mutating func handleNACK(_ sequenceNumbers: [UInt16], now: Instant) {
        statistics.nackCount += 1
        history.expire(now: now)
        let interval = retransmissionInterval
        for number in sequenceNumbers where retransmissions.count < configuration.historyPacketLimit {
            let isDue = history.withEntry(number) { entry in
                if entry.isQueued { return false }
                if let before = entry.retransmittedAt, now - before < interval { return false }
                entry.retransmittedAt = now
                entry.isQueued = true
                return true
            }
            if isDue == true { retransmissions.append(number) }
        }
    }

    /// Counts a FIR and answers whether it is a new command: the same number again from the same sender repeats the
    /// last one (RFC 5104 §4.3.1.2).
    package mutating func handleFIR(senderSSRC: UInt32, sequenceNumber: UInt8) -> Bool {
        if let lastFIR, lastFIR.senderSSRC == senderSSRC, lastFIR.sequenceNumber == sequenceNumber { return false }
        lastFIR = LastFIR(senderSSRC: senderSSRC, sequenceNumber: sequenceNumber)
        statistics.firCount += 1
        return true
    }

    /// Takes a report block about this stream; others are ignored.
    package mutating func handle(_ block: ReportBlock, wallClock: WallClock, now: Instant) {
        if block.ssrc == configuration.rtxSSRC { isRTXSSRCKnown = true }
        guard block.ssrc == configuration.ssrc else { return }
        isSSRCKnown = true
        remoteStatistics.reportsReceived += 1
        remoteStatistics.packetsLost = Int64(block.cumulativeLost)
        remoteStatistics.fractionLost = Double(block.fractionLost) / 256
        remoteStatistics.jitter = Double(block.jitter) / Double(clock.rate)
        playoutDelay?.handleReport(highest: UInt16(truncatingIfNeeded: block.extendedHighestSequenceNumber))
        guard block.lastSenderReport != 0 else { return }
        let measured = RTCPRoundTrip.duration(
            since: block.lastSenderReport, held: block.delaySinceLastSenderReport, wallClock: wallClock, now: now)
        guard let measured else { return }
        roundTripTime = measured
        remoteStatistics.roundTripTime = measured.inSeconds
        remoteStatistics.totalRoundTripTime += measured.inSeconds
        remoteStatistics.roundTripTimeMeasurements += 1
    }

    /// A sender report for `now`, without report blocks; `nil` before the first packet went out.
    package func senderReport(wallClock: WallClock, now: Instant) -> SenderReport? {
        guard !counters.isEmpty, let last else { return nil }
        // The newest frame ties the two clocks together, whatever its timestamp was rounded or snapped to.
        let sinceLast = clock.ticks(in: now - last.captureTime)
        return SenderReport(
            ssrc: configuration.ssrc, ntpTimestamp: wallClock.ntp(at: now),
            rtpTimestamp: last.timestamp &+ UInt32(truncatingIfNeeded: sinceLast), packetCount: counters.wirePackets,
            octetCount: counters.wireOctets)
    }

    /// Goes on with other SSRCs after a collision (RFC 3550 §8.2); the caller says BYE for the old ones. What was sent
    /// under the old SSRC can no longer be asked for.
    package mutating func changeSSRC(
        to ssrc: UInt32, rtxSSRC: UInt32?, using generator: inout some RandomNumberGenerator
    ) {
        configuration.ssrc = ssrc
        configuration.rtxSSRC = rtxSSRC
        // The peer knows parity packets as those of the old SSRC.
        configuration.flexfecSSRC = nil
        parity = nil
        nextSequenceNumber = Self.firstSequenceNumber(using: &generator)
        nextRTXSequenceNumber = Self.firstSequenceNumber(using: &generator)
        history.removeAll()
        retransmissions.removeAll()
        counters = SenderCounters()
        lastFIR = nil
        isSSRCKnown = false
        isRTXSSRCKnown = false
        playoutDelay?.restart()
    }

    // MARK: Inside

    /// Random, in the lower half: a receiver that missed all packets up to the first wrap would take the SRTP rollover
    /// counter for 0 and could authenticate nothing (RFC 3711 §3.3.1).
    private static func firstSequenceNumber(using generator: inout some RandomNumberGenerator) -> UInt16 {
        UInt16(truncatingIfNeeded: generator.next()) & 0x7FFF
    }

    private func timestamp(of frame: PacketizedFrame, captureTime: Instant) -> UInt32 {
        let exact = clock.timestamp(at: captureTime)
        guard let last else { return exact }
        // Timestamps further apart than half their range, some hours, can no longer be told from earlier ones.
        let elapsed = clock.ticks(in: captureTime - last.captureTime)
        let isLongPause = elapsed > 1 << 30
        if let duration = last.durationInTicks, duration > 0 {
            let expected = last.timestamp &+ duration
            let gap = isLongPause ? elapsed - Int64(duration) : Int64(Int32(bitPattern: exact &- expected))
            // Capture times jitter around the sample clock; only a real gap, of more than two and a half packets, may
            // move it, and then by whole packets. Behind silence that was not sent there is one.
            let startsTalkspurt = frame.packets.first?.marker == true
            guard gap * 2 > Int64(duration) * (startsTalkspurt ? 1 : 5) else { return expected }
            let packets = (gap + Int64(duration) / 2) / Int64(duration)
            return expected &+ UInt32(truncatingIfNeeded: packets * Int64(duration))
        }
        // Two frames never share a timestamp, else receivers take them for one.
        return isLongPause || Int32(bitPattern: exact &- last.timestamp) > 0 ? exact : last.timestamp &+ 1
    }

    private var retransmissionInterval: Duration {
        guard let roundTripTime else { return .milliseconds(10) }
        return max(.milliseconds(10), roundTripTime * 3 / 4)
    }

    /// Header and payload of a packet for the first time, or again on the media SSRC.
    private func write(_ entry: PacketHistory.Entry, into buffer: inout MutableRawSpan) -> Int? {
        let packet = entry.frame.packets[entry.packetIndex]
        let header = RTPHeader(
            marker: packet.marker, payloadType: entry.payloadType, sequenceNumber: entry.sequenceNumber,
            timestamp: entry.timestamp, ssrc: configuration.ssrc)
        do throws(ByteError) {
            var writer = ByteWriter(&buffer)
            let extensions = entry.isIntroduction ? configuration.introduction : configuration.extensions
            try header.write(to: &writer, extensions: extensions, values: entry.values)
            try entry.frame.writePayload(of: packet, to: &writer)
            return writer.count
        } catch {
            return nil
        }
    }

    private mutating func writeRetransmission(
        of number: UInt16, _ values: HeaderExtensionValues, into buffer: inout MutableRawSpan
    ) -> SentPacket? {
        let found = history.withEntry(number) { entry in
            entry.isQueued = false
            return entry
        }
        guard let entry = found else { return nil }
        let packet = entry.frame.packets[entry.packetIndex]
        guard budget.spend(byteCount: packet.byteCount + RTPHeader.fixedByteCount) else { return nil }
        var values = values
        values.audioLevel = entry.frame.audioLevel
        values.videoOrientation = entry.values.videoOrientation
        values.playoutDelay = entry.values.playoutDelay
        var sent = SentPacket(byteCount: 0, ssrc: configuration.ssrc, sequenceNumber: number)
        let written: Int?
        if let ssrc = configuration.rtxSSRC, let payloadType = configuration.rtxPayloadType {
            sent.ssrc = ssrc
            sent.sequenceNumber = nextRTXSequenceNumber
            written = writeRTX(entry, packet, values, ssrc: ssrc, payloadType: payloadType, into: &buffer)
        } else {
            sent.isRepetition = true
            written = write(entry, into: &buffer)
            if written != nil { counters.count(octets: packet.byteCount) }
        }
        guard let byteCount = written else { return nil }
        count(byteCount: byteCount, payloadByteCount: packet.byteCount)
        statistics.retransmittedPacketsSent += 1
        statistics.retransmittedBytesSent += UInt64(packet.byteCount)
        sent.byteCount = byteCount
        return sent
    }

    private mutating func writeRTX(
        _ entry: PacketHistory.Entry, _ packet: PacketizedFrame.Packet, _ values: HeaderExtensionValues,
        ssrc: UInt32, payloadType: UInt8, into buffer: inout MutableRawSpan
    ) -> Int? {
        let header = RTPHeader(
            marker: packet.marker, payloadType: payloadType, sequenceNumber: nextRTXSequenceNumber,
            timestamp: entry.timestamp, ssrc: ssrc)
        do throws(ByteError) {
            var writer = ByteWriter(&buffer)
            let introduction = isRTXSSRCKnown ? nil : configuration.rtxIntroduction
            try header.write(to: &writer, extensions: introduction ?? configuration.extensions, values: values)
            try writer.writeInteger(entry.sequenceNumber)
            try entry.frame.writePayload(of: packet, to: &writer)
            nextRTXSequenceNumber &+= 1
            return writer.count
        } catch {
            return nil
        }
    }

    /// The wall-clock time of capture, once a second: a receiver reckons it for the frames between
    /// (`abs-capture-time`, its optional sparse form).
    private mutating func absoluteCaptureTime(
        of queued: QueuedFrame, now: Instant
    ) -> HeaderExtensionValues.AbsoluteCaptureTime? {
        guard configuration.extensions?.ids.absoluteCaptureTime != nil, let wallClock = configuration.wallClock else {
            return nil
        }
        if let last = lastCaptureTimeAt, now - last < .seconds(1) { return nil }
        lastCaptureTimeAt = now
        return HeaderExtensionValues.AbsoluteCaptureTime(timestamp: wallClock.ntp(at: queued.captureTime))
    }

    /// For the last packet of a picture (3GPP TS 26.114 §7.4.5): with key frames and with each change; of turned
    /// pictures with all, since libwebrtc's receiver takes one of which nothing is said for upright.
    private mutating func orientation(of frame: PacketizedFrame) -> HeaderExtensionValues.VideoOrientation? {
        guard configuration.extensions?.ids.videoOrientation != nil else { return nil }
        defer { lastOrientation = frame.orientation }
        let isNews = frame.isKeyFrame || frame.orientation != lastOrientation || frame.orientation != .upright
        return isNews ? frame.orientation : nil
    }

    private mutating func count(byteCount: Int, payloadByteCount: Int) {
        statistics.packetsSent += 1
        statistics.bytesSent += UInt64(payloadByteCount)
        statistics.headerBytesSent += UInt64(byteCount - payloadByteCount)
    }
}
