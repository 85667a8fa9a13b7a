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

    private var buffer = StreamBuffer(capacity: capacity)
    private var failure: Failure?

    package init() {}

    package mutating func append(_ new: RawSpan) throws(Failure) {
        if let failure { throw failure }
        guard buffer.append(new) else { throw fail(.overflow) }
    }

    /// The next whole message, without padding; `nil`: more bytes are needed.
    package mutating func next() throws(Failure) -> [UInt8]? {
        if let failure { throw failure }
        guard buffer.count >= 4 else { return nil }
        let length = Int(buffer[2]) << 8 | Int(buffer[3])
        let byteCount: Int
        let padded: Int
        switch buffer[0] >> 6 {
        case 0:
            guard length % 4 == 0 else { throw fail(.outOfStep) }
            byteCount = STUNMessage.headerByteCount + length
            padded = byteCount
        case 1:
            byteCount = 4 + length
            padded = (byteCount + 3) & ~3
        default: throw fail(.outOfStep)
        }
        guard buffer.count >= padded else { return nil }
        let message = buffer.take(0..<byteCount, of: padded)
        if message[0] >> 6 == 0, !STUNMessage.looksLikeSTUN(message.span.bytes) { throw fail(.outOfStep) }
        return message
    }

    private mutating func fail(_ failure: Failure) -> Failure {
        self.failure = failure
        buffer.removeAll()
        return failure
    }
}
