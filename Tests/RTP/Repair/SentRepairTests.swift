import EmisoraCore
import Testing

@testable import EmisoraRTP

/// RED and FlexFEC as a sent stream makes them.
@Suite struct SentRepairTests {
    private func sound(seed: UInt64 = 1) -> RTPSendStream {
        var generator = SeededGenerator(seed: seed)
        var configuration = RTPSendStream.Configuration(ssrc: 5, payloadType: 111, clockRate: 48_000)
        configuration.redPayloadType = 112
        return RTPSendStream(configuration, using: &generator)
    }

    /// 20 ms of Opus that tells which it is.
    private func opus(_ index: Int, byteCount: Int = 60) throws -> PacketizedFrame {
        try OpusPacketizer.packetize(
            payload: [0x78, UInt8(index)] + [UInt8](repeating: 0, count: byteCount - 2), startsTalkspurt: index == 0)
    }

    private func blocks(_ packet: [UInt8]) throws -> [UInt8] {
        let header = try RTPHeader(parsing: packet.span.bytes)
        let payload = Array(packet[header.payload])
        guard header.payloadType == 112 else { return [payload[1]] }
        return REDPayload.blocks(of: payload.span.bytes).map { payload[$0.range.lowerBound + 1] }
    }

    @Test("RFC 2198 §3: sound carries the packets before it as soon as it shall, and goes back to plain packets")
    func soundIsPutIntoREDWhenThatIsWanted() throws {
        var stream = sound()
        var carried: [[UInt8]] = []
        for index in 0..<8 {
            stream.redundancyDepth = [0, 0, 1, 1, 2, 2, 0, 0][index]
            let shared = try opus(index)
            stream.enqueue(shared, captureTime: at(20 * index), now: at(20 * index))
            let packet = try #require(stream.pollAll(now: at(20 * index)).first)
            carried.append(try blocks(packet))
            // What all peers share stays as it was.
            #expect(shared.payload[1] == UInt8(index) && shared.payload.count == 60)
            let header = try RTPHeader(parsing: packet.span.bytes)
            #expect(header.marker == (index == 0))
            #expect(header.payloadType == (index < 2 || index > 5 ? 111 : 112))
        }
        #expect(carried == [[0], [1], [1, 2], [2, 3], [2, 3, 4], [3, 4, 5], [6], [7]])
        #expect(stream.statistics.fecPacketsSent == 6 && stream.statistics.fecBytesSent == 6 * 60)
        #expect(stream.statistics.packetsSent == 8)
        #expect(stream.redundantBitrate == 0)
    }

    @Test func theRateOfWhatIsCarriedAgainIsKnown() throws {
        var stream = sound()
        stream.redundancyDepth = 1
        for index in 0..<100 {
            stream.enqueue(try opus(index), captureTime: at(20 * index), now: at(20 * index))
            _ = stream.pollAll(now: at(20 * index))
        }
        // 60 bytes and four of head, 50 times a second.
        #expect((25_500...26_100).contains(stream.redundantBitrate), "\(stream.redundantBitrate)")
    }

    @Test("RFC 3711 §9.1: a repetition under the same number is the same packet, also when it was RED")
    func aRepetitionIsWhatWasSent() throws {
        var stream = sound()
        var sent: [[UInt8]] = []
        for index in 0..<3 {
            stream.redundancyDepth = index == 1 ? 1 : 0
            stream.enqueue(try opus(index), captureTime: at(20 * index), now: at(20 * index))
            sent += stream.pollAll(now: at(20 * index))
        }
        let numbers = try sent.map { try RTPHeader(parsing: $0.span.bytes).sequenceNumber }
        stream.handleNACK(numbers, now: at(100))
        #expect(stream.pollAll(now: at(100)) == sent)
    }

    @Test func forerunnersLeaveRoomForTheDatagram() throws {
        var stream = sound()
        stream.redundancyDepth = 2
        for index in 0..<6 {
            stream.enqueue(try opus(index, byteCount: 700), captureTime: at(20 * index), now: at(20 * index))
            let packet = try #require(stream.pollAll(now: at(20 * index)).first)
            #expect(packet.count <= 1_112)
            #expect(try blocks(packet) == [UInt8(index)])
        }
    }

    @Test func anyTwoLossesInARowOfSoundAreMendedByThePacketBehindThem() throws {
        var configuration = RTPAudioReceiveStream.Configuration(payloadType: 111)
        configuration.redPayloadType = 112
        var receiver = RTPAudioReceiveStream(configuration)
        var stream = sound()
        stream.redundancyDepth = 2
        for index in 0..<30 {
            stream.enqueue(try opus(index), captureTime: at(20 * index), now: at(20 * index))
            let packet = try #require(stream.pollAll(now: at(20 * index)).first)
            guard index % 5 < 3 else { continue }
            receiver.handle(
                try RTPHeader(parsing: packet.span.bytes), packet: packet.span.bytes, now: at(20 * index))
        }
        #expect(receiver.statistics.packetsRepaired == 10)
        #expect(receiver.statistics.packetsLost == 10)
    }

