import EmisoraCore

/// The header extension of a stream's packets: the elements that all have in common, encoded once, and the ids of those
/// that differ from packet to packet.
///
/// ```swift
/// let block = try HeaderExtensionBlock([(id: 1, value: Array("0".utf8))], ids: ids)
/// var values = HeaderExtensionValues()
/// values.transportSequenceNumber = number
/// try header.write(into: &buffer, extensions: block, values: values)
/// ```
package struct HeaderExtensionBlock: Equatable, Sendable {
    /// 0xBEDE for the one-byte form, 0x1000 for the two-byte form.
    package let profile: UInt16
    /// The common elements, not padded.
    package let bytes: [UInt8]
    /// Of the elements that ``HeaderExtensionValues`` brings.
    package let ids: HeaderExtensionIDs

    /// Bytes the block takes in a packet that has no values of its own, its four bytes of head included.
    package var byteCount: Int { 4 + (bytes.count + 3) / 4 * 4 }

    /// Encodes elements in the one-byte form if all ids (1…14) and lengths (1…16) allow it, else in the two-byte form,
    /// which the peer must have accepted for every stream (`extmap-allow-mixed`) or by using an id above 14 itself.
    package init(
        _ elements: [(id: UInt8, value: [UInt8])], ids: HeaderExtensionIDs = HeaderExtensionIDs()
    ) throws(RTPError) {
        guard elements.allSatisfy({ $0.id != 0 && $0.value.count <= 255 }) else {
            throw .valueOutOfRange(field: "header extension id or length")
        }
        let isOneByteForm =
            elements.allSatisfy { $0.id < 15 && (1...16).contains($0.value.count) } && ids.fitOneByteForm
        var bytes: [UInt8] = []
        for (id, value) in elements {
            if isOneByteForm {
                bytes.append(id << 4 | UInt8(value.count - 1))
            } else {
                bytes += [id, UInt8(value.count)]
            }
            bytes += value
        }
        // Room for all of a packet's own values, 63 bytes at most, stays within the 16 bits of the length.
        guard bytes.count <= 0xFFFF else { throw .valueOutOfRange(field: "header extension length") }
        profile = isOneByteForm ? 0xBEDE : 0x1000
        self.bytes = bytes
        self.ids = ids
    }

    /// A block that carries only the media's identification, `urn:ietf:params:rtp-hdrext:sdes:mid` (RFC 9143 §15).
    package init(midExtensionID id: UInt8, mid: String) throws(RTPError) {
        try self.init([(id, Array(mid.utf8))])
    }

    @_lifetime(writer: copy writer)
    func write(to writer: inout ByteWriter, values: HeaderExtensionValues) throws(ByteError) {
        try writer.writeInteger(profile)
        let lengthOffset = writer.count
        try writer.writeInteger(UInt16(0))
        let start = writer.count
        try writer.writeBytes(bytes.span.bytes)
        try values.write(to: &writer, ids: ids, isOneByteForm: profile == 0xBEDE)
        try writer.writeZeros((4 - (writer.count - start) % 4) % 4)
        try writer.patchInteger(UInt16(truncatingIfNeeded: (writer.count - start) / 4), at: lengthOffset)
    }
}
