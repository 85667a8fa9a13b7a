import EmisoraCore

/// The bytes before each VP8 payload (RFC 7741 §4.2).
///
///      0 1 2 3 4 5 6 7
///     |X|R|N|S|R| PID |   required
///     |I|L|T|K| RSV   |   if X
///     |M| PictureID   |   if I; 15 bits on two bytes if M
///     |   TL0PICIDX   |   if L
///     |TID|Y| KEYIDX  |   if T or K
package struct VP8PayloadDescriptor: Equatable, Sendable {
    package struct PictureID: Equatable, Sendable {
        package var value: UInt16
        /// 15 bits, else 7. The width may grow during a stream but never shrinks (§4.2).
        package var isLong: Bool

        package init(value: UInt16, isLong: Bool) {
            self.value = value & (isLong ? 0x7FFF : 0x7F)
            self.isLong = isLong
        }

        /// Whether this is the very next picture after `other`, whose width it wraps with.
        func follows(_ other: PictureID) -> Bool {
            value == (other.value &+ 1) & (isLong && other.isLong ? 0x7FFF : isLong ? 0xFFFF : 0x7F)
        }
    }

    package struct TemporalLayer: Equatable, Sendable {
        /// 0…3
        package var index: UInt8
        /// The frame depends on the base layer only.
        package var isLayerSync: Bool

        package init(index: UInt8, isLayerSync: Bool) {
            self.index = index
            self.isLayerSync = isLayerSync
        }
    }

    /// No other frame refers to this one (N).
    package var isNonReference = false
    /// The payload begins a VP8 partition (S).
    package var startsPartition = false
    /// The partition that the payload's first byte belongs to (PID), 0…7.
    package var partitionIndex: UInt8 = 0
    package var pictureID: PictureID?
    /// The running index of base-layer frames (TL0PICIDX); only with a temporal layer.
    package var baseLayerIndex: UInt8?
    package var temporalLayer: TemporalLayer?
    /// KEYIDX, 0…31.
    package var keyIndex: UInt8?

    package init() {}

    /// The packet begins a frame.
    package var startsFrame: Bool { startsPartition && partitionIndex == 0 }

    /// Reads a descriptor from the start of an RTP payload and answers its length. Reserved bits are ignored.
    package static func parse(
        _ payload: RawSpan
    ) throws(RTPError) -> (descriptor: VP8PayloadDescriptor, byteCount: Int) {
        var descriptor = VP8PayloadDescriptor()
        let flags: UInt8
        let byteCount: Int
        do throws(ByteError) {
            var reader = ByteReader(payload)
            let first: UInt8 = try reader.readInteger()
            descriptor.isNonReference = first & 0x20 != 0
            descriptor.startsPartition = first & 0x10 != 0
            descriptor.partitionIndex = first & 0x07
            flags = first & 0x80 != 0 ? try reader.readInteger() : 0
            if flags & 0x80 != 0 {
                let high: UInt8 = try reader.readInteger()
                if high & 0x80 != 0 {
                    let low: UInt8 = try reader.readInteger()
                    descriptor.pictureID = PictureID(value: UInt16(high) << 8 | UInt16(low), isLong: true)
                } else {
                    descriptor.pictureID = PictureID(value: UInt16(high), isLong: false)
                }
            }
            if flags & 0x40 != 0 { descriptor.baseLayerIndex = try reader.readInteger() }
            if flags & 0x30 != 0 {
                let layer: UInt8 = try reader.readInteger()
                if flags & 0x20 != 0 {
                    descriptor.temporalLayer = TemporalLayer(index: layer >> 6, isLayerSync: layer & 0x20 != 0)
                }
                if flags & 0x10 != 0 { descriptor.keyIndex = layer & 0x1F }
            }
            byteCount = reader.offset
        } catch {
            throw RTPError(error)
        }
        guard descriptor.baseLayerIndex == nil || descriptor.temporalLayer != nil else {
            throw .malformedPayload("VP8: L needs T (RFC 7741 §4.2)")
        }
        guard byteCount < payload.byteCount else { throw .malformedPayload("VP8: no payload after the descriptor") }
        return (descriptor, byteCount)
    }

    /// The descriptor's bytes, at most six. A base-layer index without a temporal layer is not written.
    package var bytes: DescriptorBytes {
        let writtenBaseLayerIndex = temporalLayer == nil ? nil : baseLayerIndex
        var flags: UInt8 = 0
        if pictureID != nil { flags |= 0x80 }
        if writtenBaseLayerIndex != nil { flags |= 0x40 }
        if temporalLayer != nil { flags |= 0x20 }
        if keyIndex != nil { flags |= 0x10 }

        var first = partitionIndex & 0x07
        if flags != 0 { first |= 0x80 }
        if isNonReference { first |= 0x20 }
        if startsPartition { first |= 0x10 }

        var bytes = DescriptorBytes()
        bytes.append(first)
        guard flags != 0 else { return bytes }
        bytes.append(flags)
        if let pictureID {
            if pictureID.isLong { bytes.append(0x80 | UInt8(truncatingIfNeeded: pictureID.value >> 8)) }
            bytes.append(UInt8(truncatingIfNeeded: pictureID.value) & (pictureID.isLong ? 0xFF : 0x7F))
        }
        if let writtenBaseLayerIndex { bytes.append(writtenBaseLayerIndex) }
        if flags & 0x30 != 0 {
            var layer = (keyIndex ?? 0) & 0x1F
            if let temporalLayer { layer |= temporalLayer.index << 6 | (temporalLayer.isLayerSync ? 0x20 : 0) }
            bytes.append(layer)
        }
        return bytes
    }
}
