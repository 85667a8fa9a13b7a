import EmisoraCore

/// Packets that go out again, on a stream of their own (RFC 4588) or as they were.
extension RTPSendStream {
    mutating func writeRetransmission(
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
}
