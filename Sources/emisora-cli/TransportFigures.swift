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
