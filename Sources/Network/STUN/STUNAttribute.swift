/// The attribute types that ICE and TURN use (RFC 8489 §18.3, RFC 8445 §16.1, RFC 8656 §18).
package enum STUNAttribute {
    package static let mappedAddress: UInt16 = 0x0001
    package static let username: UInt16 = 0x0006
    package static let messageIntegrity: UInt16 = 0x0008
    package static let errorCode: UInt16 = 0x0009
    package static let unknownAttributes: UInt16 = 0x000A
    package static let channelNumber: UInt16 = 0x000C
    package static let lifetime: UInt16 = 0x000D
    package static let xorPeerAddress: UInt16 = 0x0012
    package static let data: UInt16 = 0x0013
    package static let realm: UInt16 = 0x0014
    package static let nonce: UInt16 = 0x0015
    package static let xorRelayedAddress: UInt16 = 0x0016
    package static let requestedAddressFamily: UInt16 = 0x0017
    package static let requestedTransport: UInt16 = 0x0019
    package static let messageIntegritySHA256: UInt16 = 0x001C
    package static let passwordAlgorithm: UInt16 = 0x001D
    package static let userhash: UInt16 = 0x001E
    package static let xorMappedAddress: UInt16 = 0x0020
    package static let priority: UInt16 = 0x0024
    package static let useCandidate: UInt16 = 0x0025
    package static let passwordAlgorithms: UInt16 = 0x8002
    package static let software: UInt16 = 0x8022
    package static let alternateServer: UInt16 = 0x8023
    package static let fingerprint: UInt16 = 0x8028
    package static let iceControlled: UInt16 = 0x8029
    package static let iceControlling: UInt16 = 0x802A

    /// Below 0x8000 a receiver must understand an attribute or refuse the message (RFC 8489 §14). Those of TURN are
    /// understood in TURN's messages alone: an ICE check that carries one is refused.
    static func isUnderstood(_ type: UInt16, in message: STUNMessageType) -> Bool {
        switch type {
        case mappedAddress, username, messageIntegrity, errorCode, unknownAttributes, realm, nonce,
            messageIntegritySHA256, userhash, xorMappedAddress, priority, useCandidate:
            true
        case channelNumber, lifetime, xorPeerAddress, data, xorRelayedAddress, requestedAddressFamily,
            requestedTransport, passwordAlgorithm:
            !message.isBinding
        default:
            type >= 0x8000
        }
    }
}

/// The error codes that ICE and TURN send or act on (RFC 8489 §14.8, RFC 8445 §16.2, RFC 8656 §19).
package enum STUNErrorCode {
    package static let tryAlternate: UInt16 = 300
    package static let badRequest: UInt16 = 400
    package static let unauthenticated: UInt16 = 401
    package static let forbidden: UInt16 = 403
    package static let unknownAttribute: UInt16 = 420
    package static let allocationMismatch: UInt16 = 437
    package static let staleNonce: UInt16 = 438
    package static let addressFamilyNotSupported: UInt16 = 440
    package static let wrongCredentials: UInt16 = 441
    package static let unsupportedTransport: UInt16 = 442
    package static let allocationQuotaReached: UInt16 = 486
    package static let roleConflict: UInt16 = 487
    package static let insufficientCapacity: UInt16 = 508
}
