/// How samples are written in a sound file or by a sound card: linear PCM, little-endian.
package enum PCMEncoding: CaseIterable, Hashable, Sendable {
    /// 0…255 around 128.
    case unsigned8
    case signed16
    /// Three bytes.
    case signed24
    /// 24 bits in the low three of four bytes; the fourth has no meaning.
    case signed24In32
    case signed32
    case float32

    package var bytesPerSample: Int {
        switch self {
        case .unsigned8: 1
        case .signed16: 2
        case .signed24: 3
        case .signed24In32, .signed32, .float32: 4
        }
    }

    /// The samples scaled to ±1. An incomplete one at the end is left out; what is no finite number becomes silence, so
    /// that it cannot spread in filters.
    package func decode(_ bytes: UnsafeRawBufferPointer) -> [Float] {
        let count = bytes.count / bytesPerSample
        return [Float](unsafeUninitializedCapacity: count) { samples, initialized in
            for index in 0..<count { samples.initializeElement(at: index, to: sample(index, of: bytes)) }
            initialized = count
        }
    }

    private func sample(_ index: Int, of bytes: UnsafeRawBufferPointer) -> Float {
        switch self {
        case .unsigned8:
            return (Float(bytes[index]) - 128) / 128
        case .signed16:
            return Float(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2 * index, as: Int16.self))) / 32_768
        case .signed24:
            let (low, middle, high) = (bytes[3 * index], bytes[3 * index + 1], bytes[3 * index + 2])
            return Self.scaled(UInt32(low) << 8 | UInt32(middle) << 16 | UInt32(high) << 24)
        case .signed24In32:
            return Self.scaled(Self.word(index, of: bytes) << 8)
        case .signed32:
            return Self.scaled(Self.word(index, of: bytes))
        case .float32:
            let value = Float(bitPattern: Self.word(index, of: bytes))
            return value.isFinite ? value : 0
        }
    }

    private static func word(_ index: Int, of bytes: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
    }

    private static func scaled(_ word: UInt32) -> Float {
        Float(Int32(bitPattern: word)) / 2_147_483_648
    }
}
