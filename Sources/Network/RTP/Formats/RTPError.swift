import EmisoraCore

/// Why an RTP or RTCP packet could not be read or written.
package enum RTPError: Error, Equatable, Sendable {
    /// The packet ends before the field does.
    case truncated(needed: Int, available: Int)
    /// The caller's buffer has no room for the packet; hand in one of at least the path's MTU.
    case bufferFull(needed: Int, available: Int)
    /// The version field is not 2 (RFC 3550 §5.1).
    case unsupportedVersion(UInt8)
    /// The padding count is zero or larger than what follows the header (RFC 3550 §5.1).
    case invalidPadding(count: Int)
    /// A value that the field it belongs in cannot hold; the text names the field.
    case valueOutOfRange(field: StaticString)
    /// A payload that its payload format forbids; the text says which rule it breaks.
    case malformedPayload(StaticString)
    /// A compound RTCP packet must begin with SR or RR, then SDES (RFC 3550 §6.1); use reduced size only when
    /// `a=rtcp-rsize` was negotiated (RFC 5506).
    case compoundOrder

    package init(_ error: ByteError) {
        switch error {
        case .truncated(let needed, let available): self = .truncated(needed: needed, available: available)
        case .bufferFull(let needed, let available): self = .bufferFull(needed: needed, available: available)
        }
    }

    package static func == (lhs: RTPError, rhs: RTPError) -> Bool {
        switch (lhs, rhs) {
        case (.truncated(let a, let b), .truncated(let c, let d)): a == c && b == d
        case (.bufferFull(let a, let b), .bufferFull(let c, let d)): a == c && b == d
        case (.unsupportedVersion(let a), .unsupportedVersion(let b)): a == b
        case (.invalidPadding(let a), .invalidPadding(let b)): a == b
        case (.valueOutOfRange(let a), .valueOutOfRange(let b)): a.description == b.description
        case (.malformedPayload(let a), .malformedPayload(let b)): a.description == b.description
        case (.compoundOrder, .compoundOrder): true
        default: false
        }
    }
}
