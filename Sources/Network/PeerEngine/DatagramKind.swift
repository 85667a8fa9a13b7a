/// What a datagram on the shared 5-tuple is, told by its first byte (RFC 7983 §7).
package enum DatagramKind: Hashable, Sendable {
    case stun
    case dtls
    /// RTP and RTCP share a port (RFC 5761); `isRTCP` tells them apart by the second byte.
    case rtp
    case rtcp
    /// ZRTP, TURN channel data, empty datagrams and noise: dropped.
    case other

    package init(of datagram: RawSpan) {
        guard datagram.byteCount >= 2 else {
            self = .other
            return
        }
        let first = datagram.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
        let second = datagram.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
        switch first {
        case 0...3: self = .stun
        case 20...63: self = .dtls
        // RFC 5761 §4: RTCP packet types 192–223 lie where RTP payload types 64–95 with the marker bit would.
        case 128...191: self = (192...223).contains(second) ? .rtcp : .rtp
        default: self = .other
        }
    }
}
