import EmisoraCore
import Glibc
import Testing

@testable import EmisoraRTP

@Suite struct VP8Tests {
    private func parse(_ bytes: [UInt8]) throws -> (descriptor: VP8PayloadDescriptor, byteCount: Int) {
        try VP8PayloadDescriptor.parse(bytes.span.bytes)
    }

    @Test func theFullDescriptorIsRead() throws {
        // X N S PID=3; I L T K; 15-bit 0x1234; TL0PICIDX 9; TID 2 Y KEYIDX 17
        let (descriptor, count) = try parse([0xB3, 0xF0, 0x92, 0x34, 9, 0xB1, 0xFF])
        #expect(count == 6)
        #expect(descriptor.isNonReference && descriptor.startsPartition && !descriptor.startsFrame)
        #expect(descriptor.partitionIndex == 3)
        #expect(descriptor.pictureID == .init(value: 0x1234, isLong: true))
        #expect(descriptor.baseLayerIndex == 9)
        #expect(descriptor.temporalLayer == .init(index: 2, isLayerSync: true))
        #expect(descriptor.keyIndex == 17)
    }

    @Test("RFC 7741 §4.2: reserved bits are ignored and not written") func reservedBitsAreIgnoredAndNotWritten() throws
    {
        let (descriptor, count) = try parse([0x58, 0x01])
        #expect(count == 1)
        #expect(descriptor.startsFrame)
        #expect(descriptor.bytes.count == 1 && descriptor.bytes[0] == 0x10)
        #expect(try parse([0x90, 0x0F, 1]).byteCount == 2)
    }

    @Test func aShortPictureIDHasSevenBits() throws {
        let (descriptor, count) = try parse([0x80, 0x80, 0x7F, 0])
        #expect(count == 3)
        #expect(descriptor.pictureID == .init(value: 127, isLong: false))
    }

