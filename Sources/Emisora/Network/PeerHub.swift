import EmisoraCore
import EmisoraCrypto
import EmisoraDTLS
import EmisoraEventLoop
import EmisoraICE
import EmisoraPeerEngine
import EmisoraSTUN

typealias Engine = PeerEngine<DTLSSRTPSecurity>

/// What one peer connection belongs to: told on the loop's thread after each turn.
protocol PeerOwner: AnyObject {
    func peer(_ peer: Peer, didEmit event: PeerEvent, now: Instant)
    /// The engine moved on: frames may be there to take.
    func peerDidAdvance(_ peer: Peer, now: Instant)
}

/// One peer connection with the one it belongs to.
final class Peer {
    let engine: Engine
    weak var owner: (any PeerOwner)?
    /// Sockets that only this peer uses; empty where it uses the shared ones.
    fileprivate let ownSockets: [UDPSocket]

    init(engine: Engine, owner: any PeerOwner, ownSockets: [UDPSocket] = []) {
        self.engine = engine
        self.owner = owner
        self.ownSockets = ownSockets
    }
}

/// Which sockets a peer connection uses.
enum SocketUse {
    /// One for each local address, shared by all: what a publisher serves its many receivers with.
    case shared
    /// Its own. Who receives several streams of one publisher would otherwise have several connections between the same
    /// two addresses, which nothing could tell apart.
    case own
}

/// Work on the network thread that is not a peer's: encoded frames to hand out, timers of the session.
protocol TurnParticipant: AnyObject {
    func turn(now: Instant)
    var nextDeadline: Instant? { get }
}

/// All peer connections of a session on one thread: the shared sockets, which peer a datagram is for, and whose turn it
/// is. Confined to the event loop's thread.
final class PeerHub: EventLoopClient {
    private static let maximumPeers = 256

    let loop: EventLoop
    let wallClock: WallClock
    private let security: DTLSContext
    private let pacer = CheckPacer()
    private let batch = DatagramBatch()
    private let addresses: [IPAddress]
    private let packetDump: PacketDump?
    private var sockets: [UDPSocket] = []
    private var peers: [Peer] = []
    /// Which peer a path was last used by: what most datagrams are told apart by.
    private var peerOfPath: [ICEPath: Peer] = [:]
    private var participants: [any TurnParticipant] = []

    init(loop: EventLoop, addresses: NetworkAddresses, packetDump: PacketDump?) throws(SessionError) {
        self.loop = loop
        self.packetDump = packetDump
        wallClock = SystemClock.wallClock()
        var random = SecureRandom()
        do throws(OpenSSLError) {
            let unixTime = (wallClock.unixNanosecondsAtZero &+ SystemClock.now().nanoseconds) / 1_000_000_000
            security = try DTLSContext(certificate: Certificate(unixTime: unixTime, using: &random))
        } catch {
            throw .system("The session's certificate cannot be made. \(error)")
        }
        self.addresses = try addresses.resolve()
        sockets = try bind()
        loop.setClient(self)
    }

    private func bind() throws(SessionError) -> [UDPSocket] {
        var sockets: [UDPSocket] = []
        var failures: [String] = []
        for ip in addresses {
            do throws(SystemError) {
                let socket = try UDPSocket(binding: SocketAddress(ip: ip, port: 0), on: loop) {
                    [unowned self] datagram, source, local in
                    receive(&datagram, path: ICEPath(local: local, remote: source))
                }
                batch.add(socket)
                sockets.append(socket)
            } catch {
                failures.append(error.description)
            }
        }
        guard !sockets.isEmpty else {
            throw .system("No UDP socket could be opened. \(failures.joined(separator: " "))")
        }
        return sockets
    }

    // MARK: Peers

