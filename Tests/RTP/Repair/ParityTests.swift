import EmisoraCore
import Testing

@testable import EmisoraRTP

/// ULPFEC as receiver, FlexFEC as sender; the other side of each is written here from the documents.
@Suite struct ParityTests {
    private func give(_ parity: [UInt8], number: Int64, to receiver: inout ULPFECReceiver) -> Bool {
        receiver.handleParity(parity.span.bytes, number: number)
    }

    private func take(_ packet: [UInt8], number: Int64, by receiver: inout ULPFECReceiver) {
        receiver.handleMedia(packet.span.bytes, number: number)
    }

    private func flexFEC(_ payload: [UInt8]) -> FlexFECPacket? { FlexFECPacket(parsing: payload.span.bytes) }

    private func bits(of packet: [UInt8], _ ids: HeaderExtensionIDs) -> ProtectedBits? {
        ProtectedBits(of: packet.span.bytes, ids: ids)
    }

    // MARK: ULPFEC

    /// A parity packet's payload over whole packets, as RFC 5109 §7.3 and §7.4 have it.
    static func ulpfec(_ packets: [[UInt8]], isLong: Bool = false) -> [UInt8] {
        let numbers = packets.map { UInt16($0[2]) << 8 | UInt16($0[3]) }
        let base = numbers[0]
        let length = packets.map { $0.count - 12 }.max() ?? 0
        var flags: [UInt8] = [0, 0]
        var timestamp: [UInt8] = [0, 0, 0, 0]
        var lengths = 0
        var body = [UInt8](repeating: 0, count: length)
        var mask = UInt64(0)
        for (packet, number) in zip(packets, numbers) {
            flags[0] ^= packet[0] & 0x3F
            flags[1] ^= packet[1]
            for index in 0..<4 { timestamp[index] ^= packet[4 + index] }
            lengths ^= packet.count - 12
            for index in 12..<packet.count { body[index - 12] ^= packet[index] }
            mask |= 1 << (47 - UInt64(number &- base))
        }
        let hasLongMask = isLong || mask & 0xFFFF_FFFF != 0
        flags[0] |= hasLongMask ? 0x40 : 0
        var payload = flags + [UInt8(base >> 8), UInt8(base & 0xFF)] + timestamp
        payload += [UInt8(lengths >> 8), UInt8(lengths & 0xFF), UInt8(length >> 8), UInt8(length & 0xFF)]
        for byte in 0..<(hasLongMask ? 6 : 2) { payload.append(UInt8(truncatingIfNeeded: mask >> (40 - 8 * byte))) }
        return payload + body
    }

    private func packets(_ count: Int, from start: UInt16, using generator: inout SeededGenerator) -> [[UInt8]] {
        (0..<count).map { index in
            rtpPacket(
                payloadType: 96, marker: index + 1 == count, sequenceNumber: start &+ UInt16(index),
                timestamp: 90_000, ssrc: 77, payload: generator.bytes(1 + generator.number(below: 200)))
        }
    }

    @Test(arguments: 1...48) func anyOneOfAGroupComesBackAsItWas(_ count: Int) {
        var generator = SeededGenerator(seed: UInt64(count))
        let start = UInt16(truncatingIfNeeded: 65_536 - count / 2)
        let media = packets(count, from: start, using: &generator)
        let parity = Self.ulpfec(media)
        for lost in 0..<count {
            var receiver = ULPFECReceiver(ssrc: 77)
            let first: Int64 = 1 << 16 | Int64(start)
            for (index, packet) in media.enumerated() where index != lost {
                take(packet, number: first + Int64(index), by: &receiver)
            }
            #expect(receiver.pollRecovered() == nil)
            #expect(give(parity, number: first + Int64(count), to: &receiver))
            let recovered = receiver.pollRecovered()
            #expect(recovered?.packet == media[lost])
            #expect(recovered?.number == first + Int64(lost))
            #expect(receiver.pollRecovered() == nil)
        }
    }

    @Test func twoLossesOfOneGroupWaitForAnotherGroupToMendOne() {
        var generator = SeededGenerator(seed: 3)
        let media = packets(6, from: 10, using: &generator)
        var receiver = ULPFECReceiver(ssrc: 77)
        for index in [0, 1, 4, 5] { take(media[index], number: 10 + Int64(index), by: &receiver) }
        #expect(give(Self.ulpfec(media), number: 16, to: &receiver))
        #expect(receiver.pollRecovered() == nil)
        #expect(give(Self.ulpfec([media[0], media[2]]), number: 17, to: &receiver))
        var recovered: [[UInt8]] = []
        while let one = receiver.pollRecovered() { recovered.append(one.packet) }
        #expect(recovered == [media[2], media[3]])
    }

