import EmisoraCore

/// One media stream to one peer: numbers and times packets, answers NACKs from its history, reports and counts.
///
/// ```swift
/// stream.enqueue(frame, captureTime: capturedAt, now: now)
/// while let packet = stream.pollPacket(into: &buffer, now: now) { … protect and send … }
/// ```
package struct RTPSendStream: Sendable {
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
    struct LastFrame: Sendable {
        var timestamp: UInt32
        var captureTime: Instant
        var durationInTicks: UInt32?
    }

    struct LastFIR: Sendable {
        var senderSSRC: UInt32
        var sequenceNumber: UInt8
    }

    package private(set) var configuration: Configuration
    package internal(set) var statistics = OutboundRTPStatistics()
    package internal(set) var remoteStatistics = RemoteInboundRTPStatistics()
    /// From the newest report; paces repeats of retransmissions.
    package internal(set) var roundTripTime: Duration?

    let clock: RTPTimestampClock
    private var nextSequenceNumber: UInt16
    var nextRTXSequenceNumber: UInt16
    private var queue: [QueuedFrame] = []
    private var nextPacketIndex = 0
    var retransmissions: [UInt16] = []
    var history: PacketHistory
    var budget = RetransmissionBudget()
    var last: LastFrame?
    var lastFIR: LastFIR?
    private var lastCaptureTimeAt: Instant?
    /// The receiver has reported on these SSRCs.
    var isSSRCKnown = false
    var isRTXSSRCKnown = false
    private var lastOrientation = HeaderExtensionValues.VideoOrientation.upright
    var playoutDelay: PlayoutDelayAnnouncement?
    /// Of this SSRC since it began, for sender reports.
    var counters = SenderCounters()
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

    /// Header and payload of a packet for the first time, or again on the media SSRC.
    func write(_ entry: PacketHistory.Entry, into buffer: inout MutableRawSpan) -> Int? {
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

    mutating func count(byteCount: Int, payloadByteCount: Int) {
        statistics.packetsSent += 1
        statistics.bytesSent += UInt64(payloadByteCount)
        statistics.headerBytesSent += UInt64(byteCount - payloadByteCount)
    }
}
