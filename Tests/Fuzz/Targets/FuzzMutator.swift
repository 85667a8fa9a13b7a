/// Damages messages: bits, boundary values, lengths, cuts, repeats, and parts of other messages.
package struct FuzzMutator {
    private static let boundaries: [UInt8] = [
        0, 1, 2, 3, 4, 0x0F, 0x10, 0x3F, 0x40, 0x7F, 0x80, 0xBE, 0xC0, 0xDE, 0xFE, 0xFF,
    ]

    package init() {}

    /// `other`: a second message, of which parts may come in.
    package func mutate(_ bytes: [UInt8], other: [UInt8], using random: inout FuzzRandom) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<1 + random.number(below: 5) {
            guard !bytes.isEmpty else { return random.bytes(random.number(below: 40)) }
            let at = random.number(below: bytes.count)
            switch random.number(below: 9) {
            case 0: bytes[at] ^= 1 << UInt8(random.number(below: 8))
            case 1: bytes[at] = random.byte()
            case 2: bytes[at] = Self.boundaries[random.number(below: Self.boundaries.count)]
            case 3:
                // Numbers of 16 bits, which lengths mostly are.
                guard at + 1 < bytes.count else { break }
                let value = [0, 1, 3, 4, 0x7FFF, 0x8000, 0xFFFF, bytes.count, bytes.count / 4][random.number(below: 9)]
                bytes[at] = UInt8(value >> 8 & 255)
                bytes[at + 1] = UInt8(value & 255)
            case 4: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.number(below: 8)))
            case 5: bytes.insert(contentsOf: random.bytes(1 + random.number(below: 8)), at: at)
            case 6: bytes = Array(bytes[..<at])
            case 7:
                let end = min(bytes.count, at + 1 + random.number(below: 24))
                bytes.insert(contentsOf: bytes[at..<end], at: at)
            default:
                guard !other.isEmpty else { break }
                let from = random.number(below: other.count)
                bytes.replaceSubrange(
                    at..<min(bytes.count, at + random.number(below: 16)),
                    with: other[from..<min(other.count, from + random.number(below: 32))])
            }
        }
        return Array(bytes.prefix(8_192))
    }
}
