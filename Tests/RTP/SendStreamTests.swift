import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct SendStreamTests {
    private let wallClock = WallClock(unixNanosecondsAtZero: 1_700_000_000_000_000_000)

    private func stream(rtx: Bool = true, seed: UInt64 = 1) -> RTPSendStream {
        var generator = SeededGenerator(seed: seed)
        return RTPSendStream(senderConfiguration(rtx: rtx), using: &generator)
    }

    private func frame(_ byteCount: Int = 3000, isKeyFrame: Bool = true) throws -> PacketizedFrame {
        var generator = SeededGenerator(seed: UInt64(byteCount))
        return try VP8Packetizer.packetize(
            payload: vp8Frame(isKeyFrame: isKeyFrame, byteCount: byteCount, using: &generator),
            isKeyFrame: isKeyFrame, pictureID: 1, maxPayloadSize: 1100)
    }

    private func header(_ packet: [UInt8]) throws -> RTPHeader { try RTPHeader(parsing: packet.span.bytes) }

    @Test("RFC 8834 §5.2.4: packets carry the MID") func aFrameGoesOutAsNumberedPacketsWithOneTimestampAndTheMID()
        throws
    {
        var generator = SeededGenerator(seed: 3)
        var configuration = senderConfiguration(rtx: true)
        configuration.extensions = try HeaderExtensionBlock(midExtensionID: 3, mid: "v")
        var stream = RTPSendStream(configuration, using: &generator)
        #expect(stream.enqueue(try frame(), captureTime: at(0), now: at(0)) == .queued)
        let packets = stream.pollAll(now: at(5))
        #expect(packets.count == 3)
        let headers = try packets.map(header)
        #expect(Set(headers.map(\.timestamp)).count == 1)
        #expect(headers.map(\.marker) == [false, false, true])
        #expect(headers.allSatisfy { $0.ssrc == 0x1111 && $0.payloadType == 96 })
        #expect(headers[1].sequenceNumber == headers[0].sequenceNumber &+ 1)
        for (packet, header) in zip(packets, headers) {
            #expect(HeaderExtensions(of: header, in: packet.span.bytes).text(of: 3) == "v")
        }
        let payload = try zip(packets, headers).flatMap { packet, header in
            let bytes = packet[header.payload]
            return bytes.dropFirst(try VP8PayloadDescriptor.parse(Array(bytes).span.bytes).byteCount)
        }
        #expect(payload == (try frame()).payload)

        let statistics = stream.statistics
        #expect(statistics.packetsSent == 3 && statistics.framesSent == 1 && statistics.keyFramesSent == 1)
        #expect(statistics.bytesSent == 3000 + 3 * 4)
        #expect(statistics.headerBytesSent == UInt64(packets.reduce(0) { $0 + $1.count }) - statistics.bytesSent)
        #expect(abs(statistics.totalPacketSendDelay - 0.015) < 1e-9)
    }

    @Test func eachPacketHasItsOwnValuesAndRetransmissionsHaveTheirs() throws {
        var generator = SeededGenerator(seed: 3)
        var configuration = senderConfiguration(rtx: true)
        configuration.extensions = try HeaderExtensionBlock([], ids: .everyID)
        configuration.wallClock = wallClock
        var stream = RTPSendStream(configuration, using: &generator)
        var lastSequenceNumber: UInt16 = 0
        func poll(_ choice: RTPSendStream.Choice, number: UInt16) throws -> HeaderExtensionValues? {
            var values = HeaderExtensionValues()
            values.transportSequenceNumber = number
            let packet = written { buffer -> Int? in
                let sent = stream.pollPacket(choice, values: values, into: &buffer, now: at(0))
                lastSequenceNumber = sent?.sequenceNumber ?? lastSequenceNumber
                return sent?.byteCount
            }
            return try packet.map { HeaderExtensionValues(of: try header($0), in: $0.span.bytes, ids: .everyID) }
        }
        stream.enqueue(try frame(), captureTime: at(-30), now: at(0))
        let sizes = stream.queuedByteCount
        let first = try #require(try poll(.media, number: 7))
        #expect(first.transportSequenceNumber == 7)
        #expect(first.absoluteCaptureTime?.timestamp == wallClock.ntp(at: at(-30)))
        #expect(stream.queuedByteCount < sizes)
        let second = try #require(try poll(.media, number: 8))
        #expect(second.transportSequenceNumber == 8 && second.absoluteCaptureTime == nil)
        #expect(try poll(.retransmission, number: 9) == nil)
        stream.handleNACK([lastSequenceNumber], now: at(0))
        #expect(stream.hasRetransmissions)
        #expect(try poll(.retransmission, number: 10)?.transportSequenceNumber == 10)
        #expect(stream.statistics.retransmittedPacketsSent == 1)
        // The frame's rest is still there.
        #expect(try poll(.media, number: 11) != nil)
        #expect(stream.queuedByteCount == 0 && !stream.hasPackets)
    }

    @Test func soundBearsItsLevel() throws {
        var generator = SeededGenerator(seed: 4)
        var configuration = RTPSendStream.Configuration(ssrc: 5, payloadType: 111, clockRate: 48_000)
        configuration.extensions = try HeaderExtensionBlock([], ids: .everyID)
        var stream = RTPSendStream(configuration, using: &generator)
        let level = HeaderExtensionValues.AudioLevel(hasVoice: true, level: 30)
        stream.enqueue(
            try OpusPacketizer.packetize(payload: [0xF8, 1, 2], audioLevel: level), captureTime: at(0), now: at(0))
        let packet = try #require(stream.pollAll(now: at(0)).first)
        #expect(HeaderExtensionValues(of: try header(packet), in: packet.span.bytes, ids: .everyID).audioLevel == level)
    }

    @Test func videoTimestampsDoNotDriftInADay() {
        let clock = RTPTimestampClock(rate: 90_000, offset: 77)
        // 29.97 frames a second: no frame's duration is a whole number of ticks or nanoseconds.
        for index in stride(from: Int64(0), to: 2_589_408, by: 997) {
            let nanoseconds = index * 1_001_000_000_000 / 30_000 / 1_000 * 1_000
            let exact = UInt32(truncatingIfNeeded: nanoseconds * 9 / 100_000)
            #expect(clock.timestamp(at: Instant(nanoseconds: nanoseconds)) == exact &+ 77)
        }
        #expect(clock.timestamp(at: Instant(nanoseconds: -1)) == 76)
        #expect(clock.ticks(in: .seconds(1)) == 90_000)
    }

    @Test func framesOfTheSameInstantStillDifferInTimestamp() throws {
        var stream = stream()
        for _ in 0..<2 { stream.enqueue(try frame(100), captureTime: at(0), now: at(0)) }
        let headers = try stream.pollAll(now: at(0)).map(header)
        #expect(headers[1].timestamp == headers[0].timestamp &+ 1)
    }

    @Test func soundGoesOnSampleForSampleDespiteJitterAndJumpsOverSilence() throws {
        var configuration = RTPSendStream.Configuration(ssrc: 1, payloadType: 111, clockRate: 48_000)
        configuration.historyPacketLimit = 64
        var generator = SeededGenerator(seed: 9)
        var stream = RTPSendStream(configuration, using: &generator)
        let opus = try OpusPacketizer.packetize(payload: [0xFC, 1, 2, 3])
        for milliseconds in [0, 23, 38, 61, 461, 480] {
            stream.enqueue(opus, captureTime: at(milliseconds), now: at(milliseconds))
        }
        let timestamps = try stream.pollAll(now: at(500)).map { try header($0).timestamp }
        #expect(zip(timestamps, timestamps.dropFirst()).map { $1 &- $0 } == [960, 960, 960, 960 * 20, 960])
    }

    @Test("RFC 4588 §4: a retransmission has numbers of its own, the original number first and the original timestamp")
    func retransmissionsGoFirstByRTXWithTheOriginalNumber() throws {
        var stream = stream()
        stream.enqueue(try frame(), captureTime: at(0), now: at(0))
        let packets = stream.pollAll(now: at(0))
        let lost = try header(packets[1])
        stream.enqueue(try frame(500, isKeyFrame: false), captureTime: at(33), now: at(33))
        stream.handleNACK([lost.sequenceNumber], now: at(34))
        let next = stream.pollAll(now: at(34))
        #expect(next.count == 2)
        let rtx = try header(next[0])
        #expect(rtx.ssrc == 0x2222 && rtx.payloadType == 97 && rtx.timestamp == lost.timestamp)
        let retransmission = next[0]
        let parsed = RTXPacket.original(of: rtx, in: retransmission.span.bytes)
        let original = try #require(parsed)
        #expect(original.sequenceNumber == lost.sequenceNumber)
        #expect(next[0][original.payload] == packets[1][lost.payload])
        #expect(try header(next[1]).ssrc == 0x1111)
        #expect(stream.statistics.retransmittedPacketsSent == 1 && stream.statistics.nackCount == 1)
        // Retransmissions by RTX are not of the media SSRC.
        #expect(stream.senderReport(wallClock: wallClock, now: at(40))?.packetCount == 4)
    }

    @Test func withoutRTXThePacketItselfGoesOutAgain() throws {
        var stream = stream(rtx: false)
        stream.enqueue(try frame(), captureTime: at(0), now: at(0))
        let packets = stream.pollAll(now: at(0))
        stream.handleNACK([try header(packets[2]).sequenceNumber], now: at(20))
        #expect(stream.pollAll(now: at(20)) == [packets[2]])
    }

    /// SRTP seals one packet for each number: another one under it would not go out (RFC 3711 §9.1).
    @Test func withoutRTXThePacketGoesOutAgainWithTheValuesThatItHad() throws {
        var ids = HeaderExtensionIDs()
        ids.transportSequenceNumber = 3
        ids.absoluteCaptureTime = 5
        var configuration = RTPSendStream.Configuration(ssrc: 0x1111, payloadType: 96, clockRate: 90_000)
        configuration.extensions = try HeaderExtensionBlock([], ids: ids)
        configuration.wallClock = wallClock
        var generator = SeededGenerator(seed: 5)
        var stream = RTPSendStream(configuration, using: &generator)
        stream.enqueue(try frame(), captureTime: at(0), now: at(0))
        func poll(_ number: UInt16, at milliseconds: Int) -> (bytes: [UInt8], packet: RTPSendStream.SentPacket)? {
            var values = HeaderExtensionValues()
            values.transportSequenceNumber = number
            var sent: RTPSendStream.SentPacket?
            let bytes = written {
                sent = stream.pollPacket(values: values, into: &$0, now: at(milliseconds))
                return sent?.byteCount
            }
            return sent.flatMap { sent in bytes.map { ($0, sent) } }
        }
        let first = try #require(poll(100, at: 0))
        #expect(!first.packet.isRepetition)
        stream.handleNACK([first.packet.sequenceNumber], now: at(20))
        let second = try #require(poll(500, at: 20))
        #expect(second.bytes == first.bytes)
        #expect(second.packet.isRepetition)
    }

    @Test func aPacketThatWaitsToBeSentAgainIsNotQueuedTwice() throws {
        var stream = stream()
        stream.enqueue(try frame(100), captureTime: at(0), now: at(0))
        let number = try header(stream.pollAll(now: at(0))[0]).sequenceNumber
        for milliseconds in stride(from: 20, to: 200, by: 20) { stream.handleNACK([number], now: at(milliseconds)) }
        #expect(stream.pollAll(now: at(200)).count == 1)
        stream.handleNACK([number], now: at(220))
        #expect(stream.pollAll(now: at(220)).count == 1)
    }

    @Test func aPacketIsNotSentAgainTwiceWithinARoundTrip() throws {
        var stream = stream()
        stream.enqueue(try frame(100), captureTime: at(0), now: at(0))
        let number = try header(stream.pollAll(now: at(0))[0]).sequenceNumber
        func resent(at milliseconds: Int) -> Int {
            stream.handleNACK([number, number], now: at(milliseconds))
            return stream.pollAll(now: at(milliseconds)).count
        }
        #expect([1, 5, 10, 11, 20, 21].map(resent) == [1, 0, 0, 1, 0, 1])
        // With a round trip of 100 ms only a NACK that can be about the repeat counts.
        let sent = wallClock.ntp(at: at(30)).middle32
        stream.handle(ReportBlock(ssrc: 0x1111, lastSenderReport: sent), wallClock: wallClock, now: at(130))
        #expect([150, 200, 224, 226].map(resent) == [1, 0, 0, 1])
    }

    @Test func whatIsTooOldOrNeverSentIsNotSentAgain() throws {
        var stream = stream()
        stream.enqueue(try frame(100), captureTime: at(0), now: at(0))
        let number = try header(stream.pollAll(now: at(0))[0]).sequenceNumber
        stream.handleNACK([number &+ 1, number &- 1], now: at(20))
        #expect(stream.pollAll(now: at(20)) == [])
        stream.handleNACK([number], now: at(1001))
        #expect(stream.pollAll(now: at(1001)) == [])
    }

    @Test func theHistoryHoldsItsLimitAcrossTheWrap() throws {
        var configuration = senderConfiguration(rtx: false)
        configuration.historyPacketLimit = 100
        var generator = SeededGenerator(seed: 4)
        var stream = RTPSendStream(configuration, using: &generator)
        var numbers: [UInt16] = []
        for index in 0..<70_000 {
            stream.enqueue(try frame(10), captureTime: at(0), now: at(0))
            let packets = stream.pollAll(now: at(0))
            if index >= 69_850 { numbers.append(try header(packets[0]).sequenceNumber) }
        }
        stream.handleNACK(numbers, now: at(20))
        #expect(try stream.pollAll(now: at(20)).map { try header($0).sequenceNumber } == Array(numbers.suffix(100)))
    }

    @Test func aFloodOfNacksCannotMultiplyTheRate() throws {
        var stream = stream()
        var sent = 0
        var resent = 0
        for index in 0..<300 {
            stream.enqueue(try frame(5000), captureTime: at(33 * index), now: at(33 * index))
            let packets = stream.pollAll(now: at(33 * index))
            sent += packets.reduce(0) { $0 + $1.count }
            let newest = try header(packets[packets.count - 1]).sequenceNumber
            stream.handleNACK((0..<150).map { newest &- UInt16($0) }, now: at(33 * index + 20))
            resent += stream.pollAll(now: at(33 * index + 20)).reduce(0) { $0 + $1.count }
        }
        #expect(resent > sent / 3)
        #expect(resent < sent / 2 + 80_000)
    }

    @Test func aFullQueueRefusesAndDroppingKeepsABegunFrame() throws {
        var stream = stream()
        for index in 0..<64 {
            #expect(stream.enqueue(try frame(), captureTime: at(index), now: at(0)) == .queued)
        }
        #expect(stream.enqueue(try frame(), captureTime: at(70), now: at(0)) == .queueFull)
        _ = written { stream.pollPacket(into: &$0, now: at(1))?.byteCount }
        #expect(stream.dropQueuedFrames() == 63)
        #expect(stream.pollAll(now: at(1)).count == 2)
        #expect(!stream.hasPackets)
    }

    @Test func senderReportsTieBothClocksToTheSameInstant() throws {
        var stream = stream()
        #expect(stream.senderReport(wallClock: wallClock, now: at(0)) == nil)
        stream.enqueue(try frame(), captureTime: at(0), now: at(10))
        let first = try header(stream.pollAll(now: at(10))[0])
        let report = try #require(stream.senderReport(wallClock: wallClock, now: at(500)))
        #expect(report.ntpTimestamp == wallClock.ntp(at: at(500)))
        #expect(report.rtpTimestamp == first.timestamp &+ 45_000)
        #expect(report.packetCount == 3 && report.octetCount == 3012)
        // The receiver finds the capture time again.
        var clock = SenderClock(clockRate: 90_000)
        clock.handle(report, now: at(520))
        let captured = try #require(clock.ntpTimestamp(of: first.timestamp))
        let error = Int64(bitPattern: captured.rawValue &- wallClock.ntp(at: at(0)).rawValue)
        #expect(error.magnitude < 1 << 18)  // 61 µs
        let age = try #require(clock.age(of: first.timestamp, wallClock: wallClock, now: at(250)))
        #expect(abs(age.inMilliseconds - 250) < 0.1)
    }

    @Test func reportsGiveLossJitterAndRoundTrip() throws {
        var stream = stream()
        let sent = wallClock.ntp(at: at(100)).middle32
        let block = ReportBlock(
            ssrc: 0x1111, fractionLost: 64, cumulativeLost: -2, jitter: 900, lastSenderReport: sent,
            delaySinceLastSenderReport: 65_536 / 2)
        let asksForKeyFrame = stream.handle(
            .receiverReport(.init(ssrc: 9, reports: [block])), wallClock: wallClock, now: at(650))
        #expect(!asksForKeyFrame)
        let remote = stream.remoteStatistics
        #expect(remote.fractionLost == 0.25 && remote.packetsLost == -2 && remote.jitter == 0.01)
        #expect(abs(try #require(remote.roundTripTime) - 0.05) < 0.0001)
        // A report about someone else, and one with an impossible delay, change no round trip.
        for strange in [ReportBlock(ssrc: 5, lastSenderReport: sent), ReportBlock(ssrc: 0x1111, lastSenderReport: 1)] {
            stream.handle(strange, wallClock: wallClock, now: at(900))
        }
        #expect(stream.remoteStatistics.roundTripTimeMeasurements == 1)
    }

    @Test("RFC 5104 §4.3.1: a FIR of the same number is a repeat, and PLI and FIR count for their stream alone")
    func keyFramesAreAskedForByPLIAndNewFIRsForThisStreamOnly() {
        var stream = stream()
        func asks(_ packet: RTCPPacket) -> Bool { stream.handle(packet, wallClock: wallClock, now: at(0)) }
        func fir(_ number: UInt8, ssrc: UInt32 = 0x1111) -> RTCPPacket {
            .fullIntraRequest(.init(senderSSRC: 9, entries: [.init(ssrc: ssrc, sequenceNumber: number)]))
        }
        #expect(asks(.pictureLossIndication(.init(senderSSRC: 9, mediaSSRC: 0x1111))))
        #expect(!asks(.pictureLossIndication(.init(senderSSRC: 9, mediaSSRC: 0x3333))))
        #expect(
            [fir(1), fir(1), fir(2), fir(2), fir(3, ssrc: 5), fir(0)].map(asks) == [
                true, false, true, false, false, true,
            ])
        #expect(stream.statistics.pliCount == 1 && stream.statistics.firCount == 3)
    }

    @Test func aChangedSSRCBeginsAnew() throws {
        var stream = stream()
        stream.enqueue(try frame(), captureTime: at(0), now: at(0))
        let before = try stream.pollAll(now: at(0)).map(header)
        var generator = SeededGenerator(seed: 8)
        stream.changeSSRC(to: 0x5555, rtxSSRC: 0x6666, using: &generator)
        #expect(stream.senderReport(wallClock: wallClock, now: at(1)) == nil)
        stream.handleNACK(before.map(\.sequenceNumber), now: at(20))
        #expect(stream.pollAll(now: at(20)) == [])
        stream.enqueue(try frame(100), captureTime: at(33), now: at(33))
        #expect(try stream.pollAll(now: at(33)).map { try header($0).ssrc } == [0x5555])
        #expect(stream.senderReport(wallClock: wallClock, now: at(40))?.packetCount == 1)
        #expect(stream.statistics.packetsSent == 4)
    }
}
