import EmisoraCore
import EmisoraSTUN

/// Why a TURN server gave no relayed address, or took it away, in words for the person who entered the server.
package enum TURNError: Error, Hashable, Sendable, CustomStringConvertible {
    case timedOut
    /// The server wants credentials and there are none.
    case credentialsMissing
    case unauthorized
    /// It calls each nonce stale that it has just given.
    case staleNonce
    case unsupportedPasswordAlgorithm
    case forbidden
    /// The server remembers an allocation of this socket (437): another socket is needed.
    case fiveTupleInUse
    case addressFamilyNotSupported
    case unsupportedTransport
    case quotaReached
    case insufficientCapacity
    /// The server asks to use another one (300).
    case redirected(to: SocketAddress)
    /// The allocation ended though it was to be kept.
    case allocationLost
    case malformedAnswer
    case rejected(code: UInt16)
    /// The TCP or TLS connection to the server could not be made, or ended.
    case connectionFailed(reason: String)

    init(code: UInt16, alternate: SocketAddress?) {
        switch code {
        case STUNErrorCode.tryAlternate: self = alternate.map(Self.redirected) ?? .malformedAnswer
        case STUNErrorCode.unauthenticated, STUNErrorCode.wrongCredentials: self = .unauthorized
        case STUNErrorCode.forbidden: self = .forbidden
        case STUNErrorCode.allocationMismatch: self = .fiveTupleInUse
        case STUNErrorCode.staleNonce: self = .staleNonce
        case STUNErrorCode.addressFamilyNotSupported: self = .addressFamilyNotSupported
        case STUNErrorCode.unsupportedTransport: self = .unsupportedTransport
        case STUNErrorCode.allocationQuotaReached: self = .quotaReached
        case STUNErrorCode.insufficientCapacity: self = .insufficientCapacity
        default: self = .rejected(code: code)
        }
    }

    package var description: String {
        switch self {
        case .timedOut:
            "The TURN server does not answer. Are its address and port right, and does the network let them through? "
                + "Where UDP is blocked, turn:…?transport=tcp or turns: may get through."
        case .credentialsMissing: "The TURN server asks for a username and a credential."
        case .unauthorized: "The TURN server refuses the username or the credential (401)."
        case .staleNonce: "The TURN server calls every nonce stale that it has just given (438)."
        case .unsupportedPasswordAlgorithm:
            "The TURN server accepts no password algorithm that is known here (MD5, SHA-256)."
        case .forbidden: "The TURN server forbids this (403): the user or the address is not allowed to."
        case .fiveTupleInUse:
            "The TURN server still remembers an earlier use of this socket (437); another socket is needed."
        case .addressFamilyNotSupported: "The TURN server does not relay this kind of IP address (440)."
        case .unsupportedTransport: "The TURN server does not relay UDP (442)."
        case .quotaReached: "This user has as many relayed addresses as the TURN server allows (486); try later."
        case .insufficientCapacity: "The TURN server has no relayed address left (508); try later or another server."
        case .redirected(let address): "The TURN server asks to use \(address) instead (300)."
        case .allocationLost: "The TURN server no longer knows the relayed address."
        case .malformedAnswer: "The TURN server's answer lacks what it must have."
        case .connectionFailed(let reason): reason
        case .rejected(let code): "The TURN server refused with the error \(code)."
        }
    }
}
