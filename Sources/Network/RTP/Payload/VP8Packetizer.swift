import EmisoraCore

/// Cuts VP8 frames into RTP payloads (RFC 7741 §4).
package enum VP8Packetizer {
    /// Cuts one frame into packets of nearly equal size, none above `maxPayloadSize` bytes of RTP payload.
    ///
    /// Partitions are not separated: S is set with PID 0 on the first packet only, which is where a frame begins. Equal
    /// sizes spare the last packet from being a stub that is as dear to lose as a full one.
    package static func packetize(
        payload: [UInt8], isKeyFrame: Bool, pictureID: UInt16, maxPayloadSize: Int,
        orientation: HeaderExtensionValues.VideoOrientation = .upright
    ) throws(RTPError) -> PacketizedFrame {
        guard !payload.isEmpty else { throw .malformedPayload("VP8: an empty frame has no packets") }
        var descriptor = VP8PayloadDescriptor()
        descriptor.pictureID = .init(value: pictureID, isLong: true)
        let continuation = descriptor.bytes
        descriptor.startsPartition = true
        let start = descriptor.bytes
        let room = maxPayloadSize - start.count
        guard room > 0 else { throw .valueOutOfRange(field: "maxPayloadSize") }

        let count = (payload.count + room - 1) / room
        let (size, longer) = payload.count.quotientAndRemainder(dividingBy: count)
        var packets: [PacketizedFrame.Packet] = []
        packets.reserveCapacity(count)
        var offset = 0
        for index in 0..<count {
            let end = offset + size + (index < longer ? 1 : 0)
            packets.append(
                .init(
                    descriptor: index == 0 ? start : continuation, range: offset..<end,
                    marker: index == count - 1))
            offset = end
        }
        return PacketizedFrame(payload: payload, packets: packets, isKeyFrame: isKeyFrame, orientation: orientation)
    }
}

/// The 15-bit picture numbers of one encoding: one more for each frame, 0 after 32767 (RFC 7741 §4.2).
package struct VP8PictureIDSequence: Equatable, Sendable {
    private var upcoming: UInt16

    /// Starts at a number that should be random.
    package init(startingAt first: UInt16) {
        upcoming = first & 0x7FFF
    }

    package mutating func next() -> UInt16 {
        defer { upcoming = (upcoming &+ 1) & 0x7FFF }
        return upcoming
    }
}

/// The start of a VP8 frame (RFC 6386 §9.1): enough to tell a key frame and its size.
package struct VP8FrameHeader: Equatable, Sendable {
    package var isKeyFrame: Bool
    /// In pixels; key frames only.
    package var width: Int?
    package var height: Int?

    /// Reads the first bytes of a frame; `nil` if there are none or if a key frame lacks its start code.
    package init?(parsing frame: RawSpan) {
        guard frame.byteCount >= 3 else { return nil }
        isKeyFrame = frame.unsafeLoad(fromByteOffset: 0, as: UInt8.self) & 1 == 0
        guard isKeyFrame else { return }
        guard frame.byteCount >= 10 else { return nil }
        func byte(_ offset: Int) -> Int { Int(frame.unsafeLoad(fromByteOffset: offset, as: UInt8.self)) }
        guard byte(3) == 0x9D, byte(4) == 0x01, byte(5) == 0x2A else { return nil }
        width = (byte(6) | byte(7) << 8) & 0x3FFF
        height = (byte(8) | byte(9) << 8) & 0x3FFF
    }
}
