import EmisoraCore

/// What the receiver says of the stream, and what is said of it in turn (RFC 3550 §6.4, RFC 4585, RFC 5104).
extension RTPSendStream {
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

    private var retransmissionInterval: Duration {
        guard let roundTripTime else { return .milliseconds(10) }
        return max(.milliseconds(10), roundTripTime * 3 / 4)
    }
}
