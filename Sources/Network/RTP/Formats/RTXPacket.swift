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

/// Tells RTP from RTCP on a shared port (RFC 5761 §4): RTCP packet types 192–223 stand where RTP has marker and payload
/// type, which therefore stays outside 64–95.
package enum RTPOrRTCP: Equatable, Sendable {
    case rtp
    case rtcp

    /// The kind of a datagram whose first byte is 128–191 (RFC 7983 §7); `nil` for anything else or anything too short
    /// to tell.
    package init?(_ datagram: RawSpan) {
        guard datagram.byteCount >= 2 else { return nil }
        let first = datagram.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
        let second = datagram.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
        guard first >> 6 == 2 else { return nil }
        self = (192...223).contains(second) ? .rtcp : .rtp
    }
}
