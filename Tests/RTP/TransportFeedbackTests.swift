import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct TransportFeedbackTests {
    private func roundTrip(_ message: some RTCPMessage) throws -> RTCPPacket? {
        try rtcpPackets(try bytes(message)).first
    }

    private func bytes(_ message: some RTCPMessage) throws -> [UInt8] {
        let bytes = try #require(
            try written(capacity: 65_536) { buffer in
                var writer = RTCPWriter(&buffer, form: .reducedSize)
                try writer.write(message)
                return writer.byteCount
            })
        #expect(bytes.count % 4 == 0)
        return bytes
    }

    private func feedback(_ packets: [TransportWideFeedback.Status]) -> TransportWideFeedback {
        TransportWideFeedback(
            senderSSRC: 1, mediaSSRC: 2, baseSequenceNumber: 65_530, referenceTime: 0xFF_FFFF, messageCount: 255,
            packets: packets)
    }

    // MARK: Transport-wide feedback

    @Test("draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1: every kind of chunk and delta is read")
    func everyKindOfChunkOfTheDraftIsRead() throws {
        // A run of three small deltas, a one-bit vector, a two-bit vector with a large delta and the reserved symbol.
        let bytes: [UInt8] =
            [0x8F, 205, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFE, 0, 23, 0x12, 0x34, 0x56, 9]
            + [0x20, 3, 0xA0, 0x00, 0xE7, 0x00]  // 13 packets of the one-bit vector, all but the first lost
            + [1, 2, 255, 4, 0xFF, 0xFF, 0, 0, 0, 0]
        guard case .transportWideFeedback(let message)? = try rtcpPackets(bytes).first else {
            Issue.record("not read")
            return
        }
        #expect(message.baseSequenceNumber == 0xFFFE)
        #expect(message.referenceTime == 0x12_3456)
        #expect(message.messageCount == 9)
        var expected: [TransportWideFeedback.Status] = [
            .received(delta: 1), .received(delta: 2), .received(delta: 255),
        ]
        // 0xA000: vector of one-bit symbols, the first of value 1 is the second bit of its fourteen.
        expected += [.received(delta: 4)] + Array(repeating: .notReceived, count: 13)
        // 0xE700: two-bit symbols 10, 01, 11, 00 …
        expected += [.received(delta: -1), .received(delta: 0), .unknown, .notReceived, .notReceived, .notReceived]
        #expect(message.packets == expected)
    }

    @Test func aReservedSymbolHasNoDeltaAndIsNeitherReceivedNorLost() throws {
        let message = feedback([.unknown, .received(delta: 7), .unknown, .received(delta: -7), .notReceived])
        #expect(try roundTrip(message) == .transportWideFeedback(message))
    }

    @Test(arguments: UInt64(1)...40) func anyFeedbackIsReadAsWritten(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var packets: [TransportWideFeedback.Status] = []
        while packets.count < 1 + generator.number(below: 2_000) {
            let run = 1 + generator.number(below: generator.chance(percent: 5) ? 9_000 : 12)
            let kind = generator.number(below: 5)
            for _ in 0..<run {
                switch kind {
                case 0: packets.append(.notReceived)
                case 1, 2: packets.append(.received(delta: Int16(generator.number(below: 256))))
                case 3: packets.append(.received(delta: Int16(truncatingIfNeeded: generator.next())))
                default: packets.append(generator.chance(percent: 50) ? .unknown : .received(delta: .min))
                }
            }
        }
        let message = feedback(Array(packets.prefix(TransportWideFeedback.packetLimit)))
        #expect(try roundTrip(message) == .transportWideFeedback(message))
    }

    @Test func runsAndVectorsAreTakenWhereTheyAreShortest() throws {
        let small = TransportWideFeedback.Status.received(delta: 1)
        // Head 4, fixed part 16, then chunks and deltas up to a border of four.
        #expect(try bytes(feedback(Array(repeating: .notReceived, count: 8_191))).count == 24)
        #expect(try bytes(feedback(Array(repeating: small, count: 14))).count == 4 + 16 + 16)
        let alternating = (0..<28).map { $0 % 2 == 0 ? small : .notReceived }
        #expect(try bytes(feedback(alternating)).count == 4 + 16 + 4 + 14 + 2)
        #expect(try bytes(feedback([.received(delta: 256), .notReceived])).count == 4 + 16 + 4)
    }

    @Test func feedbackThatClaimsTooMuchOrTooLittleIsSkipped() throws {
        var head: [UInt8] = [0x8F, 205, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0]
        head += Array(repeating: 0x1F, count: 16)
        let skipped = RTCPPacket.other(type: .transportFeedback, format: 15)
        #expect(try rtcpPackets(head) == [skipped])
        // No packets at all; and runs of length zero, which never come to an end.
        head[14] = 0
        head[15] = 0
        #expect(try rtcpPackets(head) == [skipped])
        head[15] = 9
        for index in 20..<36 { head[index] = 0 }
        #expect(try rtcpPackets(head) == [skipped])
        // Every truncation of a sound message.
        let whole = try bytes(feedback((0..<30).map { .received(delta: $0 * 20) }))
        for words in 1..<whole.count / 4 - 1 {
            var cut = Array(whole.prefix(4 + 4 * words))
            cut[2] = 0
            cut[3] = UInt8(words)
            #expect(try rtcpPackets(cut) == [skipped])
        }
    }

    // MARK: The receiver

    @Test func theReceiverTellsOfEachPacketOnceAndOfTheLostOnes() throws {
        var receiver = TransportFeedbackReceiver()
        var told: [Int: Bool] = [:]
        var messages = 0
        var unwrapper = SequenceUnwrapper()
        let start = 65_000
        for step in 0..<2_000 {
            let now = at(step * 5)
            // Every tenth is lost; the numbers wrap.
            if step % 10 != 3 {
                receiver.handle(
                    sequenceNumber: UInt16(truncatingIfNeeded: start + step), mediaSSRC: 9, byteCount: 1_200, now: now)
            }
            while let message = receiver.pollFeedback(senderSSRC: 1, now: now) {
                #expect(message.messageCount == UInt8(truncatingIfNeeded: messages))
                #expect(try roundTrip(message) == .transportWideFeedback(message))
                messages += 1
                var ticks = Int64(message.referenceTime) * 256
                for (offset, status) in message.packets.enumerated() {
                    let number = unwrapper.unwrap(message.baseSequenceNumber &+ UInt16(offset))
                    let step = Int(number) - 0x1_0000 - start
                    #expect(told[step] == nil)
                    if case .received(let delta) = status {
                        ticks += Int64(delta)
                        // Virtual time counts from its own start; a tick is 250 µs.
                        #expect(ticks == at(step * 5).nanoseconds / 250_000)
                        told[step] = true
                    } else {
                        told[step] = false
                    }
                }
            }
        }
        // 10 s: between ten and twenty messages a second.
        #expect((100...200).contains(messages))
        #expect(told.count > 1_980)
        #expect(told.allSatisfy { $0.value == ($0.key % 10 != 3) })
    }

    @Test func soundAloneIsToldOfRarelyEnough() {
        var receiver = TransportFeedbackReceiver()
        var messages = 0
        // 100 bytes every 20 ms: 40 kbit/s, of which a message of 100 bytes four times a second is 8 %.
        for step in 0..<1_000 {
            receiver.handle(
                sequenceNumber: UInt16(step), mediaSSRC: 1, byteCount: 100, now: at(step * 20))
            while receiver.pollFeedback(senderSSRC: 1, now: at(step * 20)) != nil { messages += 1 }
        }
        // After the first second, in which nothing is known of the rate.
        #expect((70...100).contains(messages), "\(messages)")
    }

    @Test func aLatePacketIsToldOfAgainWithWhatFollowedIt() throws {
        var receiver = TransportFeedbackReceiver()
        for number in [10, 12, 13] as [UInt16] {
            receiver.handle(sequenceNumber: number, mediaSSRC: 1, byteCount: 1_200, now: at(0))
        }
        let firstMessage = receiver.pollFeedback(senderSSRC: 1, now: at(60))
        let first = try #require(firstMessage)
        #expect(first.packets[1] == .notReceived)
        receiver.handle(sequenceNumber: 11, mediaSSRC: 1, byteCount: 1_200, now: at(70))
        let deadline = try #require(receiver.nextDeadline)
        #expect(deadline == at(160))
        let early = receiver.pollFeedback(senderSSRC: 1, now: at(159))
        #expect(early == nil)
        let secondMessage = receiver.pollFeedback(senderSSRC: 1, now: deadline)
        let second = try #require(secondMessage)
        #expect(second.baseSequenceNumber == 11)
        #expect(second.packets.count == 3)
        #expect(second.packets[1] == .received(delta: -280))
        let third = receiver.pollFeedback(senderSSRC: 1, now: at(10_000))
        #expect(third == nil)
        #expect(receiver.nextDeadline == nil)
    }

    @Test func repeatedPacketsAndLongSilencesKeepTheMessagesSmall() {
        var receiver = TransportFeedbackReceiver()
        receiver.handle(sequenceNumber: 1, mediaSSRC: 1, byteCount: 1_200, now: at(0))
        receiver.handle(sequenceNumber: 1, mediaSSRC: 1, byteCount: 1_200, now: at(1))
        receiver.handle(sequenceNumber: 2, mediaSSRC: 1, byteCount: 1_200, now: at(9_000))
        var counts: [Int] = []
        while let message = receiver.pollFeedback(senderSSRC: 1, now: at(9_000)) {
            counts.append(message.packets.count)
        }
        // Longer than a delta can say: two messages.
        #expect(counts == [1, 1])
        // A jump over a third of the numbers is not reported as loss.
        receiver.handle(sequenceNumber: 22_000, mediaSSRC: 1, byteCount: 1_200, now: at(9_200))
        while let message = receiver.pollFeedback(senderSSRC: 1, now: at(9_300)) {
            counts.append(message.packets.count)
        }
        #expect(counts == [1, 1, 1])
    }

    @Test(arguments: [7, 8, 9] as [UInt64]) func anyNumbersAtAnyTimeGiveMessagesThatCanBeWritten(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var receiver = TransportFeedbackReceiver()
        var now = at(0)
        var number: UInt16 = 0
        var messages = 0
        for _ in 0..<20_000 {
            number = generator.chance(percent: 2) ? UInt16(truncatingIfNeeded: generator.next()) : number &+ 1
            receiver.handle(sequenceNumber: number, mediaSSRC: 1, byteCount: 1_200, now: now)
            now = now + .microseconds(Int64(generator.number(below: generator.chance(percent: 1) ? 9_000_000 : 900)))
            while let message = receiver.pollFeedback(senderSSRC: 1, now: now) {
                messages += 1
                #expect(try bytes(message).count <= 1_200)
            }
            if let deadline = receiver.nextDeadline, deadline <= now { Issue.record("a deadline stays in the past") }
        }
        #expect(messages > 100)
    }

    // MARK: The others

    @Test func congestionControlFeedbackIsReadAsWritten() throws {
        let message = CongestionControlFeedback(
            senderSSRC: 7,
            blocks: [
                .init(
                    ssrc: 1, beginSequenceNumber: 65_535,
                    packets: [.init(ecn: 3, timeOffset: 0x1FFD), nil, .init(ecn: 0, timeOffset: 0x1FFF)]),
                .init(ssrc: 2, beginSequenceNumber: 0, packets: []),
                .init(ssrc: 3, beginSequenceNumber: 9, packets: [nil, .init(ecn: 1, timeOffset: 512)]),
            ], timestamp: 0x0102_0304)
        #expect(try roundTrip(message) == .congestionControlFeedback(message))
        #expect(message.blocks[0].packets[2]?.age == nil)
        #expect(message.blocks[2].packets[1]?.age == .milliseconds(500))
    }

    @Test("RFC 8888 §3.1: report blocks beyond the datagram are skipped")
    func congestionControlFeedbackBeyondTheDatagramIsSkipped() throws {
        let skipped = RTCPPacket.other(type: .transportFeedback, format: 11)
        for count in [1, 2, 3, 100, 0x4001, 0xFFFF] {
            let bytes: [UInt8] =
                [0x8B, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, UInt8(count >> 8), UInt8(count & 0xFF)] + [0, 0, 0, 9]
            #expect(try rtcpPackets(bytes) == [skipped])
        }
        #expect(throws: RTPError.self) {
            try bytes(
                CongestionControlFeedback(
                    senderSSRC: 1,
                    blocks: [
                        .init(ssrc: 1, beginSequenceNumber: 0, packets: Array(repeating: nil, count: 0x4001))
                    ], timestamp: 0))
        }
    }

    @Test func bitrateRequestsAndNotificationsAreReadAsWritten() throws {
        for kind in [TemporaryMaximumBitrate.Kind.request, .notification] {
            let message = TemporaryMaximumBitrate(
                kind, senderSSRC: 3,
                entries: [
                    .init(ssrc: 1, bitrate: .bitsPerSecond(0x1_FFFF << 7), overhead: 511),
                    .init(ssrc: 2, bitrate: .bitsPerSecond(0), overhead: 0),
                ])
            #expect(try roundTrip(message) == .temporaryMaximumBitrate(message))
            #expect(try bytes(message)[0] == 0x80 | kind.rawValue)
        }
        let rounded = TemporaryMaximumBitrate(
            .request, senderSSRC: 1, entries: [.init(ssrc: 1, bitrate: .bitsPerSecond(1_000_001), overhead: 40)])
        guard case .temporaryMaximumBitrate(let read)? = try roundTrip(rounded) else {
            Issue.record("not read")
            return
        }
        #expect((999_990...1_000_001).contains(read.entries[0].bitrate.bitsPerSecond))
        // An exponent beyond all integers.
        let huge: [UInt8] = [0x83, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF]
        guard case .temporaryMaximumBitrate(let largest)? = try rtcpPackets(huge).first else {
            Issue.record("not read")
            return
        }
        #expect(largest.entries[0].bitrate == .bitsPerSecond(.max))
    }

    @Test func extendedReportsAreReadAsWrittenAndOtherBlocksSkipped() throws {
        let report = ExtendedReport(
            ssrc: 5, receiverReferenceTime: NTPTimestamp(rawValue: 0x0123_4567_89AB_CDEF),
            delays: [
                .init(ssrc: 1, lastReceiverReport: 2, delaySinceLastReceiverReport: 3),
                .init(ssrc: 4, lastReceiverReport: 5, delaySinceLastReceiverReport: 6),
            ])
        #expect(try roundTrip(report) == .extendedReport(report))
        // A statistics summary (type 6) in front, and a block that runs over the end behind it.
        let other: [UInt8] = [0x80, 207, 0, 4, 0, 0, 0, 5, 6, 0, 0, 1, 9, 9, 9, 9, 4, 0, 0, 0]
        #expect(try rtcpPackets(other) == [.extendedReport(ExtendedReport(ssrc: 5))])
        let broken: [UInt8] = [0x80, 207, 0, 2, 0, 0, 0, 5, 4, 0, 0, 2]
        #expect(try rtcpPackets(broken) == [.other(type: .extendedReport, format: 0)])
    }

    @Test func sliceAndReferencePictureIndicationsAreSkippedByTheirLength() throws {
        let bytes: [UInt8] =
            [0x82, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4]  // SLI
            + [0x83, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 16, 96, 1, 2, 3, 4, 0, 0]  // RPSI
            + [0x81, 206, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1]  // PLI
        #expect(
            try rtcpPackets(bytes) == [
                .other(type: .payloadSpecificFeedback, format: 2), .other(type: .payloadSpecificFeedback, format: 3),
                .pictureLossIndication(.init(senderSSRC: 2, mediaSSRC: 1)),
            ])
    }
}
