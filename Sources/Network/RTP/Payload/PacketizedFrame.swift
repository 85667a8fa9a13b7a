import EmisoraCore

/// An encoded frame cut into RTP payloads, once for all its receivers.
///
/// The frame's bytes are kept as the encoder made them; a packet is a range of them plus the few descriptor bytes that
/// go before it. Immutable, so that every subscriber's queue and retransmission history shares the one object.
package final class PacketizedFrame: Sendable {
    package struct Packet: Equatable, Sendable {
        /// The payload format's own bytes, written before the range.
        package let descriptor: DescriptorBytes
        /// The packet's part of the frame's bytes.
        package let range: Range<Int>
        /// The RTP marker bit.
        package let marker: Bool

        /// Bytes of RTP payload.
        package var byteCount: Int { descriptor.count + range.count }
    }

    /// The encoder's output.
    package let payload: [UInt8]
    package let packets: [Packet]
    package let isKeyFrame: Bool
    /// How long the frame lasts in RTP clock ticks where the payload says so (sound); `nil` for video.
    package let durationInTicks: UInt32?
    /// Of sound, for the packets' header extension; `nil` where it is not known.
    package let audioLevel: HeaderExtensionValues.AudioLevel?
    /// Of a picture: how receivers have to turn it.
    package let orientation: HeaderExtensionValues.VideoOrientation

    package init(
        payload: [UInt8], packets: [Packet], isKeyFrame: Bool, durationInTicks: UInt32? = nil,
        audioLevel: HeaderExtensionValues.AudioLevel? = nil,
        orientation: HeaderExtensionValues.VideoOrientation = .upright
    ) {
        // A range outside the frame would otherwise surface only when the packet is written.
        self.packets = packets.filter { $0.range.lowerBound >= 0 && $0.range.upperBound <= payload.count }
        self.payload = payload
        self.isKeyFrame = isKeyFrame
        self.durationInTicks = durationInTicks
        self.audioLevel = audioLevel
        self.orientation = orientation
    }

    /// Bytes of RTP payload of all packets together.
    package var byteCount: Int { packets.reduce(0) { $0 + $1.byteCount } }

    @_lifetime(writer: copy writer)
    func writePayload(of packet: Packet, to writer: inout ByteWriter) throws(ByteError) {
        try packet.descriptor.write(to: &writer)
        let payload = payload
        try writer.writeBytes(payload.span.bytes.extracting(packet.range))
    }
}

/// Up to eight bytes kept in place: a payload descriptor without an allocation.
package struct DescriptorBytes: Equatable, Sendable {
    /// The first byte is the most significant of the `count` low ones.
    private var bits: UInt64 = 0
    package private(set) var count = 0

    package static let empty = DescriptorBytes()

    package init() {}

    /// Adds a byte; what exceeds eight is not kept.
    mutating func append(_ byte: UInt8) {
        guard count < 8 else { return }
        bits = bits << 8 | UInt64(byte)
        count += 1
    }

    package subscript(index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: bits >> (8 * (count - 1 - index)))
    }

    @_lifetime(writer: copy writer)
    func write(to writer: inout ByteWriter) throws(ByteError) {
        for index in 0..<count { try writer.writeInteger(self[index]) }
    }
}
