import EmisoraCore

/// The header of an RTP packet (RFC 3550 §5.1): what it says, and where extension and payload lie in the packet.
///
/// ```swift
/// let header = try RTPHeader(parsing: datagram)
/// let payload = datagram.extracting(header.payload)
/// ```
package struct RTPHeader: Equatable, Sendable {
    package static let fixedByteCount = 12

    package var marker: Bool
    /// 0…127; with rtcp-mux 64–95 are not usable (RFC 5761 §4).
    package var payloadType: UInt8
    package var sequenceNumber: UInt16
    package var timestamp: UInt32
    package var ssrc: UInt32
    /// At most 15 contributing sources.
    package var contributingSources: [UInt32] = []
    /// The "defined by profile" field of the header extension, `nil` without one. Set by parsing only.
    package private(set) var extensionProfile: UInt16?
    /// The extension's elements in the parsed packet, without its four bytes of head.
    package private(set) var extensionRange: Range<Int> = 0..<0
    /// The payload in the parsed packet, without padding.
    package private(set) var payload: Range<Int> = 0..<0
    /// Bytes of padding after the payload, their count included.
    package private(set) var paddingByteCount = 0

    package init(marker: Bool, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32) {
        self.marker = marker
        self.payloadType = payloadType
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.ssrc = ssrc
    }

    /// Reads the header of a whole, decrypted packet.
    package init(parsing packet: RawSpan) throws(RTPError) {
        let flags: UInt8
        do throws(ByteError) {
            var reader = ByteReader(packet)
            flags = try reader.readInteger()
            let second: UInt8 = try reader.readInteger()
            marker = second & 0x80 != 0
            payloadType = second & 0x7F
            sequenceNumber = try reader.readInteger()
            timestamp = try reader.readInteger()
            ssrc = try reader.readInteger()
            for _ in 0..<flags & 0x0F { contributingSources.append(try reader.readInteger()) }
            if flags & 0x10 != 0 {
                extensionProfile = try reader.readInteger(UInt16.self)
                let words = Int(try reader.readInteger(UInt16.self))
                extensionRange = reader.offset..<reader.offset + 4 * words
                try reader.skip(4 * words)
            }
            payload = reader.offset..<packet.byteCount
        } catch {
            throw RTPError(error)
        }
        guard flags >> 6 == 2 else { throw .unsupportedVersion(flags >> 6) }
        if flags & 0x20 != 0 {
            // The last byte counts the padding, itself included: never zero, never more than the payload.
            guard let last = payload.last else { throw .invalidPadding(count: 0) }
            let count = Int(packet.unsafeLoad(fromByteOffset: last, as: UInt8.self))
            guard count > 0, count <= payload.count else { throw .invalidPadding(count: count) }
            paddingByteCount = count
            payload = payload.lowerBound..<payload.upperBound - count
        }
    }

    /// Writes the header, and `extensions` with this packet's `values` after it, and answers the bytes written.
    /// Allocates nothing.
    @discardableResult
    package func write(
        into buffer: inout MutableRawSpan, extensions: HeaderExtensionBlock? = nil,
        values: HeaderExtensionValues = HeaderExtensionValues()
    ) throws(RTPError) -> Int {
        do throws(ByteError) {
            var writer = ByteWriter(&buffer)
            try write(to: &writer, extensions: extensions, values: values)
            return writer.count
        } catch {
            throw RTPError(error)
        }
    }

    @_lifetime(writer: copy writer)
    func write(
        to writer: inout ByteWriter, extensions: HeaderExtensionBlock?,
        values: HeaderExtensionValues = HeaderExtensionValues()
    ) throws(ByteError) {
        let sourceCount = min(contributingSources.count, 15)
        try writer.writeInteger(UInt8(0x80 | (extensions == nil ? 0 : 0x10) | sourceCount))
        try writer.writeInteger(payloadType & 0x7F | (marker ? 0x80 : 0))
        try writer.writeInteger(sequenceNumber)
        try writer.writeInteger(timestamp)
        try writer.writeInteger(ssrc)
        for source in contributingSources.prefix(sourceCount) { try writer.writeInteger(source) }
        try extensions?.write(to: &writer, values: values)
    }
}
