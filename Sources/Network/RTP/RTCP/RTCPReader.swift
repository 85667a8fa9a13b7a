import EmisoraCore

/// Reads the packets of a compound, or reduced-size, RTCP packet one after another.
///
/// A packet of unknown kind, or one whose body is broken, comes out as ``RTCPPacket/other(type:format:)`` and the next
/// is read after it; only a length that leaves the datagram ends the reading with an error.
///
/// ```swift
/// var reader = RTCPReader(datagram)
/// while let packet = try reader.next() { … }
/// ```
package struct RTCPReader: ~Escapable {
    private var reader: ByteReader
    /// Packets that feedback in this datagram may still tell of: each message may tell of that many in a few bytes, and a
    /// datagram holds dozens of them.
    private var toldLeft = TransportWideFeedback.packetLimit

    @_lifetime(copy datagram)
    package init(_ datagram: RawSpan) {
        reader = ByteReader(datagram)
    }

    /// The next packet, `nil` after the last.
    @_lifetime(self: copy self)
    package mutating func next() throws(RTPError) -> RTCPPacket? {
        guard !reader.isAtEnd else { return nil }
        let first: UInt8
        let type: RTCPPacketType
        var body: RawSpan
        do throws(ByteError) {
            first = try reader.readInteger()
            type = RTCPPacketType(rawValue: try reader.readInteger())
            let words = Int(try reader.readInteger(UInt16.self))
            body = try reader.readBytes(4 * words)
        } catch {
            throw RTPError(error)
        }
        guard first >> 6 == 2 else { throw .unsupportedVersion(first >> 6) }
        if first & 0x20 != 0 {
            guard body.byteCount > 0 else { throw .invalidPadding(count: 0) }
            let count = Int(body.unsafeLoad(fromByteOffset: body.byteCount - 1, as: UInt8.self))
            guard count > 0, count <= body.byteCount else { throw .invalidPadding(count: count) }
            body = body.extracting(0..<body.byteCount - count)
        }
        let format = first & 0x1F
        do throws(ByteError) {
            let packet = try Self.parse(type, format: format, body, tellingAtMost: toldLeft)
            if case .transportWideFeedback(let feedback)? = packet { toldLeft -= feedback.packets.count }
            return packet ?? .other(type: type, format: format)
        } catch {
            return .other(type: type, format: format)
        }
    }

    private static func parse(
        _ type: RTCPPacketType, format: UInt8, _ body: RawSpan, tellingAtMost limit: Int
    ) throws(ByteError) -> RTCPPacket? {
        var reader = ByteReader(body)
        switch type {
        case .senderReport:
            var report = SenderReport(
                ssrc: try reader.readInteger(), ntpTimestamp: NTPTimestamp(rawValue: try reader.readInteger()),
                rtpTimestamp: try reader.readInteger(), packetCount: try reader.readInteger(),
                octetCount: try reader.readInteger())
            report.reports = try parseReports(count: format, &reader)
            return .senderReport(report)
        case .receiverReport:
            let ssrc: UInt32 = try reader.readInteger()
            return .receiverReport(ReceiverReport(ssrc: ssrc, reports: try parseReports(count: format, &reader)))
        case .sourceDescription:
            return .sourceDescription(try parseSourceDescription(count: format, &reader))
        case .goodbye:
            var sources: [UInt32] = []
            for _ in 0..<format { sources.append(try reader.readInteger()) }
            return .goodbye(Goodbye(sources: sources))
        case .transportFeedback:
            return try parseTransportFeedback(format: format, &reader, tellingAtMost: limit)
        case .payloadSpecificFeedback:
            return try parsePayloadSpecificFeedback(format: format, &reader)
        case .extendedReport:
            return .extendedReport(try ExtendedReport.parse(&reader))
        default:
            return nil
        }
    }

    @_lifetime(reader: copy reader)
    private static func parseReports(count: UInt8, _ reader: inout ByteReader) throws(ByteError) -> [ReportBlock] {
        var reports: [ReportBlock] = []
        for _ in 0..<count {
            var block = ReportBlock(ssrc: try reader.readInteger())
            block.fractionLost = try reader.readInteger()
            // Signed 24 bits: shifted up and back down to carry the sign.
            block.cumulativeLost = Int32(bitPattern: try reader.readUInt24() << 8) >> 8
            block.extendedHighestSequenceNumber = try reader.readInteger()
            block.jitter = try reader.readInteger()
            block.lastSenderReport = try reader.readInteger()
            block.delaySinceLastSenderReport = try reader.readInteger()
            reports.append(block)
        }
        return reports
    }

    @_lifetime(reader: copy reader)
    private static func parseSourceDescription(
        count: UInt8, _ reader: inout ByteReader
    ) throws(ByteError) -> SourceDescription {
        var chunks: [SourceDescription.Chunk] = []
        for _ in 0..<count {
            var chunk = SourceDescription.Chunk(ssrc: try reader.readInteger(), cname: nil)
            while true {
                let item: UInt8 = try reader.readInteger()
                // The list ends with a zero byte and is filled up to the next 32-bit border.
                if item == 0 { break }
                let length: UInt8 = try reader.readInteger()
                let text = try reader.readBytes(Int(length))
                if item == 1, chunk.cname == nil {
                    chunk.cname = String(validating: [UInt8](copying: text), as: UTF8.self)
                }
            }
            try reader.skip((4 - reader.offset % 4) % 4)
            chunks.append(chunk)
        }
        return SourceDescription(chunks: chunks)
    }

    @_lifetime(reader: copy reader)
    private static func parseTransportFeedback(
        format: UInt8, _ reader: inout ByteReader, tellingAtMost limit: Int
    ) throws(ByteError) -> RTCPPacket? {
        switch format {
        case 1:
            return .nack(try parseNACK(&reader))
        case TemporaryMaximumBitrate.Kind.request.rawValue:
            return .temporaryMaximumBitrate(try TemporaryMaximumBitrate.parse(.request, &reader))
        case TemporaryMaximumBitrate.Kind.notification.rawValue:
            return .temporaryMaximumBitrate(try TemporaryMaximumBitrate.parse(.notification, &reader))
        case 11:
            return try CongestionControlFeedback.parse(&reader).map { .congestionControlFeedback($0) }
        case 15:
            return try TransportWideFeedback.parse(&reader, limit: limit).map { .transportWideFeedback($0) }
        default:
            return nil
        }
    }

    @_lifetime(reader: copy reader)
    private static func parseNACK(_ reader: inout ByteReader) throws(ByteError) -> GenericNACK {
        var nack = GenericNACK(
            senderSSRC: try reader.readInteger(), mediaSSRC: try reader.readInteger(), sequenceNumbers: [])
        while reader.remaining >= 4, nack.sequenceNumbers.count + 17 <= GenericNACK.sequenceNumberLimit {
            let packetID: UInt16 = try reader.readInteger()
            let lostPackets: UInt16 = try reader.readInteger()
            nack.sequenceNumbers.append(packetID)
            for bit in 0..<UInt16(16) where lostPackets & 1 << bit != 0 {
                nack.sequenceNumbers.append(packetID &+ bit &+ 1)
            }
        }
        return nack
    }

    @_lifetime(reader: copy reader)
    private static func parsePayloadSpecificFeedback(
        format: UInt8, _ reader: inout ByteReader
    ) throws(ByteError) -> RTCPPacket? {
        let senderSSRC: UInt32 = try reader.readInteger()
        let mediaSSRC: UInt32 = try reader.readInteger()
        switch format {
        case 1:
            return .pictureLossIndication(PictureLossIndication(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC))
        case 4:
            var request = FullIntraRequest(senderSSRC: senderSSRC, entries: [])
            while reader.remaining >= 8, request.entries.count < 64 {
                let ssrc: UInt32 = try reader.readInteger()
                request.entries.append(.init(ssrc: ssrc, sequenceNumber: try reader.readInteger()))
                try reader.skip(3)
            }
            return .fullIntraRequest(request)
        case 15:
            // Application-layer feedback: REMB is one that begins with its name.
            let name: UInt32 = try reader.readInteger()
            guard name == 0x5245_4D42 else { return nil }
            let count: UInt8 = try reader.readInteger()
            let field = try reader.readUInt24()
            let bitrate = DataRate(mantissa: Int(field & 0x3_FFFF), exponent: Int(field >> 18))
            var sources: [UInt32] = []
            for _ in 0..<count { sources.append(try reader.readInteger()) }
            return .receiverEstimatedMaximumBitrate(
                ReceiverEstimatedMaximumBitrate(
                    senderSSRC: senderSSRC, bitrate: bitrate, sources: sources))
        default:
            return nil
        }
    }
}
