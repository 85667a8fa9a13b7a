import EmisoraCore

/// Pictures in RED, and what ULPFEC mends of them (RFC 2198, RFC 5109).
extension RTPVideoReceiveStream {
    /// Takes a payload out of RED where it is in it, and lets parity packets and what they protect help each other.
    mutating func unwrap(
        _ header: RTPHeader, payloadType: UInt8?, sequenceNumber: UInt16, _ range: Range<Int>, of packet: RawSpan,
        now: Instant
    ) {
        let number = unwrapper.unwrap(sequenceNumber)
        guard let redundancy = configuration.redundancy, let ssrc else {
            insert(number, header, packet.extracting(range), now: now)
            return
        }
        var payload = range
        if payloadType == redundancy.redPayloadType {
            // Pictures are put into RED one block a packet; older blocks, if any, came with their own packets.
            let block = REDPayload.blocks(of: packet.extracting(range)).last
            payload =
                block.map { range.lowerBound + $0.range.lowerBound..<range.lowerBound + $0.range.upperBound }
                ?? range.upperBound..<range.upperBound
            if block?.payloadType == redundancy.ulpfecPayloadType {
                handleParity(number, header, packet.extracting(payload), now: now)
                return
            }
            if block?.payloadType != configuration.payloadType { payload = range.upperBound..<range.upperBound }
        }
        insert(number, header, packet.extracting(payload), now: now)
        // A repetition has a header of its own, which is not the one that was protected.
        guard redundancy.ulpfecPayloadType != nil, !payload.isEmpty, header.ssrc == ssrc else { return }
        makeRepair(ssrc)
        let media = redundancy.protectedPacket(header, payloadType: configuration.payloadType, payload, of: packet)
        repair?.handleMedia(media.span.bytes, number: number)
        insertRecovered(now: now)
    }

    private mutating func makeRepair(_ ssrc: UInt32) {
        guard repair == nil else { return }
        repair = ULPFECReceiver(
            ssrc: ssrc, extensionIDs: configuration.redundancy?.extensionIDs ?? HeaderExtensionIDs())
    }

    private mutating func handleParity(_ number: Int64, _ header: RTPHeader, _ payload: RawSpan, now: Instant) {
        counters.fecPacketsReceived += 1
        counters.fecBytesReceived += UInt64(payload.byteCount)
        // It has a number of the stream's own, which is thereby accounted for.
        insert(number, header, payload.extracting(0..<0), now: now)
        guard let ssrc else { return }
        makeRepair(ssrc)
        if repair?.handleParity(payload, number: number) != true { counters.fecPacketsDiscarded += 1 }
        insertRecovered(now: now)
    }

    private mutating func insertRecovered(now: Instant) {
        while let recovered = repair?.pollRecovered() {
            guard let header = try? RTPHeader(parsing: recovered.packet.span.bytes),
                header.payloadType == configuration.payloadType
            else { continue }
            counters.packetsRepaired += 1
            let ids = configuration.redundancy?.extensionIDs ?? HeaderExtensionIDs()
            handle(HeaderExtensionValues(of: header, in: recovered.packet.span.bytes, ids: ids), of: header)
            insert(recovered.number, header, recovered.packet.span.bytes.extracting(header.payload), now: now)
        }
    }
}
