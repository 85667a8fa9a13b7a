import EmisoraCore

/// The Opus payload format (RFC 7587): one Opus packet is one RTP payload, on a clock of always 48 kHz (§4.1).
package enum OpusPacketizer {
    package static let clockRate = 48_000

    /// Wraps one Opus packet. `startsTalkspurt` sets the marker bit: the first packet after silence that was not sent
    /// (RFC 3551 §4.1).
    package static func packetize(
        payload: [UInt8], startsTalkspurt: Bool = false, audioLevel: HeaderExtensionValues.AudioLevel? = nil
    ) throws(RTPError) -> PacketizedFrame {
        guard let duration = OpusPacket.durationInTicks(of: payload.span.bytes) else {
            throw .malformedPayload("Opus: empty, or longer than 120 ms (RFC 6716 §3.4)")
        }
        return PacketizedFrame(
            payload: payload,
            packets: [.init(descriptor: .empty, range: 0..<payload.count, marker: startsTalkspurt)],
            isKeyFrame: true, durationInTicks: duration, audioLevel: audioLevel)
    }
}

/// What the head of an Opus packet tells (RFC 6716 §3.1, §3.2).
package enum OpusPacket {
    /// How long the packet sounds, in samples of 48 kHz; `nil` if it is empty or claims more than 120 ms.
    package static func durationInTicks(of packet: RawSpan) -> UInt32? {
        guard packet.byteCount >= 1 else { return nil }
        let toc = packet.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
        let configuration = Int(toc >> 3)
        let frame: UInt32
        switch configuration {
        case 0..<12: frame = [480, 960, 1920, 2880][configuration & 3]
        case 12..<16: frame = configuration & 1 == 0 ? 480 : 960
        default: frame = 120 << UInt32(configuration & 3)
        }
        let count: UInt32
        switch toc & 3 {
        case 0: count = 1
        case 1, 2: count = 2
        default:
            guard packet.byteCount >= 2 else { return nil }
            count = UInt32(packet.unsafeLoad(fromByteOffset: 1, as: UInt8.self) & 0x3F)
        }
        let total = frame * count
        return (1...5760).contains(total) ? total : nil
    }
}
