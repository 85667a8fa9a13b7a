import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct RTCPTests {
    private func packets(_ bytes: [UInt8]) throws -> [RTCPPacket] {
        var reader = RTCPReader(bytes.span.bytes)
        var packets: [RTCPPacket] = []
        while let packet = try reader.next() { packets.append(packet) }
        return packets
    }

    @Test func aCompoundPacketOfEverythingIsReadAsWritten() throws {
        let block = ReportBlock(
            ssrc: 1, fractionLost: 255, cumulativeLost: -3, extendedHighestSequenceNumber: 0x1_0002, jitter: 4,
            lastSenderReport: 5, delaySinceLastSenderReport: 6)
        let sender = SenderReport(
            ssrc: 2, ntpTimestamp: NTPTimestamp(rawValue: 0x0123_4567_89AB_CDEF), rtpTimestamp: 7, packetCount: 8,
            octetCount: 9, reports: [block, block])
        let receiver = ReceiverReport(ssrc: 3, reports: [block])
        let description = SourceDescription(chunks: ["", "a", "ab", "abc", "abcd"].map { .init(ssrc: 2, cname: $0) })
        let nack = GenericNACK(senderSSRC: 2, mediaSSRC: 1, sequenceNumbers: [65_534, 65_535, 0, 14, 15, 40])
        let indication = PictureLossIndication(senderSSRC: 2, mediaSSRC: 1)
        let request = FullIntraRequest(senderSSRC: 2, entries: [.init(ssrc: 1, sequenceNumber: 200)])
        let estimate = ReceiverEstimatedMaximumBitrate(
            senderSSRC: 2, bitrate: .bitsPerSecond(0x2_0001 << 5), sources: [1, 4])
        let goodbye = Goodbye(sources: [2, 3])
        let bytes = try #require(
            try written { buffer in
                var writer = RTCPWriter(&buffer, form: .compound)
                try writer.write(sender)
                try writer.write(receiver)
                try writer.write(description)
                try writer.write(nack)
                try writer.write(indication)
                try writer.write(request)
                try writer.write(estimate)
                try writer.write(goodbye)
                return writer.byteCount
            })
        #expect(bytes.count % 4 == 0)
        #expect(
            try packets(bytes) == [
                .senderReport(sender), .receiverReport(receiver), .sourceDescription(description), .nack(nack),
                .pictureLossIndication(indication), .fullIntraRequest(request),
                .receiverEstimatedMaximumBitrate(estimate), .goodbye(goodbye),
            ])
    }

    @Test func bytesOfAReceiverReportAreThoseOfTheRFC() throws {
        let bytes = try written { buffer in
            var writer = RTCPWriter(&buffer, form: .reducedSize)
            try writer.write(
                ReceiverReport(ssrc: 0x0A0B_0C0D, reports: [ReportBlock(ssrc: 1, fractionLost: 2, cumulativeLost: -1)]))
            return writer.byteCount
        }
        #expect(
            bytes == [
                0x81, 201, 0, 7, 0x0A, 0x0B, 0x0C, 0x0D, 0, 0, 0, 1, 2, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                0, 0, 0, 0, 0, 0,
            ])
    }

    @Test("RFC 4585 §6.2.1: a NACK's mask covers sixteen packets and wraps") func nackPairsWrapAndUseTheWholeMask() {
        let nack = GenericNACK(senderSSRC: 0, mediaSSRC: 0, sequenceNumbers: [65_530, 65_531, 10, 11])
        #expect(nack.items.map(\.packetID) == [65_530, 11])
        #expect(nack.items.map(\.lostPackets) == [0x8001, 0])
    }

    @Test("RFC 3550 §6.4.1: cumulative loss is a signed number of 24 bits") func cumulativeLossIsHeldToTwentyFourBits()
        throws
    {
        for (value, expected) in [(Int32.max, 0x7F_FFFF), (Int32.min, -0x80_0000)] as [(Int32, Int32)] {
            let bytes = try #require(
                try written { buffer in
                    var writer = RTCPWriter(&buffer, form: .reducedSize)
                    try writer.write(ReceiverReport(ssrc: 0, reports: [ReportBlock(ssrc: 1, cumulativeLost: value)]))
                    return writer.byteCount
                })
            guard case .receiverReport(let report) = try packets(bytes)[0] else {
                Issue.record("not a receiver report")
                return
            }
            #expect(report.reports[0].cumulativeLost == expected)
        }
    }

    @Test func aCompoundPacketMustBeginWithReportAndDescription() throws {
        let indication = PictureLossIndication(senderSSRC: 2, mediaSSRC: 1)
        _ = try written { buffer in
            var writer = RTCPWriter(&buffer, form: .compound)
            do {
                try writer.write(indication)
                Issue.record("written first")
            } catch { #expect(error as? RTPError == .compoundOrder) }
            try writer.write(ReceiverReport(ssrc: 2))
            do {
                try writer.write(indication)
                Issue.record("written before SDES")
            } catch { #expect(error as? RTPError == .compoundOrder) }
            try writer.write(SourceDescription(chunks: [.init(ssrc: 2, cname: "c")]))
            try writer.write(indication)
            return writer.byteCount
        }
        let reduced = try written { buffer in
            var writer = RTCPWriter(&buffer, form: .reducedSize)
            try writer.write(indication)
            return writer.byteCount
        }
        #expect(reduced?.count == 12)
    }

    @Test func aPacketThatDoesNotFitLeavesThoseBeforeItWhole() throws {
        let bytes = try #require(
            try written(capacity: 20) { buffer in
                var writer = RTCPWriter(&buffer, form: .compound)
                try writer.write(ReceiverReport(ssrc: 2))
                do {
                    try writer.write(SourceDescription(chunks: [.init(ssrc: 2, cname: "much too long")]))
                    Issue.record("fits")
                } catch { #expect(error as? RTPError == .bufferFull(needed: 24, available: 12)) }
                return writer.byteCount
            })
        #expect(try packets(bytes) == [.receiverReport(ReceiverReport(ssrc: 2))])
    }

    @Test("RFC 4585 §6.1: unknown feedback is skipped by its length and the rest of the compound read")
    func unknownAndBrokenPacketsAreSkippedByTheirLength() throws {
        let bytes: [UInt8] =
            [0x8F, 205, 0, 4] + Array(repeating: 7, count: 16)  // transport-wide feedback
            + [0x80, 207, 0, 0]  // XR, empty
            + [0x9F, 201, 0, 1, 0, 0, 0, 1]  // RR that promises 31 blocks
            + [0x81, 206, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1]  // PLI
        #expect(
            try packets(bytes) == [
                .other(type: .transportFeedback, format: 15), .other(type: .init(rawValue: 207), format: 0),
                .other(type: .receiverReport, format: 31),
                .pictureLossIndication(.init(senderSSRC: 2, mediaSSRC: 1)),
            ])
    }

    @Test func aLengthBeyondTheEndStopsTheReading() throws {
        let bytes: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0x81, 206, 0, 2, 0, 0]
        var reader = RTCPReader(bytes.span.bytes)
        let first = try reader.next()
        #expect(first == .pictureLossIndication(.init(senderSSRC: 2, mediaSSRC: 1)))
        var caught: RTPError?
        do throws(RTPError) { _ = try reader.next() } catch { caught = error }
        #expect(caught == .truncated(needed: 8, available: 2))
    }

    @Test func paddingIsCutOffAndMustFit() throws {
        #expect(
            try packets([0xA0, 201, 0, 2, 0, 0, 0, 5, 0, 0, 0, 4]) == [.receiverReport(ReceiverReport(ssrc: 5))])
        #expect(throws: RTPError.invalidPadding(count: 12)) {
            try packets([0xA0, 201, 0, 2, 0, 0, 0, 5, 0, 0, 0, 12])
        }
    }

    @Test func anEstimateBeyondAllBoundsIsHeldAtTheLargest() throws {
        let bytes: [UInt8] = [
            0x8F, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42, 0, 0xFF, 0xFF, 0xFF,
        ]
        #expect(
            try packets(bytes) == [
                .receiverEstimatedMaximumBitrate(
                    .init(senderSSRC: 1, bitrate: .bitsPerSecond(.max), sources: []))
            ])
    }

    @Test func aHugeNackIsReadUpToTheLimit() throws {
        var bytes: [UInt8] = [0x81, 205, 0x40, 0x02, 0, 0, 0, 1, 0, 0, 0, 2]
        for index in 0..<0x4000 { bytes += [UInt8(index >> 8), UInt8(index & 0xFF), 0xFF, 0xFF] }
        guard case .nack(let nack) = try packets(bytes)[0] else {
            Issue.record("not a NACK")
            return
        }
        #expect(nack.sequenceNumbers.count <= GenericNACK.sequenceNumberLimit)
        #expect(nack.sequenceNumbers.count > GenericNACK.sequenceNumberLimit - 17)
    }
}