    @Test func lateMediaPacketLetsTheParityPacketMendTheOther() {
        var generator = SeededGenerator(seed: 4)
        let media = packets(3, from: 10, using: &generator)
        var receiver = ULPFECReceiver(ssrc: 77)
        #expect(give(Self.ulpfec(media), number: 13, to: &receiver))
        take(media[2], number: 12, by: &receiver)
        #expect(receiver.pollRecovered() == nil)
        take(media[0], number: 10, by: &receiver)
        #expect(receiver.pollRecovered()?.packet == media[1])
    }

    @Test func parityThatContradictsItselfGivesNothing() {
        var generator = SeededGenerator(seed: 5)
        let media = packets(2, from: 10, using: &generator)
        var parity = Self.ulpfec(media)
        parity[8] ^= 0x40
        var receiver = ULPFECReceiver(ssrc: 77)
        take(media[0], number: 10, by: &receiver)
        _ = give(parity, number: 12, to: &receiver)
        #expect(receiver.pollRecovered() == nil)
    }

    @Test func anyBytesAreTakenWithoutHarmAndLittleIsKept() {
        var generator = SeededGenerator(seed: 6)
        var receiver = ULPFECReceiver(ssrc: 77)
        for number in 0..<20_000 {
            let bytes = generator.bytes(generator.number(below: 60))
            if generator.chance(percent: 50) {
                _ = give(bytes, number: Int64(number), to: &receiver)
            } else {
                take(bytes, number: Int64(number), by: &receiver)
            }
            while receiver.pollRecovered() != nil {}
        }
        #expect(receiver.keptCount <= 512 + 64)
    }

    /// libwebrtc's way: everything inside RED, parity packets in the stream's own numbers.
    @Test func streamInREDWithParityPacketsLosesNothingToSingleLosses() {
        var generator = SeededGenerator(seed: 8)
        var configuration = RTPVideoReceiveStream.Configuration(payloadType: 96)
        configuration.usesNack = false
        var redundancy = VideoRedundancy(redPayloadType: 116)
        redundancy.ulpfecPayloadType = 117
        configuration.redundancy = redundancy
        var stream = RTPVideoReceiveStream(configuration)
        var number = UInt16(65_500)
        var frames: [[UInt8]] = []
        var received: [[UInt8]] = []
        for index in 0..<60 {
            let frame = vp8Frame(isKeyFrame: index == 0, byteCount: 3000, using: &generator)
            frames.append(frame)
            let chunks = stride(from: 0, to: frame.count, by: 1000).map {
                Array(frame[$0..<min($0 + 1000, frame.count)])
            }
            var media: [[UInt8]] = []
            var wrapped: [[UInt8]] = []
            for (position, chunk) in chunks.enumerated() {
                let payload: [UInt8] = [position == 0 ? 0x90 : 0x80, 0x80, UInt8(index)] + chunk
                let isLast = position + 1 == chunks.count
                func make(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] {
                    rtpPacket(
                        payloadType: type, marker: isLast, sequenceNumber: number, timestamp: UInt32(index) * 3000,
                        ssrc: 9, payload: payload)
                }
                media.append(make(96, payload))
                wrapped.append(make(116, [96] + payload))
                number &+= 1
            }
            wrapped.append(
                rtpPacket(
                    payloadType: 116, sequenceNumber: number, timestamp: UInt32(index) * 3000, ssrc: 9,
                    payload: [117] + Self.ulpfec(media)))
            number &+= 1
            let lost = generator.number(below: wrapped.count)
            for (position, packet) in wrapped.enumerated() where position != lost || index == 0 {
                guard let header = try? RTPHeader(parsing: packet.span.bytes) else { continue }
                #expect(stream.accepts(payloadType: header.payloadType))
                stream.handle(header, packet: packet.span.bytes, now: at(33 * index + position))
            }
            while let frame = stream.pollFrame(now: at(33 * index + 9)) { received.append(frame.payload) }
        }
        #expect(received.count == frames.count)
        let isSame = received == frames
        #expect(isSame)
        #expect(stream.statistics.fecPacketsReceived > 40)
        #expect(stream.statistics.packetsDuplicated == 0)
    }

    // MARK: FlexFEC

