import EmisoraCore
import EmisoraSTUN

/// Cuts the bytes of a TCP or TLS connection to a TURN server into messages: STUN, or ChannelData with its padding
/// (RFC 8656 §3.7, §12.5).
///
/// ```swift
/// try framer.append(bytesOfTheStream)
/// while let message = try framer.next() { … }
/// ```
package struct TURNStreamFramer {
    package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// Where a message should begin, none does; what follows cannot be made sense of.
        case outOfStep
        /// More came than was taken out.
        case overflow

        package var description: String {
            switch self {
            case .outOfStep: "The TURN server sent bytes that are no message; the connection must be closed."
            case .overflow: "More was received from the TURN server than was taken; the connection must be closed."
            }
        }
    }

    /// Two of the longest messages.
    private static let capacity = 2 * (65_535 + 24)

    private var bytes: [UInt8] = []
    private var start = 0
    private var failure: Failure?

    package init() {}

    package mutating func append(_ new: RawSpan) throws(Failure) {
        if let failure { throw failure }
        bytes.removeFirst(start)
        start = 0
        guard bytes.count + new.byteCount <= Self.capacity else { throw fail(.overflow) }
        new.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    /// The next whole message, without padding; `nil`: more bytes are needed.
    package mutating func next() throws(Failure) -> [UInt8]? {
        if let failure { throw failure }
        guard bytes.count - start >= 4 else { return nil }
        let length = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
        let byteCount: Int
        let padded: Int
        switch bytes[start] >> 6 {
        case 0:
            guard length % 4 == 0 else { throw fail(.outOfStep) }
            byteCount = STUNMessage.headerByteCount + length
            padded = byteCount
        case 1:
            byteCount = 4 + length
            padded = (byteCount + 3) & ~3
        default: throw fail(.outOfStep)
        }
        guard bytes.count - start >= padded else { return nil }
        defer { start += padded }
        let message = Array(bytes[start..<start + byteCount])
        if message[0] >> 6 == 0, !STUNMessage.looksLikeSTUN(message.span.bytes) { throw fail(.outOfStep) }
        return message
    }

    private mutating func fail(_ failure: Failure) -> Failure {
        self.failure = failure
        bytes = []
        start = 0
        return failure
    }
}
