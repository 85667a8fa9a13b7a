import EmisoraCore

/// An address translator in front of one side; only those may send back who were sent to (RFC 4787: address and
/// port-dependent filtering).
package struct SimulatedNAT: Sendable {
    /// What decides over the port outside (RFC 4787 §4.1).
    package enum Mapping: Sendable {
        /// Each inside address gets one, whatever the destination.
        case endpointIndependent
        /// Each destination another one: a "symmetric" NAT, through which no address can be foretold.
        case addressAndPortDependent
    }

    private struct Key: Hashable {
        let source: SocketAddress
        let destination: SocketAddress?
    }

    package let address: IPAddress
    private let mapping: Mapping
    private var nextPort: UInt16
    private var outsideOfInside: [Key: SocketAddress] = [:]
    private var insideOfOutside: [SocketAddress: SocketAddress] = [:]
    private var permitted: [SocketAddress: Set<SocketAddress>] = [:]

    package init(address: IPAddress, mapping: Mapping = .endpointIndependent, firstPort: UInt16 = 40_000) {
        self.address = address
        self.mapping = mapping
        nextPort = firstPort
    }

    /// Forgets all mappings, as after a restart of the box: what is sent next comes from other ports, and what was
    /// open is closed.
    package mutating func rebind() {
        outsideOfInside.removeAll()
        insideOfOutside.removeAll()
        permitted.removeAll()
    }

    mutating func outside(of source: SocketAddress, to destination: SocketAddress) -> SocketAddress {
        let key = Key(source: source, destination: mapping == .endpointIndependent ? nil : destination)
        let mapped: SocketAddress
        if let known = outsideOfInside[key] {
            mapped = known
        } else {
            mapped = SocketAddress(ip: address, port: nextPort)
            nextPort += 1
            outsideOfInside[key] = mapped
            insideOfOutside[mapped] = source
        }
        permitted[mapped, default: []].insert(destination)
        return mapped
    }

    /// Where a datagram goes that arrives at `destination`; `nil`: nowhere.
    func inside(of destination: SocketAddress, from source: SocketAddress) -> SocketAddress? {
        guard permitted[destination]?.contains(source) == true else { return nil }
        return insideOfOutside[destination]
    }
}
