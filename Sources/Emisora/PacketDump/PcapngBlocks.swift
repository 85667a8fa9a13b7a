import EmisoraCore

/// The blocks of a pcapng file (draft-ietf-opsawg-pcapng), in network byte order, each appended to a caller's bytes.
///
/// One interface, whose packets begin with an IP header (LINKTYPE_RAW) and are stamped in nanoseconds. The IP and UDP
/// headers are made up from the addresses, checksums included, since a socket shows none.
enum PcapngBlocks {
    enum Direction: UInt32 {
        /// The values of `epb_flags`.
        case received = 1
        case sent = 2
    }

    /// What a UDP datagram over IPv4 may hold (RFC 791); what is longer is no datagram.
    static let maximumPayloadByteCount = 65_535 - 28
    /// What a packet costs beside its payload at most: the block's frame and options, an IPv6 and a UDP header.
    static let maximumOverhead = 28 + 40 + 8 + 3 + 8 + 12 + 4 + 4 + 24
    /// What a packet is marked with that went over TCP: each stands alone here, without the stream that it was in.
    private static let tcpComment = Array("Over TCP (RFC 6544).".utf8)

    private enum BlockType {
        static let sectionHeader: UInt32 = 0x0A0D_0D0A
        static let interfaceDescription: UInt32 = 1
        static let interfaceStatistics: UInt32 = 5
        static let enhancedPacket: UInt32 = 6
    }

    private static let byteOrderMagic: UInt32 = 0x1A2B_3C4D
    private static let linkTypeRaw: UInt16 = 101
    private static let udp: UInt8 = 17

    /// What a file begins with: the section and its one interface.
    static func appendHeader(application: String, interface: String, to bytes: inout [UInt8]) {
        appendBlock(BlockType.sectionHeader, to: &bytes) { bytes in
            append(byteOrderMagic, to: &bytes)
            // Version 1.0, of a length that is not known.
            append(UInt16(1), to: &bytes)
            append(UInt16(0), to: &bytes)
            append(UInt64.max, to: &bytes)
            appendOption(4, Array(application.utf8), to: &bytes)
            appendEndOfOptions(to: &bytes)
        }
        appendBlock(BlockType.interfaceDescription, to: &bytes) { bytes in
            append(linkTypeRaw, to: &bytes)
            append(UInt16(0), to: &bytes)
            // Nothing is cut off.
            append(UInt32(0), to: &bytes)
            appendOption(2, Array(interface.utf8), to: &bytes)
            // if_tsresol: powers of ten below a second.
            appendOption(9, [9], to: &bytes)
            appendEndOfOptions(to: &bytes)
        }
    }

    /// One UDP datagram.
    ///
    /// - Parameters:
    ///   - transport: How it really went; a comment says so where that is TCP.
    ///   - nanoseconds: Since 1970.
    ///   - lost: How many packets were not written between the last one and this.
    static func appendDatagram(
        _ payload: RawSpan, from source: SocketAddress, to destination: SocketAddress, _ direction: Direction,
        transport: TransportProtocol = .udp, nanoseconds: UInt64, lost: UInt64, to bytes: inout [UInt8]
    ) {
        guard payload.byteCount <= maximumPayloadByteCount, source.ip.family == destination.ip.family else { return }
        let headerByteCount = (source.ip.family == .v4 ? 20 : 40) + 8
        appendBlock(BlockType.enhancedPacket, to: &bytes) { bytes in
            append(UInt32(0), to: &bytes)
            append(nanoseconds, to: &bytes)
            let byteCount = UInt32(headerByteCount + payload.byteCount)
            append(byteCount, to: &bytes)
            append(byteCount, to: &bytes)
            appendPacket(payload, from: source, to: destination, to: &bytes)
            appendPadding(after: Int(byteCount), to: &bytes)
            if transport == .tcp { appendOption(1, tcpComment, to: &bytes) }
            append(UInt16(2), to: &bytes)
            append(UInt16(4), to: &bytes)
            append(direction.rawValue, to: &bytes)
            if lost > 0 {
                append(UInt16(4), to: &bytes)
                append(UInt16(8), to: &bytes)
                append(lost, to: &bytes)
            }
            appendEndOfOptions(to: &bytes)
        }
    }

