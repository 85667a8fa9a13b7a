import EmisoraCore

/// The outside of SCTP packets (RFC 9260 §3), as far as something is decided by it.
package enum SCTPPacket {
    private static let commonHeaderByteCount = 12
    private static let chunkHeaderByteCount = 4
    private static let dataHeaderByteCount = 16
    /// A record holds few: browsers send up to a dozen.
    private static let maximumChunks = 256
    /// DATA to COOKIE ACK, SHUTDOWN COMPLETE, RE-CONFIG, FORWARD TSN and PAD: what WebRTC uses. Others (addresses that
    /// change, authentication, interleaving, dropped packets) were neither offered nor does the library need to read them.
    private static let knownChunks: Set<UInt8> = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 130, 132, 192]

    /// Whether a packet is one that usrsctp is shown: whole chunks of kinds that are in use.
    package static func isAcceptable(_ packet: RawSpan) -> Bool {
        var count = 0
        var isWellFormed = packet.byteCount <= 65_535
        let end = forEachChunk(in: packet) { type, _, _ in
            count += 1
            if !knownChunks.contains(type) { isWellFormed = false }
        }
        return isWellFormed && end == packet.byteCount && (1...maximumChunks).contains(count)
    }

    /// Shows the DATA chunks of a packet: number, stream, bytes of the message.
    static func forEachData(in packet: RawSpan, _ body: (_ tsn: UInt32, _ stream: UInt16, _ byteCount: Int) -> Void) {
        forEachChunk(in: packet) { type, offset, length in
            guard type == 0, length >= dataHeaderByteCount else { return }
            let tsn = packet.unsafeLoadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let stream = packet.unsafeLoadUnaligned(fromByteOffset: offset + 8, as: UInt16.self)
            body(UInt32(bigEndian: tsn), UInt16(bigEndian: stream), length - dataHeaderByteCount)
        }
    }

    /// Where the last whole chunk ends, with its padding; 0 for what is no packet.
    @discardableResult
    private static func forEachChunk(
        in packet: RawSpan, _ body: (_ type: UInt8, _ offset: Int, _ length: Int) -> Void
    ) -> Int {
        guard packet.byteCount >= commonHeaderByteCount else { return 0 }
        var offset = commonHeaderByteCount
        while packet.byteCount - offset >= chunkHeaderByteCount {
            let type = packet.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            let length = Int(
                UInt16(bigEndian: packet.unsafeLoadUnaligned(fromByteOffset: offset + 2, as: UInt16.self)))
            guard length >= chunkHeaderByteCount, packet.byteCount - offset >= length else { return offset }
            body(type, offset, length)
            // The last chunk's padding may be missing in what some peers send.
            offset = min(packet.byteCount, offset + (length + 3) & ~3)
        }
        return offset
    }
}
