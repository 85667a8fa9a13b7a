import EmisoraCore

/// What was negotiated for pictures in RED (RFC 2198) with ULPFEC (RFC 5109).
package struct VideoRedundancy: Equatable, Sendable {
    package var redPayloadType: UInt8
    /// Of parity packets inside RED; without it RED wraps pictures only.
    package var ulpfecPayloadType: UInt8?
    /// Whose `apt` is `redPayloadType`: libwebrtc repeats packets as they were wrapped.
    package var redRTXPayloadType: UInt8?
    /// Of the stream's header extensions.
    package var extensionIDs = HeaderExtensionIDs()

    package init(redPayloadType: UInt8) {
        self.redPayloadType = redPayloadType
    }

    func accepts(_ payloadType: UInt8) -> Bool {
        payloadType == redPayloadType || payloadType == redRTXPayloadType
    }

    /// A media packet as it was before it was put into RED, which is what parity packets protect.
    func protectedPacket(
        _ header: RTPHeader, payloadType: UInt8, _ payload: Range<Int>, of packet: RawSpan
    ) -> [UInt8] {
        let head = header.payload.lowerBound
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head + payload.count)
        packet.withUnsafeBytes { packet in
            bytes.append(contentsOf: packet[..<head])
            bytes.append(contentsOf: packet[payload])
        }
        // Padding came with the wrapping.
        bytes[0] &= 0xDF
        bytes[1] = bytes[1] & 0x80 | payloadType
        return bytes
    }
}
