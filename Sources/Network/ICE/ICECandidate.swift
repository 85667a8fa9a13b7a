import EmisoraCore

/// An ICE candidate of component 1 over UDP (RFC 8445 §5.3); RTCP is multiplexed, so there is no component 2.
package struct ICECandidate: Hashable, Sendable {
    package enum CandidateType: String, Hashable, Sendable {
        case host
        case serverReflexive = "srflx"
        case peerReflexive = "prflx"
        case relayed = "relay"

        /// RFC 8445 §5.1.2.2.
        var preference: UInt32 {
            switch self {
            case .host: 126
            case .peerReflexive: 110
            case .serverReflexive: 100
            case .relayed: 0
            }
        }
    }

    package var foundation: String
    package var priority: UInt32
    package var address: SocketAddress
    package var type: CandidateType
    package var relatedAddress: SocketAddress?
    /// Where a local candidate's datagrams leave from and arrive (RFC 8445 §4): the socket of a host or server-reflexive
    /// one, a relayed one itself. Meaningless for the peer's.
    package var base: SocketAddress

    package init(
        foundation: String, priority: UInt32, address: SocketAddress, type: CandidateType,
        relatedAddress: SocketAddress? = nil, base: SocketAddress? = nil
    ) {
        self.foundation = foundation
        self.priority = priority
        self.address = address
        self.type = type
        self.relatedAddress = relatedAddress
        self.base = base ?? address
    }

    /// RFC 8445 §5.1.2.1, for component 1.
    static func priority(type: CandidateType, localPreference: UInt16) -> UInt32 {
        type.preference << 24 | UInt32(localPreference) << 8 | 255
    }
}
