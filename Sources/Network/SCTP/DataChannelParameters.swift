/// What a data channel is made with, which both sides know from its opening.
package struct DataChannelParameters: Hashable, Sendable {
    /// What W3C allows either to have, in bytes of UTF-8.
    package static let maximumTextByteCount = 65_535

    package var label: String
    package var subprotocol = ""
    package var isOrdered = true
    package var reliability = SCTPAssociation.Reliability.reliable

    package init(label: String) {
        self.label = label
    }

    var textByteCount: Int { label.utf8.count + subprotocol.utf8.count }
}

/// Which data channel of a connection; a number that is used once, where stream ids come again.
package struct DataChannelID: Hashable, Sendable {
    let number: UInt64
}

/// One message of a data channel.
package enum DataChannelPayload: Hashable, Sendable {
    case text(String)
    case binary([UInt8])

    package var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }

    /// Payload protocol identifiers (RFC 8831 §8); an empty message goes as a single zero (§6.6).
    var wire: (ppid: UInt32, bytes: [UInt8]) {
        switch self {
        case .text(""): (56, [0])
        case .text(let text): (51, Array(text.utf8))
        case .binary(let bytes): bytes.isEmpty ? (57, [0]) : (53, bytes)
        }
    }

    /// `nil` for what is no message of an application, or text that is not UTF-8.
    init?(ppid: UInt32, bytes: [UInt8]) {
        switch ppid {
        case 51:
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            self = .text(text)
        case 53: self = .binary(bytes)
        case 56: self = .text("")
        case 57: self = .binary([])
        default: return nil
        }
    }
}

package enum DataChannelEvent: Equatable, Sendable {
    /// The peer opened one.
    case incoming(DataChannelID, DataChannelParameters)
    /// One of ours can be used: the peer knows of it, or will before it gets a message.
    case opened(DataChannelID)
    case message(DataChannelID, DataChannelPayload)
    /// Bytes of its messages that have not gone out yet: fewer than before.
    case bufferedAmountChanged(DataChannelID, Int)
    /// The peer closes it; nothing more can be sent.
    case closing(DataChannelID)
    /// It is over; `reason` is for a person, and empty where one of the sides closed it.
    case closed(DataChannelID, reason: String)
}

/// Why a call on a data channel failed.
package enum DataChannelError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It is not open, or no more.
    case notOpen
    case messageTooLarge(byteCount: Int, limit: Int)
    /// So many bytes wait to be sent already.
    case bufferFull(limit: Int)
    case tooManyChannels(limit: Int)
    /// Label or protocol.
    case textTooLong(limit: Int)
    /// The peer does not take data channels, or they were not asked for before the connection was made.
    case notNegotiated

    package var description: String {
        switch self {
        case .notOpen: "The data channel is not open; wait until it is, and make another one after it was closed."
        case .messageTooLarge(let byteCount, let limit):
            "A message of \(byteCount) bytes is more than the \(limit) that the peer takes; send it in parts."
        case .bufferFull(let limit):
            "More than \(limit) bytes wait to be sent; wait until bufferedAmount has fallen."
        case .tooManyChannels(let limit): "The connection has \(limit) data channels already; close one first."
        case .textTooLong(let limit): "A label or protocol has at most \(limit) bytes."
        case .notNegotiated: "The connection has no data channels: one of its sides did not ask for them."
        }
    }
}
