import EmisoraCore
import EmisoraEventLoop

/// Paths over TCP: for whom there are any.
extension PeerHub {
    /// Those who may only learn relayed addresses cannot be connected with.
    var usesTCP: Bool { options.usesTCPCandidates && options.iceTransportPolicy == .all }

    func addListeners(on new: [IPAddress], now: Instant) {
        // The first peer brings the listeners.
        guard usesTCP, !peers.isEmpty else { return }
        for address in tcp.listen(on: new) {
            for peer in peers { peer.engine.addPassiveHost(address, now: now) }
        }
    }

    func removeListener(on ip: IPAddress, now: Instant) {
        guard let lost = tcp.stopListening(on: ip) else { return }
        for peer in peers { peer.engine.removeLocal(base: lost, transport: .tcp, now: now) }
    }

    /// A peer chooses where to: as browsers do, not to the services of whoever is behind the same firewall as we are.
    func connect(_ peer: Peer, to remote: SocketAddress, now: Instant) {
        guard usesTCP, remote.port >= 1_024 || remote.port == 443 || remote.port == 80,
            !remote.ip.isLoopback || addresses.contains(where: \.isLoopback),
            let local = NetworkInterfaces.source(towards: remote, among: addresses)
        else { return }
        tcp.connect(peer, to: remote, from: local, now: now)
    }
}