    // MARK: FlexFEC

    private func pictures(_ protection: Double, ids: HeaderExtensionIDs = HeaderExtensionIDs()) throws -> RTPSendStream
    {
        var generator = SeededGenerator(seed: 2)
        var configuration = senderConfiguration(rtx: true)
        configuration.flexfecSSRC = 0x3333
        configuration.flexfecPayloadType = 101
        configuration.extensions = try HeaderExtensionBlock([(1, Array("0".utf8))], ids: ids)
        var stream = RTPSendStream(configuration, using: &generator)
        stream.protection = protection
        return stream
    }

    private func frame(_ byteCount: Int, seed: UInt64 = 1) throws -> PacketizedFrame {
        var generator = SeededGenerator(seed: seed)
        return try VP8Packetizer.packetize(
            payload: vp8Frame(isKeyFrame: true, byteCount: byteCount, using: &generator), isKeyFrame: true,
            pictureID: 1, maxPayloadSize: 1_100)
    }

    @Test func parityPacketsFollowTheirPictureOnASourceOfTheirOwn() throws {
        var stream = try pictures(0.25)
        stream.enqueue(try frame(8_000), captureTime: at(0), now: at(0))
        stream.enqueue(try frame(8_000, seed: 2), captureTime: at(33), now: at(0))
        let headers = try stream.pollAll(now: at(0)).map { try RTPHeader(parsing: $0.span.bytes) }
        let sources = headers.map { $0.ssrc == 0x3333 }
        #expect(sources == ([Bool](repeating: false, count: 8) + [true, true]).repeated(2))
        let parity = headers.filter { $0.ssrc == 0x3333 }
        #expect(parity.allSatisfy { $0.payloadType == 101 && !$0.marker && $0.sequenceNumber < 0x8004 })
        #expect(parity.map(\.timestamp) == [headers[0], headers[0], headers[10], headers[10]].map(\.timestamp))
        #expect(stream.statistics.fecPacketsSent == 4 && stream.statistics.packetsSent == 16)
        #expect(!stream.hasPackets)
    }

    @Test(arguments: [0.05, 0.1, 0.25]) func theShareIsKeptAlsoWithPicturesOfOnePacket(protection: Double) throws {
        var stream = try pictures(protection)
        var parity = 0
        var covered: Set<UInt16> = []
        for index in 0..<200 {
            stream.enqueue(try frame(700, seed: UInt64(index)), captureTime: at(33 * index), now: at(33 * index))
            for packet in stream.pollAll(now: at(33 * index)) {
                let header = try RTPHeader(parsing: packet.span.bytes)
                guard header.ssrc == 0x3333 else { continue }
                parity += 1
                let payload = Array(packet[header.payload])
                guard let read = FlexFECPacket(parsing: payload.span.bytes) else {
                    Issue.record("no parity packet")
                    continue
                }
                for distance in read.distances { covered.insert(read.baseSequenceNumber &+ distance) }
                // What is protected is recent, else it would be asked for sooner.
                #expect(read.distances.count <= 4)
            }
        }
        #expect(parity == Int(200 * protection))
        // With four in a hundred milliseconds only the largest share protects all.
        #expect(protection < 0.25 || covered.count == 200)
    }

    @Test func parityPacketsAreNotOfRepetitions() throws {
        var stream = try pictures(1)
        stream.enqueue(try frame(3_000), captureTime: at(0), now: at(0))
        let sent = try stream.pollAll(now: at(0)).map { try RTPHeader(parsing: $0.span.bytes) }
        #expect(sent.count == 6)
        stream.handleNACK(sent.prefix(3).map(\.sequenceNumber), now: at(50))
        let again = try stream.pollAll(now: at(50)).map { try RTPHeader(parsing: $0.span.bytes) }
        #expect(again.map(\.ssrc) == [0x2222, 0x2222, 0x2222])
    }

    @Test func theyEndWithTheSourceThatTheyWereAnnouncedFor() throws {
        var generator = SeededGenerator(seed: 3)
        var stream = try pictures(1)
        stream.changeSSRC(to: 7, rtxSSRC: 8, using: &generator)
        stream.enqueue(try frame(3_000), captureTime: at(0), now: at(0))
        #expect(stream.pollAll(now: at(0)).count == 3)
        #expect(stream.protection == 0)
    }
}

extension Array {
    fileprivate func repeated(_ count: Int) -> [Element] { (0..<count).flatMap { _ in self } }
}