    /// Makes a peer connection; `nil` when there are too many.
    func makePeer(
        media: [PeerConfiguration.Media], sockets use: SocketUse, owner: any PeerOwner, now: Instant
    ) -> Peer? {
        guard peers.count < Self.maximumPeers, let security = try? DTLSSRTPSecurity(context: security),
            let own = use == .own ? try? bind() : []
        else { return nil }
        let engine = Engine(
            configuration: PeerConfiguration(
                media: media, wallClock: wallClock,
                localAddresses: (use == .own ? own : sockets).map(\.localAddress)),
            security: security, pacer: pacer, random: RandomSource(SecureRandom()), now: now)
        engine.packetTap = packetDump?.tap(wallClock: wallClock)
        let peer = Peer(engine: engine, owner: owner, ownSockets: own)
        peers.append(peer)
        return peer
    }

    /// Says goodbye to a peer and forgets it.
    func close(_ peer: Peer, now: Instant) {
        peer.engine.close()
        send(from: peer, now: now)
        batch.flush()
        peers.removeAll { $0 === peer }
        peerOfPath = peerOfPath.filter { $0.value !== peer }
        peerOfUnvalidatedPath = peerOfUnvalidatedPath.filter { $0.value !== peer }
        for socket in peer.ownSockets {
            socket.close()
            batch.remove(socket)
        }
    }

    func add(_ participant: any TurnParticipant) {
        participants.append(participant)
    }

    func remove(_ participant: any TurnParticipant) {
        participants.removeAll { $0 === participant }
    }

    /// Ends everything: goodbyes are sent, sockets closed.
    func shutdown(now: Instant) {
        for peer in peers { close(peer, now: now) }
        for socket in sockets { socket.close() }
        sockets.removeAll()
        participants.removeAll()
        loop.setClient(nil)
    }

    // MARK: Turns

    func turnDidEnd(now: Instant) {
        for participant in participants { participant.turn(now: now) }
        for peer in peers {
            if let deadline = peer.engine.nextDeadline, deadline <= now { peer.engine.handleTimeout(now: now) }
            while let event = peer.engine.pollEvent() { peer.owner?.peer(peer, didEmit: event, now: now) }
            peer.owner?.peerDidAdvance(peer, now: now)
            send(from: peer, now: now)
        }
        batch.flush()
    }

    private func send(from peer: Peer, now: Instant) {
        while batch.append({ slot in peer.engine.pollTransmit(into: &slot, now: now) }) {}
    }

    var nextDeadline: Instant? {
        var deadline = Instant.distantFuture
        for peer in peers { if let other = peer.engine.nextDeadline { deadline = min(deadline, other) } }
        for participant in participants { if let other = participant.nextDeadline { deadline = min(deadline, other) } }
        return deadline == .distantFuture ? nil : deadline
    }

    // MARK: Whose datagram is it?

    private func receive(_ datagram: inout MutableRawSpan, path: ICEPath) {
        let now = SystemClock.now()
        guard let peer = owner(of: datagram.bytes, path: path) else { return }
        peer.engine.handle(datagram: &datagram, path: path, now: now)
        if peerOfPath[path] == nil, peer.engine.isValidated(path) { peerOfPath[path] = peer }
    }

    /// STUN is told apart by transaction id or by our fragment of the user name, which the peer's engine then
    /// authenticates; the rest by the path, once a check on it has succeeded.
    private func owner(of datagram: RawSpan, path: ICEPath) -> Peer? {
        guard STUNMessage.looksLikeSTUN(datagram) else {
            // Before its path is validated a peer may already speak DTLS; the one whose check came from there holds it.
            return peerOfPath[path] ?? peerOfUnvalidatedPath[path]
        }
        if let fragment = STUNUsername.localFragment(of: datagram) {
            let peer = peers.first { $0.engine.ownsLocalFragment(fragment) }
            if let peer, peerOfPath[path] == nil { remember(peer, path) }
            return peer
        }
        guard let message = try? STUNMessage(parsing: datagram) else { return nil }
        return peers.first { $0.engine.ownsTransaction(message.transactionID) } ?? peerOfPath[path]
    }

    /// Paths that checks named us on but that are not validated yet; few, the newest kept.
    private var peerOfUnvalidatedPath: [ICEPath: Peer] = [:]

    private func remember(_ peer: Peer, _ path: ICEPath) {
        if peerOfUnvalidatedPath.count >= Self.maximumPeers { peerOfUnvalidatedPath.removeAll() }
        peerOfUnvalidatedPath[path] = peer
    }
}
