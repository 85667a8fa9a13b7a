/// A bounds-checked cursor over bytes in network order. Reading past the end throws; nothing traps.
///
/// ```swift
/// var reader = ByteReader(datagram)
/// let type: UInt16 = try reader.readInteger()
/// let body = try reader.readBytes(Int(length))
/// ```
package struct ByteReader: ~Escapable {
    package let bytes: RawSpan
    /// Bytes read so far.
    package private(set) var offset = 0

    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan) {
        self.bytes = bytes
    }

    package var remaining: Int { bytes.byteCount - offset }
    package var isAtEnd: Bool { remaining == 0 }

    @_lifetime(self: copy self)
    package mutating func readInteger<T: FixedWidthInteger & BitwiseCopyable>(
        _ type: T.Type = T.self
    ) throws(ByteError) -> T {
        let size = MemoryLayout<T>.size
        guard remaining >= size else { throw .truncated(needed: size, available: remaining) }
        defer { offset += size }
        return T(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
    }

    /// A 24-bit big-endian number, as RTCP and DTLS have them.
    @_lifetime(self: copy self)
    package mutating func readUInt24() throws(ByteError) -> UInt32 {
        guard remaining >= 3 else { throw .truncated(needed: 3, available: remaining) }
        let high: UInt8 = try readInteger()
        let low: UInt16 = try readInteger()
        return UInt32(high) << 16 | UInt32(low)
    }

    /// The next `count` bytes, without copying them.
    @_lifetime(copy self)
    package mutating func readBytes(_ count: Int) throws(ByteError) -> RawSpan {
        guard count >= 0, remaining >= count else { throw .truncated(needed: count, available: remaining) }
        let range = offset..<offset + count
        offset += count
        return bytes.extracting(range)
    }

    @_lifetime(self: copy self)
    package mutating func skip(_ count: Int) throws(ByteError) {
        guard count >= 0, remaining >= count else { throw .truncated(needed: count, available: remaining) }
        offset += count
    }
}
