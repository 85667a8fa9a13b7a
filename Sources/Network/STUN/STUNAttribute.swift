/// The attribute types that ICE uses (RFC 8489 §18.3, RFC 8445 §16.1).
package enum STUNAttribute {
    package static let mappedAddress: UInt16 = 0x0001
    package static let username: UInt16 = 0x0006
    package static let messageIntegrity: UInt16 = 0x0008
    package static let errorCode: UInt16 = 0x0009
    package static let unknownAttributes: UInt16 = 0x000A
    package static let realm: UInt16 = 0x0014
    package static let nonce: UInt16 = 0x0015
    package static let messageIntegritySHA256: UInt16 = 0x001C
    package static let userhash: UInt16 = 0x001E
    package static let xorMappedAddress: UInt16 = 0x0020
    package static let priority: UInt16 = 0x0024
    package static let useCandidate: UInt16 = 0x0025
    package static let software: UInt16 = 0x8022
    package static let fingerprint: UInt16 = 0x8028
    package static let iceControlled: UInt16 = 0x8029
    package static let iceControlling: UInt16 = 0x802A

    /// Below 0x8000 a receiver must understand an attribute or refuse the message (RFC 8489 §14).
    static func isUnderstood(_ type: UInt16) -> Bool {
        switch type {
        case mappedAddress, username, messageIntegrity, errorCode, unknownAttributes, realm, nonce,
            messageIntegritySHA256, userhash, xorMappedAddress, priority, useCandidate:
            true
        default:
            type >= 0x8000
        }
    }
}

/// The error codes that ICE sends or acts on (RFC 8489 §14.8, RFC 8445 §16.2).
package enum STUNErrorCode {
    package static let badRequest: UInt16 = 400
    package static let unauthenticated: UInt16 = 401
    package static let unknownAttribute: UInt16 = 420
    package static let roleConflict: UInt16 = 487
}
