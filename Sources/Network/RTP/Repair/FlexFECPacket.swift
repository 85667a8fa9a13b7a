import EmisoraCore

/// A repair packet of FlexFEC as browsers speak it (draft-ietf-payload-flexible-fec-scheme-03 §4.2, flexible mask, one
/// protected stream). RFC 8627 has another layout.
///
///     |0|0|P|X|  CC   |M| PT recovery |        length recovery        |
///     |                          TS recovery                          |
///     | SSRC count 1  |                   reserved                    |
///     |                        protected SSRC                         |
///     |            SN base            |k|          mask [0-14]        |
///     |k|                        mask [15-45]                         |   if the k before is 0
///     |k|                  mask [46-108], 63 bits                     |   likewise
///
/// `k` is set in the last of the mask's words.
package struct FlexFECPacket: Equatable, Sendable {
    /// How far apart the first and the last protected packet may be.
    package static let maximumDistance: UInt16 = 108

    package var ssrc: UInt32
    package var baseSequenceNumber: UInt16
    /// Which are protected, as distances from the lowest, ascending.
    package var distances: [UInt16]
    var parity: ProtectedBits

    init(ssrc: UInt32, baseSequenceNumber: UInt16, distances: [UInt16], parity: ProtectedBits) {
        self.ssrc = ssrc
        self.baseSequenceNumber = baseSequenceNumber
        self.distances = distances
        self.parity = parity
    }

    /// Reads the payload of a repair packet; `nil` where it is none, or is a retransmission or of the fixed form.
    package init?(parsing payload: RawSpan) {
        do throws(ByteError) {
            var reader = ByteReader(payload)
            parity = ProtectedBits()
            parity.flags = try reader.readInteger()
            guard parity.flags & 0xC000 == 0 else { return nil }
            parity.length = try reader.readInteger()
            parity.timestamp = try reader.readInteger()
            guard try reader.readInteger(UInt8.self) == 1 else { return nil }
            try reader.skip(3)
            ssrc = try reader.readInteger()
            baseSequenceNumber = try reader.readInteger()
            distances = []
            let first: UInt16 = try reader.readInteger()
            note(UInt64(first), bits: 15, from: 0)
            if first & 0x8000 == 0 {
                let second: UInt32 = try reader.readInteger()
                note(UInt64(second), bits: 31, from: 15)
                if second & 0x8000_0000 == 0 { note(try reader.readInteger(UInt64.self), bits: 63, from: 46) }
            }
            parity.body = [UInt8](copying: try reader.readBytes(reader.remaining))
        } catch {
            return nil
        }
        guard !distances.isEmpty else { return nil }
    }

    private mutating func note(_ word: UInt64, bits: UInt16, from start: UInt16) {
        for bit in 0..<bits where word & (1 << UInt64(bits - 1 - bit)) != 0 { distances.append(start + bit) }
    }

    /// The mask's word that begins with the distance `start`.
    private func word(bits: UInt16, from start: UInt16) -> UInt64 {
        distances.reduce(0) { word, distance in
            (start..<start + bits).contains(distance) ? word | 1 << UInt64(bits - 1 - (distance - start)) : word
        }
    }

    /// Writes the payload.
    @_lifetime(writer: copy writer)
    func write(to writer: inout ByteWriter) throws(ByteError) {
        try writer.writeInteger(parity.flags & 0x3FFF)
        try writer.writeInteger(parity.length)
        try writer.writeInteger(parity.timestamp)
        try writer.writeInteger(UInt32(1) << 24)
        try writer.writeInteger(ssrc)
        try writer.writeInteger(baseSequenceNumber)
        let last = distances.last ?? 0
        try writer.writeInteger(UInt16(truncatingIfNeeded: word(bits: 15, from: 0)) | (last < 15 ? 0x8000 : 0))
        if last >= 15 {
            let second = UInt32(truncatingIfNeeded: word(bits: 31, from: 15))
            try writer.writeInteger(second | (last < 46 ? 0x8000_0000 : 0))
            if last >= 46 { try writer.writeInteger(word(bits: 63, from: 46) | 1 << 63) }
        }
        try writer.writeBytes(parity.body.span.bytes)
    }
}
