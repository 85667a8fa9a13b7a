import EmisoraCore

/// The payload format for redundant data (RFC 2198): some older blocks, then the primary one.
///
///     0                   1                   2                   3
///     |1|   block PT  |  timestamp offset         |   block length    |   for each redundant block
///     |0|   block PT  |                                                   for the primary block
///
/// Sound carries the packets before it once more; libwebrtc puts pictures and their ULPFEC packets (RFC 5109) into it,
/// one block a packet.
package enum REDPayload {
    package struct Block: Equatable, Sendable {
        package var payloadType: UInt8
        /// How much older than the packet's timestamp, in ticks of the RTP clock; at most ``maximumOffset``.
        package var timestampOffset: UInt32
        /// Where the block lies in the payload that was read.
        package var range: Range<Int>
    }

    /// 14 bits.
    package static let maximumOffset: UInt32 = 1 << 14 - 1
    /// 10 bits.
    package static let maximumBlockByteCount = 1 << 10 - 1
    /// Of the header of a redundant block, and of the primary one.
    package static let redundantHeaderByteCount = 4
    package static let primaryHeaderByteCount = 1
    /// More blocks in one packet are nobody's practice.
    private static let blockLimit = 16

    /// The blocks of a payload, the primary one last; empty where the payload is none.
    package static func blocks(of payload: RawSpan) -> [Block] {
        var blocks: [Block] = []
        var lengths: [Int] = []
        var reader = ByteReader(payload)
        do throws(ByteError) {
            while true {
                let first: UInt8 = try reader.readInteger()
                guard first & 0x80 != 0 else {
                    blocks.append(Block(payloadType: first, timestampOffset: 0, range: 0..<0))
                    break
                }
                guard blocks.count < blockLimit else { return [] }
                let rest = try reader.readUInt24()
                blocks.append(Block(payloadType: first & 0x7F, timestampOffset: rest >> 10, range: 0..<0))
                lengths.append(Int(rest & 0x3FF))
            }
            for (index, length) in lengths.enumerated() {
                let start = reader.offset
                try reader.skip(length)
                blocks[index].range = start..<reader.offset
            }
        } catch {
            return []
        }
        blocks[blocks.count - 1].range = reader.offset..<payload.byteCount
        return blocks
    }
}
