import EmisoraCore

/// The retransmission payload format (RFC 4588 §4): the original sequence number, then the original payload. Header
/// fields are the original's except payload type, sequence number and SSRC.
package enum RTXPacket {
    package static let originalSequenceNumberByteCount = 2

    /// The original sequence number and where the original payload lies in `packet`. A packet without an original
    /// payload is padding, sent to probe the path: `nil`.
    package static func original(of header: RTPHeader, in packet: RawSpan) -> (
        sequenceNumber: UInt16, payload: Range<Int>
    )? {
        let payload = header.payload
        guard payload.upperBound <= packet.byteCount, payload.count > originalSequenceNumberByteCount else {
            return nil
        }
        let number = packet.unsafeLoadUnaligned(fromByteOffset: payload.lowerBound, as: UInt16.self)
        return (UInt16(bigEndian: number), payload.lowerBound + originalSequenceNumberByteCount..<payload.upperBound)
    }
}
