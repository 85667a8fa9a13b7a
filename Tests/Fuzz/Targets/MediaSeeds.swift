import EmisoraCore
import EmisoraRTP

/// RTP and RTCP as they should be.
extension Seeds {
    /// Of few sources and types, so that packets meet.
    private static let ssrcs: [UInt32] = [1, 2, 3, 0xFFFF_FFFF]
    private static let types: [UInt8] = [96, 97, 98, 99, 111, 63]

    static func rtp(using random: inout FuzzRandom) -> [UInt8] {
        rtp(
            type: types[random.number(below: types.count)], number: random.short(), timestamp: random.word(),
            ssrc: ssrcs[random.number(below: ssrcs.count)], payload: vp8(using: &random), using: &random)
    }

    private static func rtp(
        type: UInt8, number: UInt16, timestamp: UInt32, ssrc: UInt32, payload: [UInt8],
        using random: inout FuzzRandom
    ) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 2_048)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        var header = RTPHeader(
            marker: random.chance(percent: 50), payloadType: type, sequenceNumber: number, timestamp: timestamp,
            ssrc: ssrc)
        if random.chance(percent: 10) { header.contributingSources = [random.word(), random.word()] }
        var block: HeaderExtensionBlock?
        var values = HeaderExtensionValues()
        if random.chance(percent: 70) {
            var ids = HeaderExtensionIDs()
            ids.transportSequenceNumber = 2
            ids.absoluteSendTime = 3
            ids.absoluteCaptureTime = 4
            ids.audioLevel = 5
            ids.videoOrientation = random.chance(percent: 20) ? 20 : 6
            values.transportSequenceNumber = number
            values.absoluteSendTime = random.word() & 0xFF_FFFF
            if random.chance(percent: 20) {
                values.absoluteCaptureTime = .init(timestamp: NTPTimestamp(rawValue: random.next()))
            }
            values.audioLevel = .init(hasVoice: true, level: random.byte() & 127)
            block = try? HeaderExtensionBlock([(1, [UInt8(ascii: "0") + random.byte() % 2])], ids: ids)
        }
        guard let count = try? header.write(into: &buffer, extensions: block, values: values) else { return [] }
        return Array(bytes[..<count]) + payload
    }

    static func vp8(using random: inout FuzzRandom) -> [UInt8] {
        var descriptor = VP8PayloadDescriptor()
        descriptor.startsPartition = random.chance(percent: 60)
        if random.chance(percent: 80) {
            let isLong = random.chance(percent: 80)
            descriptor.pictureID = .init(value: random.short() & (isLong ? 0x7FFF : 0x7F), isLong: isLong)
        }
        if random.chance(percent: 30) {
            descriptor.temporalLayer = .init(index: random.byte() & 3, isLayerSync: random.chance(percent: 50))
            descriptor.baseLayerIndex = random.byte()
        }
        if random.chance(percent: 20) { descriptor.keyIndex = random.byte() & 31 }
        let written = descriptor.bytes
        return (0..<written.count).map { written[$0] } + [random.byte() & 0x11] + random.bytes(random.number(below: 60))
    }

    static func parity(using random: inout FuzzRandom) -> [UInt8] {
        switch random.number(below: 3) {
        case 0:
            // RED (RFC 2198 §3): an older block, then the newest.
            let old = random.bytes(random.number(below: 40))
            let offset = UInt32(random.number(below: 1 << 14))
            let word = UInt32(0x80 | 111) << 24 | offset << 10 | UInt32(old.count)
            return bytes(word) + [111] + old + random.bytes(random.number(below: 40))
        case 1:
            // ULPFEC (RFC 5109 §7.3): head, one level with a mask of 16 bits.
            let parity = random.bytes(20)
            return [random.byte() & 0x3F, random.byte()] + random.bytes(8) + [0, 20] + random.bytes(2) + parity
        default:
            // FlexFEC-03: head, one source, masks.
            return [random.byte() & 0x3F] + random.bytes(7) + [1, 0, 0, 0] + random.bytes(4) + random.bytes(2)
                + [0x80 | random.byte()] + random.bytes(random.number(below: 40))
        }
    }

    /// Packets of one stream, mostly in order.
    static func stream(of type: UInt8, using random: inout FuzzRandom) -> [UInt8] {
        var number = random.short()
        var timestamp = random.word()
        var packets: [[UInt8]] = []
        for _ in 0..<2 + random.number(below: 30) {
            number &+= random.chance(percent: 90) ? 1 : UInt16(truncatingIfNeeded: random.number(below: 5_000))
            if random.chance(percent: 40) { timestamp &+= type == 96 ? 3_000 : 960 }
            var type = type
            if random.chance(percent: 20) { type = type == 96 ? [97, 98, 99][random.number(below: 3)] : 63 }
            var payload = type == 111 ? [0xF8] + random.bytes(20) : vp8(using: &random)
            if type == 63 || type == 98 || type == 99 { payload = parity(using: &random) }
            if type == 97 { payload = [UInt8(number >> 8), UInt8(number & 255)] + payload }
            packets.append(
                rtp(
                    type: type, number: number, timestamp: timestamp, ssrc: type == 97 ? 2 : 1, payload: payload,
                    using: &random))
        }
        return Parts.joined(packets)
    }

    // MARK: RTCP

    static func rtcp(using random: inout FuzzRandom) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        var writer = RTCPWriter(&buffer, form: .reducedSize)
        for _ in 0..<1 + random.number(below: 4) { try? write(to: &writer, using: &random) }
        let count = writer.byteCount
        return Array(bytes[..<count])
    }

    @_lifetime(writer: copy writer)
    private static func write(to writer: inout RTCPWriter, using random: inout FuzzRandom) throws(RTPError) {
        let ssrc = ssrcs[random.number(below: ssrcs.count)]
        switch random.number(below: 11) {
        case 0:
            try writer.write(
                SenderReport(
                    ssrc: ssrc, ntpTimestamp: NTPTimestamp(rawValue: random.next()), rtpTimestamp: random.word(),
                    packetCount: random.word(), octetCount: random.word(), reports: blocks(using: &random)))
        case 1: try writer.write(ReceiverReport(ssrc: ssrc, reports: blocks(using: &random)))
        case 2:
            try writer.write(
                SourceDescription(
                    chunks: (0..<random.number(below: 4)).map { .init(ssrc: UInt32($0), cname: "name\($0)") }))
        case 3: try writer.write(Goodbye(sources: (0..<random.number(below: 31)).map { UInt32($0) }))
        case 4:
            try writer.write(
                GenericNACK(
                    senderSSRC: ssrc, mediaSSRC: 1,
                    sequenceNumbers: (0..<random.number(below: 40)).map { UInt16($0 * 7) }))
        case 5: try writer.write(PictureLossIndication(senderSSRC: ssrc, mediaSSRC: 1))
        case 6:
            try writer.write(
                FullIntraRequest(senderSSRC: ssrc, entries: [.init(ssrc: 1, sequenceNumber: random.byte())]))
        case 7:
            try writer.write(
                ReceiverEstimatedMaximumBitrate(
                    senderSSRC: ssrc, bitrate: .bitsPerSecond(Int(random.word())), sources: [1, 2]))
        case 8:
            try writer.write(
                TemporaryMaximumBitrate(
                    .request, senderSSRC: ssrc,
                    entries: [.init(ssrc: 1, bitrate: .bitsPerSecond(Int(random.word())), overhead: 40)]))
        case 9:
            try writer.write(
                TransportWideFeedback(
                    senderSSRC: ssrc, mediaSSRC: 1, baseSequenceNumber: random.short(),
                    referenceTime: random.word() & 0xFF_FFFF, messageCount: random.byte(),
                    packets: (0..<1 + random.number(below: 60)).map { number in
                        number % 3 == 0 ? .notReceived : .received(delta: Int16(number * 11 - 300))
                    }))
        default:
            try writer.write(
                ExtendedReport(
                    ssrc: ssrc, receiverReferenceTime: NTPTimestamp(rawValue: random.next()),
                    delays: [.init(ssrc: 1, lastReceiverReport: random.word(), delaySinceLastReceiverReport: 9)]))
        }
    }

    private static func blocks(using random: inout FuzzRandom) -> [ReportBlock] {
        (0..<random.number(below: 5)).map { number in
            ReportBlock(
                ssrc: UInt32(number), fractionLost: random.byte(), cumulativeLost: Int32(random.short()),
                extendedHighestSequenceNumber: random.word(), jitter: random.word(), lastSenderReport: random.word(),
                delaySinceLastSenderReport: random.word())
        }
    }

    // MARK: Datagrams

    /// What a connection may get, each behind the number that says how.
    static func datagrams(using random: inout FuzzRandom) -> [UInt8] {
        var parts: [[UInt8]] = []
        for _ in 0..<1 + random.number(below: 20) {
            let kind = UInt8(random.number(below: 8))
            let message: [UInt8]
            switch kind {
            case 0: message = rtp(using: &random)
            case 1, 2: message = rtcp(using: &random)
            case 3: message = random.chance(percent: 50) ? stun(using: &random) : [22] + random.bytes(40)
            case 4: message = stun(using: &random)
            case 5: message = [random.byte()]
            case 6: message = candidate(using: &random)
            default: message = random.chance(percent: 30) ? [random.byte()] + random.bytes(random.number(below: 8)) : []
            }
            parts.append([kind] + message)
        }
        return Parts.joined(parts)
    }

    static func bytes(_ word: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) }
    }
}
