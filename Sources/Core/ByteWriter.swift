/// A bounds-checked cursor that writes in network order into memory of the caller. Running out of room throws.
///
/// ```swift
/// var writer = ByteWriter(&buffer)
/// try writer.writeInteger(UInt16(0x0001))
/// return writer.count
/// ```
package struct ByteWriter: ~Copyable, ~Escapable {
    private var bytes: MutableRawSpan
    /// Bytes written so far.
    package private(set) var count = 0

    @_lifetime(&bytes)
    package init(_ bytes: inout MutableRawSpan) {
        self.bytes = bytes._mutatingExtracting(0..<bytes.byteCount)
    }

    package var freeCapacity: Int { bytes.byteCount - count }

    @_lifetime(self: copy self)
    package mutating func writeInteger<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) throws(ByteError) {
        let size = MemoryLayout<T>.size
        guard freeCapacity >= size else { throw .bufferFull(needed: size, available: freeCapacity) }
        bytes.storeBytes(of: value.bigEndian, toByteOffset: count, as: T.self)
        count += size
    }

    /// The low 24 bits of `value`, big-endian.
    @_lifetime(self: copy self)
    package mutating func writeUInt24(_ value: UInt32) throws(ByteError) {
        guard freeCapacity >= 3 else { throw .bufferFull(needed: 3, available: freeCapacity) }
        try writeInteger(UInt8(truncatingIfNeeded: value >> 16))
        try writeInteger(UInt16(truncatingIfNeeded: value))
    }

    @_lifetime(self: copy self)
    package mutating func writeBytes(_ source: RawSpan) throws(ByteError) {
        guard freeCapacity >= source.byteCount else {
            throw .bufferFull(needed: source.byteCount, available: freeCapacity)
        }
        var target = bytes._mutatingExtracting(count..<count + source.byteCount)
        source.withUnsafeBytes { from in
            target.withUnsafeMutableBytes { $0.copyMemory(from: from) }
        }
        count += source.byteCount
    }

    @_lifetime(self: copy self)
    package mutating func writeZeros(_ number: Int) throws(ByteError) {
        guard number >= 0, freeCapacity >= number else { throw .bufferFull(needed: number, available: freeCapacity) }
        for _ in 0..<number { try writeInteger(UInt8(0)) }
    }

    /// Overwrites a value written earlier, such as a length that is known only at the end.
    @_lifetime(self: copy self)
    package mutating func patchInteger<T: FixedWidthInteger & BitwiseCopyable>(
        _ value: T, at offset: Int
    ) throws(ByteError) {
        let size = MemoryLayout<T>.size
        guard offset >= 0, offset <= count - size else { throw .bufferFull(needed: size, available: 0) }
        bytes.storeBytes(of: value.bigEndian, toByteOffset: offset, as: T.self)
    }
}
