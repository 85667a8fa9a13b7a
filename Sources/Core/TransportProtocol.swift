/// What carries a packet between two addresses. UDP keeps packets apart; on TCP each has its length in front (RFC 4571).
package enum TransportProtocol: String, Hashable, Sendable {
    case udp
    case tcp
}
