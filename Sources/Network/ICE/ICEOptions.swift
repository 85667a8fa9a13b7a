import EmisoraCore

/// Which of our addresses an ICE agent uses, and what it says of them.
package struct ICEOptions: Sendable {
    /// Only relayed candidates are told and used (W3C `iceTransportPolicy: "relay"`): the peer never learns an address
    /// of this machine, and nothing that comes to one is answered.
    package var isRelayOnly: Bool
    /// NAT 1:1: the addresses outside by those inside. A machine of a cloud, or a container, that is reached under
    /// another address than it sees tells that one; sockets stay as they are.
    package var publicAddresses: [IPAddress: IPAddress]
    /// Whether a candidate of ours may be told and used; `nil`: all.
    package var filter: (@Sendable (ICECandidate) -> Bool)?

    package init(
        isRelayOnly: Bool = false, publicAddresses: [IPAddress: IPAddress] = [:],
        filter: (@Sendable (ICECandidate) -> Bool)? = nil
    ) {
        self.isRelayOnly = isRelayOnly
        self.publicAddresses = publicAddresses
        self.filter = filter
    }

    func allows(_ candidate: ICECandidate) -> Bool {
        (!isRelayOnly || candidate.type == .relayed) && filter?(candidate) != false
    }
}
