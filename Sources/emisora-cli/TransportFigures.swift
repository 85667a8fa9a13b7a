import Emisora

/// How a connection ran, in W3C webrtc-stats' names, flattened.
struct TransportFigures: Encodable {
    var iceState: String
    var localCandidateType: String?
    var localAddress: String?
    var remoteCandidateType: String?
    var remoteAddress: String?
    var `protocol`: String?
    var relayProtocol: String?
    var currentRoundTripTime: Double?
    var selectedCandidatePairChanges: Int

    init(_ transport: TransportStatistics) {
        let pair = transport.selectedCandidatePair
        iceState = transport.iceState.rawValue
        localCandidateType = pair?.local.candidateType.rawValue
        localAddress = pair?.local.address.description
        remoteCandidateType = pair?.remote.candidateType.rawValue
        remoteAddress = pair?.remote.address.description
        self.protocol = pair?.local.protocol
        relayProtocol = pair?.local.relayProtocol?.rawValue
        currentRoundTripTime = pair?.currentRoundTripTime
        selectedCandidatePairChanges = transport.selectedCandidatePairChanges
    }
}

extension CandidatePairStatistics {
    /// `10.0.0.2:50000 (host) to 10.0.0.7:40000 (srflx) by udp`.
    var text: String {
        let way = local.relayProtocol.map { ", the relay by \($0.rawValue)" } ?? ""
        return "\(local.address) (\(local.candidateType.rawValue)) to \(remote.address) "
            + "(\(remote.candidateType.rawValue)) by \(local.protocol)\(way)"
    }
}
