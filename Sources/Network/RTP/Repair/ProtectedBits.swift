import EmisoraCore

/// The part of a media packet that forward error correction combines (RFC 5109 §7, draft-ietf-payload-flexible-fec-scheme
/// §6.3.1): eight bytes of head, then everything behind the fixed RTP header.
struct ProtectedBits: Equatable, Sendable {
    /// First two bytes of the header, version bits included; then length of what is behind the fixed header, then
    /// timestamp.
    var flags: UInt16 = 0
    var length: UInt16 = 0
    var timestamp: UInt32 = 0
    /// CSRCs, extension, payload and padding.
    var body: [UInt8] = []

    init() {}

    /// Of a whole, decrypted packet; `nil` if it is none.
    ///
    /// Extensions whose value belongs to one sending of a packet count as zeros, on both sides: libwebrtc and all that
    /// talk to it do so, since a packet is protected before it is known when it leaves.
    init?(of packet: RawSpan, ids: HeaderExtensionIDs) {
        let body = packet.byteCount - RTPHeader.fixedByteCount
        guard body >= 0, let length = UInt16(exactly: body) else { return nil }
        flags = UInt16(bigEndian: packet.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt16.self))
        timestamp = UInt32(bigEndian: packet.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self))
        self.length = length
        self.body = [UInt8](copying: packet.extracting(RTPHeader.fixedByteCount..<packet.byteCount))
        let passing = [ids.transportSequenceNumber, ids.absoluteSendTime].compactMap { $0 }
        guard flags & 0x1000 != 0, !passing.isEmpty, let header = try? RTPHeader(parsing: packet) else { return }
        let start = header.extensionRange.lowerBound - RTPHeader.fixedByteCount
        var elements = HeaderExtensions(of: header, in: packet)
        while let element = elements.next() {
            guard passing.contains(element.id) else { continue }
            for index in element.range { self.body[start + index] = 0 }
        }
    }

    /// Exclusive or with another; a shorter body counts as filled up with zeros.
    mutating func combine(_ other: borrowing ProtectedBits) {
        flags ^= other.flags
        length ^= other.length
        timestamp ^= other.timestamp
        if body.count < other.body.count {
            body.append(contentsOf: repeatElement(0, count: other.body.count - body.count))
        }
        for index in other.body.indices { body[index] ^= other.body[index] }
    }

    /// The packet that is left when all others of its group are combined out; `nil` where the bits contradict each
    /// other, since then some packet was not what the sender protected.
    func packet(sequenceNumber: UInt16, ssrc: UInt32) -> [UInt8]? {
        guard Int(length) <= body.count else { return nil }
        var packet: [UInt8] = []
        packet.reserveCapacity(RTPHeader.fixedByteCount + Int(length))
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.bigEndian) { packet.append(contentsOf: $0) }
        }
        append(flags & 0x3FFF | 0x8000)
        append(sequenceNumber)
        append(timestamp)
        append(ssrc)
        packet += body[..<Int(length)]
        return packet
    }
}