    /// What a file ends with: how many packets there were, and how many of them were not written.
    static func appendStatistics(nanoseconds: UInt64, received: UInt64, dropped: UInt64, to bytes: inout [UInt8]) {
        appendBlock(BlockType.interfaceStatistics, to: &bytes) { bytes in
            append(UInt32(0), to: &bytes)
            append(nanoseconds, to: &bytes)
            for (option, value) in [(UInt16(4), received), (5, dropped)] {
                append(option, to: &bytes)
                append(UInt16(8), to: &bytes)
                append(value, to: &bytes)
            }
            appendEndOfOptions(to: &bytes)
        }
    }

    // MARK: Headers

    private static func appendPacket(
        _ payload: RawSpan, from source: SocketAddress, to destination: SocketAddress, to bytes: inout [UInt8]
    ) {
        let udpByteCount = UInt16(8 + payload.byteCount)
        let addresses = Self.bytes(of: source.ip) + Self.bytes(of: destination.ip)
        if source.ip.family == .v4 {
            let start = bytes.count
            // Version, header length, service; total length; identification, "do not fragment"; time to live, protocol.
            append(UInt16(0x4500), to: &bytes)
            append(20 + udpByteCount, to: &bytes)
            append(UInt32(0x4000), to: &bytes)
            append(UInt16(64 << 8) | UInt16(udp), to: &bytes)
            append(UInt16(0), to: &bytes)
            bytes += addresses
            let checksum = folded(sum(bytes[start...]))
            bytes[start + 10] = UInt8(checksum >> 8)
            bytes[start + 11] = UInt8(truncatingIfNeeded: checksum)
        } else {
            append(UInt32(0x6000_0000), to: &bytes)
            append(udpByteCount, to: &bytes)
            append(UInt16(udp) << 8 | 64, to: &bytes)
            bytes += addresses
        }
        let start = bytes.count
        append(source.port, to: &bytes)
        append(destination.port, to: &bytes)
        append(udpByteCount, to: &bytes)
        append(UInt16(0), to: &bytes)
        payload.withUnsafeBytes { bytes.append(contentsOf: $0) }
        // RFC 768: over a pseudo-header, too; 0 would mean that there is none.
        let total = sum(addresses[...]) + UInt64(udp) + UInt64(udpByteCount) + sum(bytes[start...])
        let checksum = folded(total) == 0 ? 0xFFFF : folded(total)
        bytes[start + 6] = UInt8(checksum >> 8)
        bytes[start + 7] = UInt8(truncatingIfNeeded: checksum)
    }

    private static func bytes(of ip: IPAddress) -> [UInt8] {
        var bytes: [UInt8] = []
        if ip.family == .v4 {
            append(ip.v4Bits, to: &bytes)
        } else {
            append(ip.high, to: &bytes)
            append(ip.low, to: &bytes)
        }
        return bytes
    }

    /// The sum of 16-bit words that the Internet's checksum is made of (RFC 1071).
    private static func sum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var sum: UInt64 = 0
        var index = bytes.startIndex
        while index + 1 < bytes.endIndex {
            sum += UInt64(bytes[index]) << 8 | UInt64(bytes[index + 1])
            index += 2
        }
        return index < bytes.endIndex ? sum + UInt64(bytes[index]) << 8 : sum
    }

    private static func folded(_ sum: UInt64) -> UInt16 {
        var sum = sum
        while sum > 0xFFFF { sum = (sum & 0xFFFF) + (sum >> 16) }
        return ~UInt16(truncatingIfNeeded: sum)
    }

    // MARK: Blocks

    /// Type and length, the body, and the length once more.
    private static func appendBlock(_ type: UInt32, to bytes: inout [UInt8], _ body: (inout [UInt8]) -> Void) {
        let start = bytes.count
        append(type, to: &bytes)
        append(UInt32(0), to: &bytes)
        body(&bytes)
        let byteCount = UInt32(bytes.count - start + 4)
        append(byteCount, to: &bytes)
        for position in 0..<4 {
            bytes[start + 4 + position] = UInt8(truncatingIfNeeded: byteCount >> (24 - 8 * position))
        }
    }

    private static func appendOption(_ code: UInt16, _ value: [UInt8], to bytes: inout [UInt8]) {
        append(code, to: &bytes)
        append(UInt16(clamping: value.count), to: &bytes)
        bytes += value.prefix(Int(UInt16.max))
        appendPadding(after: value.count, to: &bytes)
    }

    private static func appendEndOfOptions(to bytes: inout [UInt8]) {
        append(UInt32(0), to: &bytes)
    }

    private static func appendPadding(after byteCount: Int, to bytes: inout [UInt8]) {
        for _ in 0..<(4 - byteCount % 4) % 4 { bytes.append(0) }
    }

    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
