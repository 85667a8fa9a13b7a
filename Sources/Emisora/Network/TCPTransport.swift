import EmisoraCore
import EmisoraEventLoop
import EmisoraICE
import EmisoraSTUN

/// The TCP connections of a session (RFC 6544): taken on one socket for each local address, which all peers share, or made
/// for a peer that can be reached no other way. Confined to the loop's thread.
///
/// A connection says nothing of who made it: the first authentic check does (by our fragment of the user name, and the
/// password of it), and until then nothing else is taken from it.
final class TCPTransport {
    private static let maximumConnections = 512
    /// Of those that have not proven whose they are; beyond it the oldest gives way.
    private static let maximumStrangers = 64
    /// From one address, or one /64 of IPv6.
    private static let maximumStrangersFromOneSite = 16
    /// A browser has two or three: one for each of our addresses, twice during a restart.
    private static let maximumConnectionsOfOnePeer = 16

    private let loop: EventLoop
    private let ports: ClosedRange<UInt16>?
    private let peerOfFragment: (String) -> Peer?
    private var listeners: [TCPListener] = []
    private var connections: [ICEPath: TCPConnection] = [:]
    private var strangers = Strangers<ICEPath>()
    /// No connection's time is over before that.
    private(set) var nextDeadline: Instant?

    /// - Parameter peerOfFragment: Whose our fragment of a check's user name is.
    init(loop: EventLoop, ports: ClosedRange<UInt16>?, peerOfFragment: @escaping (String) -> Peer?) {
        self.loop = loop
        self.ports = ports
        self.peerOfFragment = peerOfFragment
    }

    /// Where connections are taken, best first.
    var localAddresses: [SocketAddress] { listeners.map(\.localAddress) }

    /// Takes connections on these addresses, too; where that cannot be, UDP has to do. Gives what is new.
    @discardableResult
    func listen(on addresses: [IPAddress]) -> [SocketAddress] {
        var added: [SocketAddress] = []
        for ip in addresses where !listeners.contains(where: { $0.localAddress.ip == ip }) {
            let listener = try? SocketBinder(ports: ports).bind(ip, "Listening for TCP on") {
                address throws(SystemError) in
                try TCPListener(binding: address, on: loop) { [weak self] stream in self?.take(stream) }
            }
            guard let listener else { continue }
            listeners.append(listener)
            added.append(listener.localAddress)
        }
        return added
    }

    /// This machine no longer has that address. Gives where connections were taken on it.
    func stopListening(on ip: IPAddress) -> SocketAddress? {
        for connection in connections.values where connection.path.local.ip == ip { connectionDidEnd(connection) }
        guard let index = listeners.firstIndex(where: { $0.localAddress.ip == ip }) else { return nil }
        let listener = listeners.remove(at: index)
        listener.close()
        return listener.localAddress
    }

    /// Connects for a peer; its engine is told when the connection stands.
    func connect(_ peer: Peer, to remote: SocketAddress, from local: IPAddress, now: Instant) {
        guard hasRoom(for: peer),
            let stream = try? StreamSocket(connectingTo: remote, from: local, on: loop)
        else { return }
        add(TCPConnection(stream, peer: peer, now: now))
    }

    /// Sends what an engine wrote, where its connection still stands.
    func send(_ buffer: RawSpan, _ transmit: Transmit, now: Instant) {
        let path = ICEPath(local: transmit.source, remote: transmit.destination, transport: .tcp)
        connections[path]?.send(buffer.extracting(first: transmit.byteCount), now: now)
    }

    /// A peer is gone, and so are its connections.
    func close(_ peer: Peer) {
        for (path, connection) in connections where connection.peer === peer {
            connections[path] = nil
            connection.close()
        }
    }

    func close() {
        for listener in listeners { listener.close() }
        for connection in connections.values { connection.close() }
        listeners.removeAll()
        connections.removeAll()
        strangers = Strangers()
        nextDeadline = nil
    }

    /// Ends the connections whose time is over.
    func turn(now: Instant) {
        guard let nextDeadline, now >= nextDeadline else { return }
        for connection in connections.values where connection.deadline <= now { connectionDidEnd(connection) }
        self.nextDeadline = connections.values.lazy.map(\.deadline).min()
    }

    // MARK: Inside

    private func take(_ stream: StreamSocket) {
        let address = stream.remoteAddress.ip
        // Somebody new is heard; who has said nothing so far has had its time.
        if strangers.count(from: address) >= Self.maximumStrangersFromOneSite {
            end(strangers.oldest { $0.site == address.site })
        } else if strangers.count >= Self.maximumStrangers || connections.count >= Self.maximumConnections {
            end(strangers.oldestOfTheMostCrowded)
        }
        guard connections.count < Self.maximumConnections else { return stream.close() }
        let now = SystemClock.now()
        let connection = TCPConnection(stream, peer: nil, now: now)
        strangers.enter(connection.path, from: address, now: now)
        add(connection)
    }

    private func end(_ stranger: ICEPath?) {
        if let connection = stranger.flatMap({ connections[$0] }) { connectionDidEnd(connection) }
    }

    private func add(_ connection: TCPConnection) {
        connection.owner = self
        connections[connection.path] = connection
        nextDeadline = min(nextDeadline ?? connection.deadline, connection.deadline)
    }

    private func hasRoom(for peer: Peer) -> Bool {
        connections.count < Self.maximumConnections
            && connections.values.count { $0.peer === peer } < Self.maximumConnectionsOfOnePeer
    }
}

extension TCPTransport: TCPConnectionOwner {
    func connectionDidConnect(_ connection: TCPConnection) {
        connection.peer?.engine.didConnect(connection.path, now: SystemClock.now())
    }

    func connection(_ connection: TCPConnection, didReceiveFirst packet: inout MutableRawSpan) -> Bool {
        guard STUNMessage.looksLikeSTUN(packet.bytes), let fragment = STUNUsername.localFragment(of: packet.bytes)
        else {
            return false
        }
        // The description that it comes from may be one that we have just replaced.
        guard let peer = peerOfFragment(fragment) else { return true }
        let now = SystemClock.now()
        guard peer.engine.handle(datagram: &packet, path: connection.path, now: now) else { return true }
        guard hasRoom(for: peer) else {
            // The check has made the engine count on this path.
            peer.engine.didDisconnect(connection.path, now: now)
            return false
        }
        strangers.leave(connection.path)
        connection.belong(to: peer, now: now)
        return true
    }

    func connectionDidEnd(_ connection: TCPConnection) {
        connections[connection.path] = nil
        strangers.leave(connection.path)
        connection.close()
        connection.peer?.engine.didDisconnect(connection.path, now: SystemClock.now())
    }
}