    @Test(arguments: [1, 2, 14, 15, 16, 17, 46, 47, 48])
    func flexFECMaskIsReadAsItWasWritten(_ count: Int) throws {
        var generator = SeededGenerator(seed: UInt64(count))
        let distances = (0..<UInt16(count)).map { $0 * 2 }
        let packet = FlexFECPacket(
            ssrc: 5, baseSequenceNumber: 65_535, distances: distances,
            parity: try #require(bits(of: generator.bytes(40), HeaderExtensionIDs())))
        let bytes = try #require(
            written { buffer in
                var writer = ByteWriter(&buffer)
                try? packet.write(to: &writer)
                return writer.count
            })
        let last = Int(distances.last ?? 0)
        #expect(bytes.count == (last < 15 ? 20 : last < 46 ? 24 : 32) + 28)
        var read = try #require(flexFEC(bytes))
        // The version bits of the protected header are not carried.
        read.parity.flags |= packet.parity.flags & 0xC000
        #expect(read == packet)
    }

    @Test(arguments: [0.05, 0.25, 0.5, 1.0]) func lossesThatLieInDifferentGroupsAreMended(_ protection: Double) throws {
        var generator = SeededGenerator(seed: 11)
        var ids = HeaderExtensionIDs()
        ids.transportSequenceNumber = 3
        ids.absoluteSendTime = 4
        let block = try HeaderExtensionBlock([(1, Array("0".utf8))], ids: ids)
        var sender = FlexFECSender(
            FlexFECSender.Configuration(
                ssrc: 8, payloadType: 118, mediaSSRC: 77, extensions: block, extensionIDs: ids), using: &generator)
        sender.protection = protection
        var media: [[UInt8]] = []
        for index in 0..<20 {
            var values = HeaderExtensionValues()
            values.transportSequenceNumber = UInt16(truncatingIfNeeded: generator.next())
            let packet = rtpPacket(
                payloadType: 96, marker: index == 19, sequenceNumber: 65_530 &+ UInt16(index), timestamp: 900,
                ssrc: 77, payload: generator.bytes(20 + generator.number(below: 900)), extensions: block, values: values
            )
            media.append(packet)
            sender.handleMedia(packet.span.bytes)
        }
        sender.finishGroup()
        var repair: [FlexFECPacket] = []
        var numbers: [UInt16] = []
        while let bytes = written({ sender.pollPacket(into: &$0)?.byteCount }) {
            let header = try RTPHeader(parsing: bytes.span.bytes)
            #expect(header.ssrc == 8 && header.payloadType == 118 && header.timestamp == 900)
            numbers.append(header.sequenceNumber)
            repair.append(try #require(flexFEC(Array(bytes[header.payload]))))
        }
        #expect(repair.count == Int((20 * protection).rounded(.up)))
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        #expect(Set(repair.flatMap(\.distances)) == Set(0..<20))
        // As many losses in a row as there are repair packets.
        let start = generator.number(below: 20 - repair.count + 1)
        let lost = start..<start + repair.count
        for packet in repair {
            var sum = packet.parity
            var missing: [Int] = []
            for distance in packet.distances {
                if lost.contains(Int(distance)) {
                    missing.append(Int(distance))
                } else {
                    sum.combine(try #require(bits(of: media[Int(distance)], ids)))
                }
            }
            #expect(missing.count <= 1)
            guard let index = missing.first else { continue }
            let number = packet.baseSequenceNumber &+ UInt16(index)
            let mended = try #require(sum.packet(sequenceNumber: number, ssrc: packet.ssrc))
            let original = media[index]
            #expect(mended.count == original.count && mended[..<12] == original[..<12])
            // What belongs to one sending came back as zeros.
            let header = try RTPHeader(parsing: mended.span.bytes)
            let extensions = mended[header.extensionRange]
            #expect(extensions.starts(with: [0x10, UInt8(ascii: "0"), 0x31, 0, 0]))
            #expect(mended[header.payload] == original[header.payload])
        }
    }

    @Test func nothingIsKeptOrSentWithoutProtection() {
        var generator = SeededGenerator(seed: 1)
        var sender = FlexFECSender(
            FlexFECSender.Configuration(ssrc: 8, payloadType: 118, mediaSSRC: 77), using: &generator)
        for packet in packets(5, from: 1, using: &generator) { sender.handleMedia(packet.span.bytes) }
        sender.finishGroup()
        #expect(!sender.hasPackets)
    }

    @Test func anyBytesAreTakenForARepairPacketWithoutHarm() {
        var generator = SeededGenerator(seed: 12)
        for _ in 0..<20_000 {
            var bytes = generator.bytes(generator.number(below: 60))
            if bytes.count > 8 { bytes[8] = 1 }
            if let packet = flexFEC(bytes) {
                #expect(packet.distances.allSatisfy { $0 <= FlexFECPacket.maximumDistance })
            }
        }
    }
}
