import EmisoraCore
import EmisoraICE
import EmisoraPeerEngine
import EmisoraTURN

/// How one peer connection reaches the other side (W3C `RTCTransportStats`).
public struct TransportStatistics: Sendable, Equatable {
    /// Which connection it is, as ``SessionEvent`` names it.
    public var connection: String
    /// W3C `RTCIceTransportState`.
    public enum ICEState: String, Hashable, Sendable {
        case new, checking, connected, disconnected, failed, closed
    }

    public var iceState: ICEState
    /// `nil` before the first path works, and when none does any more.
    public var selectedCandidatePair: CandidatePairStatistics?
    /// How often the pair has changed, the first one included.
    public var selectedCandidatePairChanges: Int
}

/// The pair of addresses that media goes by (W3C `RTCIceCandidatePairStats`).
public struct CandidatePairStatistics: Sendable, Equatable {
    public var local: CandidateStatistics
    public var remote: CandidateStatistics
    /// In seconds, of the last check; `nil` before the first.
    public var currentRoundTripTime: Double?
    /// In seconds, summed over `responsesReceived`.
    public var totalRoundTripTime: Double
    public var responsesReceived: UInt64
    public var requestsSent: UInt64
    public var consentRequestsSent: UInt64
}

/// One end of a pair (W3C `RTCIceCandidateStats`).
public struct CandidateStatistics: Sendable, Equatable {
    /// W3C `RTCIceCandidateType`.
    public enum CandidateType: String, Hashable, Sendable {
        case host, srflx, prflx, relay
    }

    /// W3C `RTCIceServerTransportProtocol`.
    public enum RelayProtocol: String, Hashable, Sendable {
        case udp, tcp, tls
    }

    public var candidateType: CandidateType
    public var address: SocketAddress
    /// `udp` or `tcp`.
    public var `protocol`: String
    /// How our relay is reached; `nil` for candidates that are no relays of ours.
    public var relayProtocol: RelayProtocol?
}

extension SessionCore {
    func transportStatistics(_ peer: Peer, connection: String) -> TransportStatistics {
        let engine = peer.engine
        return TransportStatistics(
            connection: connection, iceState: .init(engine.iceState),
            selectedCandidatePair: engine.selectedPath == nil ? nil : candidatePairStatistics(engine.statistics.ice),
            selectedCandidatePairChanges: peer.selectedPathChanges)
    }

    /// Of the pair that they name.
    func candidatePairStatistics(_ ice: ICEStatistics) -> CandidatePairStatistics? {
        guard let local = ice.selectedLocal, let remote = ice.selectedRemote else { return nil }
        return CandidatePairStatistics(
            local: CandidateStatistics(local, relayProtocol: hub?.transport(ofRelayed: local.base)),
            remote: CandidateStatistics(remote, relayProtocol: nil),
            currentRoundTripTime: ice.currentRoundTripTime?.inSeconds,
            totalRoundTripTime: ice.totalRoundTripTime.inSeconds,
            responsesReceived: ice.roundTripTimeMeasurements, requestsSent: ice.requestsSent,
            consentRequestsSent: ice.consentRequestsSent)
    }
}

extension TransportStatistics.ICEState {
    init(_ state: EmisoraICE.ICEState) {
        self =
            switch state {
            case .new: .new
            case .checking: .checking
            case .connected: .connected
            case .disconnected: .disconnected
            case .failed: .failed
            case .closed: .closed
            }
    }
}

extension CandidateStatistics {
    init(_ candidate: ICECandidate, relayProtocol: ICEServerEndpoint.Transport?) {
        candidateType =
            switch candidate.type {
            case .host: .host
            case .serverReflexive: .srflx
            case .peerReflexive: .prflx
            case .relayed: .relay
            }
        address = candidate.address
        self.protocol = candidate.transport.rawValue
        self.relayProtocol = relayProtocol.map {
            switch $0 {
            case .udp: .udp
            case .tcp: .tcp
            case .tls: .tls
            }
        }
    }
}