    @Test("RFC 7741 §4.2: L needs T") func baseLayerIndexNeedsATemporalLayer() {
        #expect(
            thrown { () throws(RTPError) in
                _ = try VP8PayloadDescriptor.parse(([0x80, 0x40, 1, 0] as [UInt8]).span.bytes)
            } != nil)
        var descriptor = VP8PayloadDescriptor()
        descriptor.baseLayerIndex = 3
        #expect(descriptor.bytes.count == 1)
    }

    @Test func everyDescriptorWrittenIsReadTheSame() throws {
        for bits in 0..<64 {
            var descriptor = VP8PayloadDescriptor()
            descriptor.isNonReference = bits & 1 != 0
            descriptor.startsPartition = bits & 2 != 0
            descriptor.partitionIndex = UInt8(bits % 8)
            if bits & 4 != 0 { descriptor.pictureID = .init(value: UInt16(bits * 400), isLong: bits & 8 != 0) }
            if bits & 16 != 0 {
                descriptor.temporalLayer = .init(index: UInt8(bits & 3), isLayerSync: bits & 1 != 0)
                if bits & 1 != 0 { descriptor.baseLayerIndex = UInt8(bits) }
            }
            if bits & 32 != 0 { descriptor.keyIndex = UInt8(bits & 31) }
            var bytes = (0..<descriptor.bytes.count).map { descriptor.bytes[$0] }
            bytes.append(0)
            let (read, count) = try parse(bytes)
            #expect(read == descriptor)
            #expect(count == bytes.count - 1)
        }
    }

    /// The length of a descriptor by the flags alone, `nil` where the RFC forbids it or a byte is missing.
    private static func expectedByteCount(_ bytes: UInt32, count: Int) -> Int? {
        guard count >= 1 else { return nil }
        if bytes & 0x80 == 0 { return count > 1 ? 1 : nil }
        guard count >= 2 else { return nil }
        let flags = bytes >> 8
        if flags & 0x40 != 0, flags & 0x20 == 0 { return nil }
        var length = 2
        if flags & 0x80 != 0 {
            guard count >= 3 else { return nil }
            length += bytes >> 16 & 0x80 != 0 ? 2 : 1
        }
        if flags & 0x40 != 0 { length += 1 }
        if flags & 0x30 != 0 { length += 1 }
        return length < count ? length : nil
    }

    /// Every three-byte prefix with payloads of 0 to 4 bytes. Unoptimised that takes more than a minute of processor time,
    /// so a debug build takes each first and second byte but only sixteen third ones, unless EMISORA_EXHAUSTIVE is set.
    @Test(arguments: 0..<8) func everyThreeBytePrefixIsParsedWithoutATrap(slice: UInt32) {
        var storage: [UInt8] = [0, 0, 0, 0]
        var wrong = 0
        #if DEBUG
            let isThinned = getenv("EMISORA_EXHAUSTIVE") == nil
        #else
            let isThinned = false
        #endif
        for count in 0...4 {
            let prefixes: UInt32 = count >= 3 ? 1 << 24 : 1 << UInt32(8 * count)
            var prefix = slice
            while prefix < prefixes {
                storage[0] = UInt8(truncatingIfNeeded: prefix)
                storage[1] = UInt8(truncatingIfNeeded: prefix >> 8)
                storage[2] = UInt8(truncatingIfNeeded: prefix >> 16)
                let parsed = try? VP8PayloadDescriptor.parse(storage.span.bytes.extracting(0..<count))
                if parsed?.byteCount != Self.expectedByteCount(prefix, count: count) { wrong += 1 }
                prefix += 8
                // The third byte goes in steps of 17, which takes in 0 and 255 and both values of the long-id bit.
                if isThinned, prefix & 0xFFF8 == 0, prefix >= 1 << 16 { prefix += 16 << 16 }
            }
        }
        #expect(wrong == 0)
    }

    @Test("RFC 7741 §4.2: S with PID 0 begins a frame, the marker ends it, and no packet holds two")
    func packetsAreBalancedAndCoverTheFrame() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let payload = vp8Frame(isKeyFrame: false, byteCount: 1 + generator.number(below: 9000), using: &generator)
            let room = 5 + generator.number(below: 1300)
            let frame = try VP8Packetizer.packetize(
                payload: payload, isKeyFrame: false, pictureID: 0x7FFF, maxPayloadSize: room)
            #expect(frame.payload == payload)
            #expect(frame.packets.first?.range.lowerBound == 0)
            #expect(frame.packets.last?.range.upperBound == payload.count)
            #expect(
                zip(frame.packets, frame.packets.dropFirst()).allSatisfy { $0.range.upperBound == $1.range.lowerBound })
            #expect(frame.packets.allSatisfy { $0.byteCount <= room })
            let sizes = frame.packets.map(\.range.count)
            #expect(sizes.max()! - sizes.min()! <= 1)
            #expect(frame.packets.count == (payload.count + room - 5) / (room - 4))
            #expect(frame.packets.map(\.marker) == Array(repeating: false, count: sizes.count - 1) + [true])
            for (index, packet) in frame.packets.enumerated() {
                let bytes = (0..<packet.descriptor.count).map { packet.descriptor[$0] } + [0]
                let descriptor = try parse(bytes).descriptor
                #expect(descriptor.startsPartition == (index == 0) && descriptor.partitionIndex == 0)
                #expect(descriptor.pictureID == .init(value: 0x7FFF, isLong: true))
            }
        }
    }

    @Test func anEmptyFrameAndNoRoomThrow() {
        for (payload, room) in [([], 1000), ([1], 4), ([1], -1)] as [([UInt8], Int)] {
            #expect(
                thrown { () throws(RTPError) in
                    _ = try VP8Packetizer.packetize(
                        payload: payload, isKeyFrame: false, pictureID: 0, maxPayloadSize: room)
                } != nil)
        }
    }

    @Test("RFC 7741 §4.2: picture numbers count up by one and wrap after 15 bits")
    func pictureNumbersWrapAfterFifteenBits() {
        var sequence = VP8PictureIDSequence(startingAt: 0xFFFE)
        #expect((0..<3).map { _ in sequence.next() } == [0x7FFE, 0x7FFF, 0])
    }

    @Test func keyFramesTellTheirSize() {
        let key: [UInt8] = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x42, 0xE0, 0x01]
        let header = VP8FrameHeader(parsing: key.span.bytes)
        #expect(header?.isKeyFrame == true && header?.width == 640 && header?.height == 480)
        #expect(VP8FrameHeader(parsing: ([0x11, 0, 0] as [UInt8]).span.bytes)?.isKeyFrame == false)
        for count in 0..<10 {
            let isRead = VP8FrameHeader(parsing: key.span.bytes.extracting(0..<count)) != nil
            #expect(!isRead)
        }
    }
}

@Suite struct OpusTests {
    @Test(
        arguments: [
            ([0x00], 480), ([0x08], 960), ([0x18], 2880), ([0x60], 480), ([0x68], 960), ([0x80], 120), ([0xFC], 960),
            ([0xFD], 1920), ([0xFF, 0x03], 2880), ([0x1B, 0x02], 5760),
        ] as [([UInt8], UInt32)])
    func theTableOfContentsTellsTheDuration(packet: [UInt8], ticks: UInt32) {
        #expect(OpusPacket.durationInTicks(of: packet.span.bytes) == ticks)
    }

    @Test func impossiblePacketsHaveNoDuration() {
        for packet: [UInt8] in [[], [0xFF], [0xFF, 0x00], [0xFF, 0x3F], [0x1B, 0x03]] {
            #expect(OpusPacket.durationInTicks(of: packet.span.bytes) == nil)
        }
    }

    @Test("RFC 7587 §4.2: one Opus packet is one RTP payload") func onePacketIsOnePayloadAndTheMarkerBeginsATalkspurt()
        throws
    {
        let frame = try OpusPacketizer.packetize(payload: [0xFC, 1, 2], startsTalkspurt: true)
        #expect(frame.packets.count == 1)
        #expect(frame.packets[0].range == 0..<3 && frame.packets[0].descriptor.count == 0 && frame.packets[0].marker)
        #expect(frame.durationInTicks == 960)
        #expect(try !OpusPacketizer.packetize(payload: [0xFC, 1, 2]).packets[0].marker)
    }
}
