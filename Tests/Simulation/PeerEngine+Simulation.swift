import EmisoraCore
import EmisoraICE
import EmisoraPeerEngine

extension PeerEngine: SimulatedPeer {
    package func handle(
        datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant
    ) {
        handle(datagram: &datagram, path: ICEPath(local: local, remote: remote), now: now)
    }
}
