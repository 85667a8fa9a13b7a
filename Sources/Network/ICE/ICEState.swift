import EmisoraCore

/// Which side decides the pair that is used (RFC 8445 §6.1.1).
package enum ICERole: Hashable, Sendable {
    case controlling
    case controlled

    var opposite: ICERole { self == .controlling ? .controlled : .controlling }
}

/// W3C `RTCIceTransportState`, with a reason for a person where it fails.
package enum ICEState: Hashable, Sendable {
    case new
    case checking
    case connected
    /// The selected path has not answered for a while; it may come back.
    case disconnected
    case failed(reason: String)
    case closed
}

/// A path: the local base that sends, the remote address that receives. Over TCP it is a connection.
package struct ICEPath: Hashable, Sendable {
    package var local: SocketAddress
    package var remote: SocketAddress
    package var transport: TransportProtocol

    package init(local: SocketAddress, remote: SocketAddress, transport: TransportProtocol = .udp) {
        self.local = local
        self.remote = remote
        self.transport = transport
    }

    package func transmit(byteCount: Int) -> Transmit {
        Transmit(byteCount: byteCount, source: local, destination: remote, transport: transport)
    }
}

package enum ICEEvent: Hashable, Sendable {
    case stateChanged(ICEState)
    /// Media goes this way from now on. Where `local` is a relayed address, the datagrams go through its server.
    /// With the statistics of that moment, which name the pair: it may be gone when somebody looks.
    case selectedPathChanged(ICEPath, ICEStatistics)
    /// An address of ours that the peer is to be told (RFC 8838 §4).
    case localCandidate(ICECandidate)
    /// All of ours have been told (RFC 8838 §13).
    case localCandidatesEnded
    /// The peer takes TCP connections there, and nothing else has worked so far: connect, then call `didConnect`.
    case connectionWanted(to: SocketAddress)
}

/// What became of a datagram that was handed to an agent.
package enum ICEInput: Hashable, Sendable {
    /// An authenticated message.
    case handled
    /// Not for this agent, damaged or forged: nothing changed.
    case ignored
}

/// W3C `RTCIceCandidatePairStats` of the selected pair, and the agent's totals.
package struct ICEStatistics: Hashable, Sendable {
    /// Connectivity checks, without retransmissions and consent checks.
    package var requestsSent: UInt64 = 0
    package var requestsReceived: UInt64 = 0
    package var responsesSent: UInt64 = 0
    package var responsesReceived: UInt64 = 0
    package var consentRequestsSent: UInt64 = 0
    package var currentRoundTripTime: Duration?
    /// Sum over `roundTripTimeMeasurements`.
    package var totalRoundTripTime: Duration = .zero
    package var roundTripTimeMeasurements: UInt64 = 0
    /// Messages that failed authentication or parsing.
    package var messagesDiscarded: UInt64 = 0
    package var selectedLocal: ICECandidate?
    package var selectedRemote: ICECandidate?
}
