import EmisoraCore

/// What TURN's messages carry beside STUN's own attributes (RFC 8656 §18).
package struct TURNAttributes: Hashable, Sendable {
    static let maximumPeerAddresses = 16

    package internal(set) var channelNumber: UInt16?
    /// Seconds.
    package internal(set) var lifetime: UInt32?
    /// XOR-PEER-ADDRESS, which a CreatePermission may carry several times; at most 16 are kept.
    package internal(set) var peerAddresses: [SocketAddress] = []
    package internal(set) var relayedAddress: SocketAddress?
    package internal(set) var requestedFamily: IPAddress.Family?
    /// An IP protocol number.
    package internal(set) var requestedTransport: UInt8?
    /// Where DATA's value lies in the message that was parsed.
    package internal(set) var data: Range<Int>?

    package var peerAddress: SocketAddress? { peerAddresses.first }
}
