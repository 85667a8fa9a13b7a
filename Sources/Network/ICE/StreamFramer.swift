import EmisoraCore

/// Cuts the bytes of a TCP connection into the packets of ICE, DTLS and RTP: each has its length in front, in two bytes
/// (RFC 4571 §2, RFC 6544 §3).
///
/// ```swift
/// try framer.append(bytesOfTheStream)
/// while let packet = try framer.next() { … }
/// ```
package struct StreamFramer {
    package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// Nobody sends such packets: what follows is not what we speak.
        case tooLong(byteCount: Int)
        /// More came than was taken out.
        case overflow

        package var description: String {
            switch self {
            case .tooLong(let byteCount):
                "A packet of \(byteCount) bytes was announced, and \(StreamFramer.maximumPacketByteCount) are the most "
                    + "that is sent; the connection must be closed."
            case .overflow: "More was received than was taken; the connection must be closed."
            }
        }
    }

    /// As over UDP, where no path carries more.
    package static let maximumPacketByteCount = 1_500
    /// What one read gives at the most, behind a packet that is not whole.
    private static let capacity = 16_384 + maximumPacketByteCount + 2

    private var buffer = StreamBuffer(capacity: capacity)
    private var failure: Failure?

    package init() {}

    package mutating func append(_ new: RawSpan) throws(Failure) {
        if let failure { throw failure }
        guard buffer.append(new) else { throw fail(.overflow) }
    }

    /// The next whole packet; `nil`: more bytes are needed. Empty ones, which keep a connection alive, are passed over.
    package mutating func next() throws(Failure) -> [UInt8]? {
        if let failure { throw failure }
        while buffer.count >= 2 {
            let length = Int(buffer[0]) << 8 | Int(buffer[1])
            guard length <= Self.maximumPacketByteCount else { throw fail(.tooLong(byteCount: length)) }
            guard buffer.count >= 2 + length else { return nil }
            let packet = buffer.take(2..<2 + length, of: 2 + length)
            if !packet.isEmpty { return packet }
        }
        return nil
    }

    /// Puts the length in front of `packet`, in place of what `frame` holds; `false`: it is too long.
    package static func frame(_ packet: RawSpan, into frame: inout [UInt8]) -> Bool {
        guard (1...maximumPacketByteCount).contains(packet.byteCount) else { return false }
        frame.removeAll(keepingCapacity: true)
        frame.append(UInt8(packet.byteCount >> 8))
        frame.append(UInt8(packet.byteCount & 0xFF))
        packet.withUnsafeBytes { frame.append(contentsOf: $0) }
        return true
    }

    private mutating func fail(_ failure: Failure) -> Failure {
        self.failure = failure
        buffer.removeAll()
        return failure
    }
}
