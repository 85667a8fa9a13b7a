import EmisoraCore

/// An ICE candidate of component 1 (RFC 8445 §5.3, over TCP RFC 6544 §4); RTCP is multiplexed, so there is no component 2.
package struct ICECandidate: Hashable, Sendable {
    package enum CandidateType: String, Hashable, Sendable {
        case host
        case serverReflexive = "srflx"
        case peerReflexive = "prflx"
        case relayed = "relay"

        /// RFC 8445 §5.1.2.2. Over TCP all is less than over UDP, where a loss delays nothing but itself (RFC 6544
        /// §4.2), but more than by a relay.
        func preference(over transport: TransportProtocol) -> UInt32 {
            switch (self, transport) {
            case (.host, .udp): 126
            case (.peerReflexive, .udp): 110
            case (.serverReflexive, .udp): 100
            case (.host, .tcp): 90
            case (.peerReflexive, .tcp): 80
            case (.serverReflexive, .tcp): 70
            case (.relayed, _): 0
            }
        }
    }

    package var foundation: String
    package var priority: UInt32
    package var address: SocketAddress
    package var type: CandidateType
    /// A local one over TCP is `passive`, unless it belongs to a connection that we made; a peer's is `passive`.
    package var transport: TransportProtocol
    package var relatedAddress: SocketAddress?
    /// Where a local candidate's datagrams leave from and arrive (RFC 8445 §4): the socket of a host or server-reflexive
    /// one, a relayed one itself. Meaningless for the peer's.
    package var base: SocketAddress

    package init(
        foundation: String, priority: UInt32, address: SocketAddress, type: CandidateType,
        transport: TransportProtocol = .udp, relatedAddress: SocketAddress? = nil, base: SocketAddress? = nil
    ) {
        self.foundation = foundation
        self.priority = priority
        self.address = address
        self.type = type
        self.transport = transport
        self.relatedAddress = relatedAddress
        self.base = base ?? address
    }

    /// RFC 8445 §5.1.2.1, for component 1.
    static func priority(
        type: CandidateType, transport: TransportProtocol = .udp, localPreference: UInt16
    ) -> UInt32 {
        type.preference(over: transport) << 24 | UInt32(localPreference) << 8 | 255
    }
}
