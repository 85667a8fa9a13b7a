/// What was sent under one SSRC since it began, for sender reports. On the wire the counters wrap at 2^32 (RFC 3550
/// §6.4.1), which a fast stream's octets do within an hour or two; here they do not.
package struct SenderCounters: Equatable, Sendable {
    package private(set) var packets: UInt64
    /// Of payload, without headers and padding.
    package private(set) var octets: UInt64

    package init(packets: UInt64 = 0, octets: UInt64 = 0) {
        self.packets = packets
        self.octets = octets
    }

    package var isEmpty: Bool { packets == 0 }
    package var wirePackets: UInt32 { UInt32(truncatingIfNeeded: packets) }
    package var wireOctets: UInt32 { UInt32(truncatingIfNeeded: octets) }

    mutating func count(octets count: Int) {
        packets += 1
        octets += UInt64(count)
    }
}
