import EmisoraCore

/// An address translator in front of one side: each inside address gets a port outside, whatever the destination, and
/// only those may send back who were sent to (RFC 4787: endpoint-independent mapping, address and port-dependent
/// filtering).
package struct SimulatedNAT: Sendable {
    private let address: IPAddress
    private var nextPort: UInt16
    private var outsideOfInside: [SocketAddress: SocketAddress] = [:]
    private var insideOfOutside: [SocketAddress: SocketAddress] = [:]
    private var permitted: [SocketAddress: Set<SocketAddress>] = [:]

    package init(address: IPAddress, firstPort: UInt16 = 40_000) {
        self.address = address
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
        let mapped: SocketAddress
        if let known = outsideOfInside[source] {
            mapped = known
        } else {
            mapped = SocketAddress(ip: address, port: nextPort)
            nextPort += 1
            outsideOfInside[source] = mapped
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
