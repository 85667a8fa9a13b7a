/// Where a datagram goes that a protocol machine has just written into the caller's buffer.
///
/// `source` is the local address whose socket must send it: with one shared socket per local address, the pair
/// (source, destination) names the path. Over TCP the pair names a connection.
package struct Transmit: Hashable, Sendable {
    package var byteCount: Int
    package var source: SocketAddress
    package var destination: SocketAddress
    package var transport: TransportProtocol

    package init(
        byteCount: Int, source: SocketAddress, destination: SocketAddress, transport: TransportProtocol = .udp
    ) {
        self.byteCount = byteCount
        self.source = source
        self.destination = destination
        self.transport = transport
    }
}
