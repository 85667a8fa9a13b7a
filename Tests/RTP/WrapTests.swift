import EmisoraCore
import Testing

@testable import EmisoraRTP

/// Every number on the wire wraps, and a stream may begin at any of them.
@Suite struct WrapTests {
    /// One VP8 frame in one packet.
    private static func packet(
        _ index: Int, sequenceNumber: UInt16, timestamp: UInt32, descriptor: VP8PayloadDescriptor
    ) throws -> [UInt8] {
        let header = RTPHeader(
            marker: true, payloadType: 96, sequenceNumber: sequenceNumber, timestamp: timestamp, ssrc: 7)
        var descriptor = descriptor
        descriptor.startsPartition = true
        let bytes = descriptor.bytes
        // The first is a key frame.
        let payload = (0..<bytes.count).map { bytes[$0] } + [index == 0 ? 0 : 1, UInt8(truncatingIfNeeded: index), 9]
        return try #require(
            try written { buffer in
                var writer = ByteWriter(&buffer)
                try header.write(to: &writer, extensions: nil)
                try writer.writeBytes(payload.span.bytes)
                return writer.count
            })
    }

    /// Sends that many frames and expects each at once.
    private static func expectAll(
        _ count: Int, firstNumber: UInt16 = 100, firstTimestamp: UInt32 = 0,
        _ descriptor: (Int) -> VP8PayloadDescriptor = { _ in VP8PayloadDescriptor() },
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> RTPVideoReceiveStream {
        var stream = RTPVideoReceiveStream(receiverConfiguration(rtx: false))
        for index in 0..<count {
            let packet = try packet(
                index, sequenceNumber: firstNumber &+ UInt16(truncatingIfNeeded: index),
                timestamp: firstTimestamp &+ UInt32(index) &* 3_000, descriptor: descriptor(index))
            try stream.handle(packet, now: at(33 * index))
            let frame = stream.pollFrame(now: at(33 * index))
            #expect(
                frame?.payload[1] == UInt8(truncatingIfNeeded: index), "frame \(index)", sourceLocation: sourceLocation)
            let feedback = stream.pollFeedback(now: at(33 * index))
            #expect(feedback == nil, sourceLocation: sourceLocation)
        }
        return stream
    }

    @Test(
        "RFC 3550 §5.1: a stream may begin at any sequence number", arguments: [0, 1, 32_767, 32_768, 65_534, 65_535])
    func anyFirstNumber(first: UInt16) throws {
        var stream = try Self.expectAll(10, firstNumber: first)
        let block = stream.reportBlock(now: at(400))
        #expect(block?.cumulativeLost == 0)
        // Cycles in the upper half, the number in the lower one.
        #expect(block?.extendedHighestSequenceNumber == UInt32(first) + 9)
    }

    @Test("RFC 3550 A.1: sequence numbers and timestamps wrap without a frame missing")
    func numbersAndTimestampsWrap() throws {
        var stream = try Self.expectAll(300, firstNumber: 65_400, firstTimestamp: 0xFFFF_FFFF - 400_000)
        let block = stream.reportBlock(now: at(10_000))
        #expect(block?.extendedHighestSequenceNumber == 65_699)
        #expect(stream.statistics.packetsLost == 0 && stream.statistics.pliCount == 0)
        #expect(stream.statistics.jitter < 0.001)
    }

    @Test("RFC 7741 §4.2: picture numbers of both widths and TL0PICIDX wrap", arguments: [false, true])
    func pictureNumbersWrap(isLong: Bool) throws {
        let first = (isLong ? 0x7FFF : 0x7F) - 100
        _ = try Self.expectAll(300) { index in
            var descriptor = VP8PayloadDescriptor()
            descriptor.pictureID = .init(value: UInt16(first + index), isLong: isLong)
            descriptor.temporalLayer = .init(index: 0, isLayerSync: false)
            descriptor.baseLayerIndex = UInt8(truncatingIfNeeded: 200 + index)
            descriptor.keyIndex = UInt8(index % 32)
            return descriptor
        }
    }

    @Test("RFC 7587 §4.2: sound goes on when its numbers and timestamps wrap")
    func soundWraps() throws {
        var stream = RTPAudioReceiveStream(.init(payloadType: 111))
        var played: [UInt8] = []
        for index in 0..<300 {
            let header = RTPHeader(
                marker: false, payloadType: 111, sequenceNumber: 65_400 &+ UInt16(index),
                timestamp: 0xFFFF_FFFF &- 100_000 &+ UInt32(index) * 960, ssrc: 7)
            let bytes = try #require(
                try written { buffer in
                    var writer = ByteWriter(&buffer)
                    try header.write(to: &writer, extensions: nil)
                    try writer.writeBytes([0xFC, UInt8(truncatingIfNeeded: index), 1].span.bytes)
                    return writer.count
                })
            stream.handle(try RTPHeader(parsing: bytes.span.bytes), packet: bytes.span.bytes, now: at(20 * index))
            if case .packet(let payload, _) = stream.pop(now: at(20 * index)) { played.append(payload[1]) }
        }
        #expect(played == (0..<played.count).map { UInt8(truncatingIfNeeded: $0) })
        #expect(played.count >= 295)
        #expect(stream.statistics.packetsLost == 0 && stream.statistics.concealmentEvents == 0)
    }

    // MARK: What we send

    /// Else a receiver that misses the first packets, up to the wrap, takes the rollover counter for 0 and can
    /// authenticate nothing.
    @Test("RFC 3711 §3.3.1: streams begin in the lower half of the sequence numbers")
    func streamsBeginInTheLowerHalf() throws {
        var firsts: Set<UInt16> = []
        for seed in 1...100 as ClosedRange<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var stream = RTPSendStream(senderConfiguration(rtx: true), using: &generator)
            func numbers() throws -> [UInt16] {
                let frame = try VP8Packetizer.packetize(
                    payload: [0, 1, 2], isKeyFrame: true, pictureID: 1, maxPayloadSize: 1_100)
                stream.enqueue(frame, captureTime: at(0), now: at(0))
                let first = stream.pollAll(now: at(0))[0]
                let media = try RTPHeader(parsing: first.span.bytes)
                stream.handleNACK([media.sequenceNumber], now: at(20))
                let second = stream.pollAll(now: at(20))[0]
                let again = try RTPHeader(parsing: second.span.bytes)
                #expect(media.ssrc != again.ssrc)
                return [media.sequenceNumber, again.sequenceNumber]
            }
            firsts.formUnion(try numbers())
            stream.changeSSRC(to: 5, rtxSSRC: 6, using: &generator)
            firsts.formUnion(try numbers())
        }
        #expect(firsts.allSatisfy { $0 < 0x8000 })
        // Random all the same (RFC 3550 §5.1).
        #expect(firsts.count > 350)
    }

    @Test(
        "RFC 3550 §5.1: timestamps follow the clock through pauses of any length",
        arguments: [1, 8, 13, 14, 24, 100] as [Int64])
    func timestampsFollowTheClock(hours: Int64) throws {
        let pause = Duration.seconds(hours * 3_600)
        for (clockRate, isSound) in [(90_000, false), (48_000, true)] {
            var generator = SeededGenerator(seed: 5)
            var stream = RTPSendStream(.init(ssrc: 1, payloadType: 96, clockRate: clockRate), using: &generator)
            let frame =
                isSound
                ? try OpusPacketizer.packetize(payload: [0xFC, 1, 2, 3])
                : try VP8Packetizer.packetize(payload: [1, 1], isKeyFrame: false, pictureID: 1, maxPayloadSize: 1_100)
            var timestamps: [UInt32] = []
            for instant in [at(0), at(20), at(20) + pause, at(40) + pause] {
                stream.enqueue(frame, captureTime: instant, now: instant)
                timestamps += try stream.pollAll(now: instant).map { try RTPHeader(parsing: $0.span.bytes).timestamp }
            }
            let ticks = UInt32(truncatingIfNeeded: hours * 3_600 * Int64(clockRate))
            let step = UInt32(clockRate / 50)
            #expect(zip(timestamps, timestamps.dropFirst()).map { $1 &- $0 } == [step, ticks, step])
        }
    }

    @Test("RFC 3550 A.8: after a pause of eight hours pictures and sound go on at once")
    func receiversGoOnAfterEightHours() throws {
        let pause = 8 * 3_600_000
        var generator = SeededGenerator(seed: 8)
        var video = RTPSendStream(senderConfiguration(rtx: true), using: &generator)
        var viewer = RTPVideoReceiveStream(receiverConfiguration(rtx: true))
        for milliseconds in [0, 33, 66, 99, pause, pause + 33, pause + 66] {
            let payload = vp8Frame(isKeyFrame: milliseconds == 0, byteCount: 3_000, using: &generator)
            video.enqueue(
                try VP8Packetizer.packetize(
                    payload: payload, isKeyFrame: milliseconds == 0, pictureID: 0, maxPayloadSize: 1_100),
                captureTime: at(milliseconds), now: at(milliseconds))
            for packet in video.pollAll(now: at(milliseconds)) { try viewer.handle(packet, now: at(milliseconds + 10)) }
            let frame = viewer.pollFrame(now: at(milliseconds + 10))
            #expect(frame?.payload == payload)
            let feedback = viewer.pollFeedback(now: at(milliseconds + 10))
            #expect(feedback == nil)
        }
        #expect(viewer.statistics.jitter < 0.001)

        var sound = RTPSendStream(.init(ssrc: 3, payloadType: 111, clockRate: 48_000), using: &generator)
        var listener = RTPAudioReceiveStream(.init(payloadType: 111))
        var played: [Int] = []
        for start in [0, pause] {
            for milliseconds in stride(from: start, to: start + 400, by: 20) {
                sound.enqueue(
                    try OpusPacketizer.packetize(payload: [0xFC, 1, 2]), captureTime: at(milliseconds),
                    now: at(milliseconds))
                for packet in sound.pollAll(now: at(milliseconds)) {
                    listener.handle(
                        try RTPHeader(parsing: packet.span.bytes), packet: packet.span.bytes, now: at(milliseconds + 10)
                    )
                }
                if case .packet = listener.pop(now: at(milliseconds + 15)) { played.append(milliseconds) }
            }
            // The player goes on pulling into the silence.
            for extra in 1...10 { _ = listener.pop(now: at(start + 400 + 20 * extra)) }
        }
        #expect(played.count { $0 < pause } >= 17)
        #expect(played.count { $0 >= pause } >= 16)
        #expect(listener.statistics.packetsDiscarded == 0 && listener.statistics.jitter < 0.001)
    }

    @Test("RFC 3550 §6.4.1: the counters of sender reports wrap at 2^32 and go on")
    func countersOfSenderReportsWrap() {
        var counters = SenderCounters(packets: 0xFFFF_FFFE, octets: 0xFFFF_FFFF - 1_500)
        #expect(counters.wirePackets == 0xFFFF_FFFE && counters.wireOctets == 0xFFFF_FFFF - 1_500)
        for _ in 0..<3 { counters.count(octets: 1_000) }
        #expect(counters.packets == 0x1_0000_0001 && counters.octets == 0x1_0000_05DB)
        #expect(counters.wirePackets == 1 && counters.wireOctets == 1_499)
        #expect(!counters.isEmpty)
    }

    /// Both counters pass 2^32 under way; what else is in a report, and what its reader makes of it, knows nothing of that.
    @Test("RFC 3550 §6.4.1: a stream's sender reports count on modulo 2^32, and their reader goes on")
    func senderReportsOfAStreamWrap() throws {
        let wallClock = WallClock(unixNanosecondsAtZero: 1_700_000_000_000_000_000)
        var generator = SeededGenerator(seed: 32)
        var stream = RTPSendStream(senderConfiguration(rtx: false), using: &generator)
        let start = SenderCounters(packets: 1 << 32 - 8, octets: 1 << 32 - 12_000)
        stream.counters = start
        var viewer = RTPVideoReceiveStream(receiverConfiguration(rtx: false))
        var (packets, octets) = (UInt64(0), UInt64(0))
        var told: [(packets: UInt32, octets: UInt32)] = []
        for index in 0..<20 {
            let payload = vp8Frame(isKeyFrame: index == 0, byteCount: 1_500, using: &generator)
            stream.enqueue(
                try VP8Packetizer.packetize(
                    payload: payload, isKeyFrame: index == 0, pictureID: UInt16(index), maxPayloadSize: 1_100),
                captureTime: at(33 * index), now: at(33 * index))
            for packet in stream.pollAll(now: at(33 * index)) {
                packets += 1
                octets += UInt64(try RTPHeader(parsing: packet.span.bytes).payload.count)
                try viewer.handle(packet, now: at(33 * index + 10))
            }
            #expect(viewer.pollFrame(now: at(33 * index + 10))?.payload == payload)
            // As it comes out of the reader at the other end.
            let sent = try #require(stream.senderReport(wallClock: wallClock, now: at(33 * index)))
            let bytes = try written { buffer in
                var writer = RTCPWriter(&buffer, form: .reducedSize)
                try writer.write(sent)
                return writer.byteCount
            }
            guard case .senderReport(let report)? = try rtcpPackets(try #require(bytes)).first else {
                Issue.record("no sender report")
                continue
            }
            #expect(report.packetCount == UInt32((start.packets + packets) % 0x1_0000_0000))
            #expect(report.octetCount == UInt32((start.octets + octets) % 0x1_0000_0000))
            told.append((report.packetCount, report.octetCount))
            viewer.handle(.senderReport(report), now: at(33 * index + 10))
            let made = viewer.reportBlock(now: at(33 * index + 12))
            let block = try #require(made)
            #expect(block.lastSenderReport == wallClock.ntp(at: at(33 * index)).middle32)
            #expect(block.cumulativeLost == 0 && block.fractionLost == 0)
            stream.handle(block, wallClock: wallClock, now: at(33 * index + 22))
            let roundTrip = try #require(stream.roundTripTime)
            #expect((.milliseconds(19)...Duration.milliseconds(21)).contains(roundTrip))
        }
        // They did pass it, each at a time of its own.
        #expect(told.first.map { $0.packets > 1 << 31 && $0.octets > 1 << 31 } == true)
        #expect(told.last.map { $0.packets < 100 && $0.octets < 100_000 } == true)
        #expect(told.contains { ($0.packets < 100) != ($0.octets < 100_000) })
        #expect(stream.counters.packets == start.packets + packets && stream.counters.octets == start.octets + octets)
    }

    @Test("RFC 3550 §6.4.1: a receiver counts on after 2^32 numbers, and their sender sees no jump in what it reports")
    func extendedNumbersWrap() throws {
        var reception = ReceptionStatistics(ssrc: 7, clockRate: 90_000)
        let step = 2_999
        let count = (Int64(1) << 32) / Int64(step) + 20
        var number = Int64(0)
        for index in 0..<count {
            number = index * Int64(step)
            let arrival = reception.handle(
                sequenceNumber: UInt16(truncatingIfNeeded: number), timestamp: UInt32(truncatingIfNeeded: index),
                now: at(0))
            // The second is none in sequence, so that the count begins there.
            guard arrival == .inOrder else {
                Issue.record("\(number): \(arrival)")
                return
            }
            if index == 1 {
                _ = reception.handle(
                    sequenceNumber: UInt16(truncatingIfNeeded: number + 1), timestamp: 1, now: at(0))
            }
            guard index > count - 40 else { continue }
            let block = reception.reportBlock(senderClock: SenderClock(clockRate: 90_000), now: at(0))
            #expect(block.extendedHighestSequenceNumber == UInt32(truncatingIfNeeded: number))
            // Of each step one came, or two.
            #expect(index < count - 38 || (254...255).contains(block.fractionLost))
        }
        #expect(number > 1 << 32)
        #expect(reception.packetsExpected == number - Int64(step) + 1)
    }

    // MARK: Transport-wide numbers

    @Test(
        "draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1: feedback begins at any number and wraps",
        arguments: [0, 32_767, 32_768, 40_000, 65_000, 65_535] as [UInt16])
    func transportWideNumbersWrap(first: UInt16) throws {
        var receiver = TransportFeedbackReceiver()
        var told: [UInt16: Int] = [:]
        for index in 0..<1_000 {
            receiver.handle(
                sequenceNumber: first &+ UInt16(index), mediaSSRC: 7, byteCount: 1_200, now: at(5 * index))
            while let message = receiver.pollFeedback(senderSSRC: 1, now: at(5 * index)) {
                for (offset, status) in message.packets.enumerated() {
                    guard case .received = status else {
                        Issue.record("\(offset) after \(message.baseSequenceNumber): \(status)")
                        continue
                    }
                    told[message.baseSequenceNumber &+ UInt16(offset), default: 0] += 1
                }
            }
        }
        while let message = receiver.pollFeedback(senderSSRC: 1, now: at(6_000)) {
            for offset in message.packets.indices {
                told[message.baseSequenceNumber &+ UInt16(offset), default: 0] += 1
            }
        }
        #expect(told.count == 1_000 && told.values.allSatisfy { $0 == 1 })
        #expect(told.keys.allSatisfy { $0 &- first < 1_000 })
    }
}
