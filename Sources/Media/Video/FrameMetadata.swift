/// Up to 32 bytes that travel with a frame, of the application's own meaning. A collection of bytes that never
/// allocates.
public struct FrameMetadata: Hashable, Sendable, RandomAccessCollection {
    /// The most bytes that fit.
    public static let capacity = 32

    private var storage = SIMD32<UInt8>()
    private let length: UInt8

    /// No metadata.
    public init() {
        length = 0
    }

    /// Throws ``VideoFrameError/metadataTooLong(limit:given:)`` beyond ``capacity`` bytes.
    public init(_ bytes: some Collection<UInt8>) throws(VideoFrameError) {
        let count = bytes.count
        guard count <= Self.capacity else { throw .metadataTooLong(limit: Self.capacity, given: count) }
        length = UInt8(count)
        for (index, byte) in bytes.enumerated() { storage[index] = byte }
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { Int(length) }
    public subscript(position: Int) -> UInt8 {
        precondition(position >= 0 && position < length, "metadata has \(length) bytes, asked for \(position)")
        return storage[position]
    }
}
