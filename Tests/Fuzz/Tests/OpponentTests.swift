import EmisoraCore
import EmisoraFuzz
import EmisoraRTP
import Glibc
import Testing

/// A peer that holds the keys and means harm: what it can make a connection send, keep, or work.
@Suite struct OpponentTests {
    private static func rtcp(
        _ body: (inout RTCPWriter) throws(RTPError) -> Void
    ) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1_400)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        var writer = RTCPWriter(&buffer, form: .reducedSize)
        try? body(&writer)
        let count = writer.byteCount
        return Array(bytes[..<count])
    }

    private static func picture(_ number: Int, isKeyFrame: Bool) throws -> PacketizedFrame {
        var payload = [UInt8](repeating: 7, count: 6_000)
        payload[0] = isKeyFrame ? 0x10 : 0x11
        return try VP8Packetizer.packetize(
            payload: payload, isKeyFrame: isKeyFrame, pictureID: UInt16(number), maxPayloadSize: 1_100)
    }

    /// The SSRC of the victim's pictures, from the report that it sends of itself.
    private static func sender() throws -> (opponent: Opponent, ssrc: UInt32) {
        let opponent = try #require(Opponent(attackingSender: true))
        var ssrc: UInt32?
        opponent.victim.packetTap = { packet, direction, _, _ in
            if direction == .sent, let header = try? RTPHeader(parsing: packet), header.payloadType == 96 {
                ssrc = ssrc ?? header.ssrc
            }
        }
        opponent.publish(try picture(0, isKeyFrame: true), isVideo: true)
        opponent.wait(.milliseconds(100))
        opponent.victim.packetTap = nil
        return (opponent, try #require(ssrc))
    }

    @Test func aFloodOfNACKsIsAnsweredWithinTheBudget() throws {
        let (opponent, ssrc) = try Self.sender()
        let before = opponent.totalSentByteCount
        var published = 0
        for number in 1...90 {
            opponent.publish(try Self.picture(number, isKeyFrame: false), isVideo: true)
            published += 6_000
            for start in 0..<20 {
                let numbers = (0..<1_000).map { UInt16(truncatingIfNeeded: start * 1_000 + $0 + number) }
                opponent.send(
                    Self.rtcp { writer throws(RTPError) in
                        try writer.write(
                            GenericNACK(senderSSRC: 9, mediaSSRC: ssrc, sequenceNumbers: numbers))
                    }, isSealed: true)
            }
            opponent.wait(.milliseconds(33))
        }
        // Half as much again as what was sent, and 64 kB to begin with; headers, reports and checks beside it.
        let sent = opponent.totalSentByteCount - before
        #expect(sent < published * 17 / 10 + 80_000, "\(sent) bytes for \(published) of pictures")
    }

    @Test func aDatagramOfKeyFrameRequestsIsOneRequest() throws {
        let (opponent, ssrc) = try Self.sender()
        let requests = Self.rtcp { writer throws(RTPError) in
            for _ in 0..<100 { try writer.write(PictureLossIndication(senderSSRC: 9, mediaSSRC: ssrc)) }
        }
        let before = opponent.eventCount
        opponent.send(requests, isSealed: true)
        #expect(opponent.eventCount - before == 1)
    }

    @Test func feedbackTellsOfNoMorePacketsThanOneMessageMay() throws {
        // Runs of 8191 packets in two bytes: fifty messages of 16384 packets in one datagram.
        let chunks: [UInt8] = [0x1F, 0xFF, 0x1F, 0xFF, 0x00, 0x02, 0, 0]
        let message: [UInt8] = [0x8F, 205, 0, 6] + [0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0x40, 0, 0, 0, 1, 0] + chunks
        let datagram = (0..<50).flatMap { _ in message }
        var reader = RTCPReader(datagram.span.bytes)
        var told = 0
        var messages = 0
        while let packet = try reader.next() {
            messages += 1
            if case .transportWideFeedback(let feedback) = packet { told += feedback.packets.count }
        }
        #expect(messages == 50 && told == 0x4000)
    }

    @Test(arguments: [false, true]) func candidatesAndOffersWithoutEndAreBounded(attackingSender: Bool) throws {
        let opponent = try #require(Opponent(attackingSender: attackingSender))
        for number in 0..<5_000 {
            opponent.trickle("candidate:\(number) 1 udp \(number) 192.0.2.\(number % 250) \(1_000 + number) typ host")
        }
        let before = opponent.totalSentByteCount
        opponent.wait(.seconds(30))
        // A hundred pairs, each checked seven times at the most, and what a connection says anyway.
        #expect(opponent.totalSentByteCount - before < 100 * 7 * 150 + 60_000)
        for number in 0..<300 { opponent.offerAgain(changing: number % 2 == 0 ? [] : [UInt8(number % 256), 0x31]) }
        opponent.wait(.seconds(1))
        #expect(opponent.victim.connectionState != .closed)
    }

    @Test func absurdLimitsNeitherStopNorTrap() throws {
        let (opponent, ssrc) = try Self.sender()
        for bitrate in [0, 1, Int.max] {
            for source in 0..<200 {
                opponent.send(
                    Self.rtcp { writer throws(RTPError) in
                        try writer.write(
                            TemporaryMaximumBitrate(
                                .request, senderSSRC: UInt32(source),
                                entries: [.init(ssrc: ssrc, bitrate: .bitsPerSecond(bitrate), overhead: 511)]))
                        try writer.write(
                            ReceiverEstimatedMaximumBitrate(
                                senderSSRC: UInt32(source), bitrate: .bitsPerSecond(bitrate), sources: [ssrc]))
                    }, isSealed: true)
            }
            opponent.wait(.milliseconds(200))
        }
        #expect(opponent.victim.sendDecision.targetBitrate.bitsPerSecond >= 30_000)
        opponent.send(
            Self.rtcp { writer throws(RTPError) in
                for first in 0..<8 { try writer.write(Goodbye(sources: (0..<31).map { UInt32(first * 31 + $0) })) }
            }, isSealed: true)
        #expect(opponent.victim.connectionState == .connected)
    }

    /// Memory of the whole process, as the kernel counts it.
    private static func residentByteCount() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        guard fgets(&text, 128, file) != nil else { return 0 }
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .split(separator: " ")
        return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Sources, sequence numbers, timestamps and reports all over the place, for a receiver and a sender.
    @Test(arguments: [false, true]) func whatAPeerCanMakeAConnectionKeepIsBounded(attackingSender: Bool) throws {
        let opponent = try #require(Opponent(attackingSender: attackingSender))
        var random = FuzzRandom(seed: 64)
        let mutator = FuzzMutator()
        var last: [UInt8] = []
        func attack(_ count: Int) {
            for round in 0..<count {
                let target: FuzzTarget = round % 3 == 0 ? .rtcp : .rtp
                var bytes = target.seed(using: &random)
                if round % 4 == 0 { bytes = mutator.mutate(bytes, other: last, using: &random) }
                // Sources without number, and packets as large as they come.
                if target == .rtp, bytes.count >= 12, round % 2 == 0 {
                    bytes.replaceSubrange(8..<12, with: random.bytes(4))
                    bytes += [UInt8](repeating: 9, count: 1_000)
                }
                last = bytes
                opponent.send(bytes, isSealed: true)
                if round % 50 == 0 { opponent.wait(.milliseconds(20)) }
            }
        }
        attack(4_000)
        let before = Self.residentByteCount()
        attack(8_000)
        let grown = Self.residentByteCount() - before
        print("opponent: a \(attackingSender ? "sender" : "receiver") grew by \(grown / 1_024) kB over 8000 packets")
        // Under a sanitizer it counts what is free, too: the address sanitizer keeps that for a while.
        if getenv("EMISORA_NO_TIMING") == nil { #expect(grown < 24 << 20) }
    }
}
