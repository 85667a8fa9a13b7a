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
    var selectedPathChanges = 0
    let use: SocketUse
    /// Also where the connection has none: it closes the channels that are asked for.
    var dataChannels: DataChannelLink?
    /// Sockets that only this peer uses; empty where it uses the shared ones.
    var ownSockets: [UDPSocket]

    init(engine: Engine, owner: any PeerOwner, use: SocketUse, ownSockets: [UDPSocket] = []) {
        self.engine = engine
        self.owner = owner
        self.use = use
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

/// What a hub tells its session. All calls come on the loop's thread.
protocol PeerHubOwner: AnyObject {
    /// `reason` is a sentence for the person who entered the server.
    func iceServerDidFail(url: String, reason: String)
}

/// All peer connections of a session on one thread: the shared sockets, which peer a datagram is for, and whose turn it
/// is. Confined to the event loop's thread. Candidates and addresses stand in extensions.
final class PeerHub: EventLoopClient {
    private static let maximumPeers = 256

    let loop: EventLoop
    let wallClock: WallClock
    let options: Session.Options
    weak var owner: (any PeerHubOwner)?
    private let security: DTLSContext
    /// RFC 8445 §14.2 counts by process: the sessions of an application share its network.
    static let pacer = TransactionPacer()
    let batch = DatagramBatch()
    let names: ServerNames
    let connector: TURNConnector
    var addresses: [IPAddress]
    /// Servers of the options, or of the room where there are none.
    var endpoints: [ServerEndpoint] = []
    var gatherings: [Gathering] = []
    var regathering = RegatheringSchedule()
    var addressWatch = AddressWatch()
    var sockets: [UDPSocket] = []
    /// For peers behind firewalls that let no UDP through.
    private(set) lazy var tcp = TCPTransport(loop: loop, ports: options.ports) { [weak self] fragment in
        self?.peers.first { $0.engine.ownsLocalFragment(fragment) }
    }
    private(set) var peers: [Peer] = []
    /// Which peer a path was last used by: what most datagrams are told apart by.
    private var peerOfPath: [ICEPath: Peer] = [:]
    private var participants: [any TurnParticipant] = []

    init(loop: EventLoop, options: Session.Options) throws(SessionError) {
        self.loop = loop
        self.options = options
        wallClock = SystemClock.wallClock()
        names = ServerNames(loop: loop)
        connector = TURNConnector(loop: loop, authorities: options.certificateAuthorities)
        security = try Self.security(options, wallClock)
        addresses = try options.addresses.resolve()
        do throws(ICEServerError) {
            endpoints = try ServerEndpoint.read(options.iceServers)
        } catch {
            throw .invalidState(error.description)
        }
        sockets = try bind(addresses)
        loop.setClient(self)
        watchAddresses()
    }

    private static func security(_ options: Session.Options, _ wallClock: WallClock) throws(SessionError) -> DTLSContext
    {
        let unixTime = (wallClock.unixNanosecondsAtZero &+ SystemClock.now().nanoseconds) / 1_000_000_000
        let stored: Certificate? =
            if let path = options.certificateFile {
                try CertificateFile(path: path).certificate(unixTime: unixTime)
            } else { nil }
        var random = SecureRandom()
        do throws(OpenSSLError) {
            if let stored { return try DTLSContext(certificate: stored) }
            return try DTLSContext(certificate: Certificate(unixTime: unixTime, using: &random))
        } catch {
            throw .system("The session's certificate cannot be made. \(error)")
        }
    }

    var binder: UDPBinder {
        UDPBinder(loop: loop, ports: options.ports) { [weak self] datagram, source, local in
            self?.receive(&datagram, path: ICEPath(local: local, remote: source))
        }
    }

    /// Sockets for these addresses; one that cannot be had is passed over, unless none can.
    func bind(_ addresses: [IPAddress]) throws(SessionError) -> [UDPSocket] {
        var sockets: [UDPSocket] = []
        var failures: [String] = []
        for ip in addresses {
            do throws(SystemError) {
                let socket = try binder.bind(ip)
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
        media: [PeerConfiguration.Media], hasDataChannels: Bool = false, sockets use: SocketUse, owner: any PeerOwner,
        now: Instant
    ) -> Peer? {
        guard peers.count < Self.maximumPeers, let security = try? DTLSSRTPSecurity(context: security),
            let own = use == .own ? try? bind(addresses) : []
        else { return nil }
        if usesTCP { tcp.listen(on: addresses) }
        var configuration = PeerConfiguration(
            media: media, wallClock: wallClock, localAddresses: (use == .own ? own : sockets).map(\.localAddress),
            passiveAddresses: tcp.localAddresses, iceOptions: iceOptions, gathersCandidates: !endpoints.isEmpty)
        configuration.hasDataChannels = hasDataChannels
        let engine = Engine(
            configuration: configuration, security: security, pacer: Self.pacer, random: RandomSource(SecureRandom()),
            now: now)
        engine.packetTap = options.packetDump?.tap(wallClock: wallClock)
        let peer = Peer(engine: engine, owner: owner, use: use, ownSockets: own)
        peers.append(peer)
        gatherCandidates(for: peer, now: now)
        return peer
    }

    /// Says goodbye to a peer and forgets it.
    func close(_ peer: Peer, now: Instant) {
        guard peers.contains(where: { $0 === peer }) else { return }
        peer.engine.close()
        peer.dataChannels?.end(reason: "The connection was closed.")
        send(from: peer, now: now)
        batch.flush()
        tcp.close(peer)
        peers.removeAll { $0 === peer }
        peerOfPath = peerOfPath.filter { $0.value !== peer }
        peerOfUnvalidatedPath = peerOfUnvalidatedPath.filter { $0.value !== peer }
        for socket in peer.ownSockets { close(socket) }
        for gathering in gatherings where gathering.peer === peer { gathering.close(now: now) }
        sendOfGatherings(now: now)
    }

    func close(_ socket: UDPSocket) {
        socket.close()
        batch.remove(socket)
    }

    func add(_ participant: any TurnParticipant) {
        participants.append(participant)
    }

    func remove(_ participant: any TurnParticipant) {
        participants.removeAll { $0 === participant }
    }

    /// Ends everything: goodbyes are sent, relayed addresses given back, sockets closed.
    func shutdown(now: Instant) {
        for peer in peers { close(peer, now: now) }
        for gathering in gatherings { gathering.close(now: now) }
        sendOfGatherings(now: now)
        batch.flush()
        for gathering in gatherings { gathering.closeSockets() }
        gatherings.removeAll()
        for socket in sockets { close(socket) }
        sockets.removeAll()
        tcp.close()
        addressWatch.close()
        participants.removeAll()
        loop.setClient(nil)
    }

    // MARK: Turns

    func turnDidEnd(now: Instant) {
        for participant in participants { participant.turn(now: now) }
        updateAddressesIfDue(now: now)
        turnGatherings(now: now)
        tcp.turn(now: now)
        for peer in peers {
            if let deadline = peer.engine.nextDeadline, deadline <= now { peer.engine.handleTimeout(now: now) }
            while let event = peer.engine.pollEvent() {
                if case .connectionWanted(let remote) = event { connect(peer, to: remote, now: now) }
                peer.owner?.peer(peer, didEmit: event, now: now)
            }
            peer.dataChannels?.advance()
            peer.owner?.peerDidAdvance(peer, now: now)
            send(from: peer, now: now)
        }
        sendOfGatherings(now: now)
        batch.flush()
    }

    private func send(from peer: Peer, now: Instant) {
        while batch.append({ slot in
            while let transmit = peer.engine.pollTransmit(into: &slot, now: now) {
                if transmit.transport == .tcp {
                    tcp.send(slot.bytes, transmit, now: now)
                    continue
                }
                guard let relay = gatherings.first(where: { $0.isRelayed(transmit.source) }) else { return transmit }
                if let wrapped = relay.wrap(transmit, in: &slot, now: now) { return wrapped }
            }
            return nil
        }) {}
    }

    private func sendOfGatherings(now: Instant) {
        for gathering in gatherings {
            while batch.append({ slot in gathering.pollTransmit(into: &slot, now: now) }) {}
        }
    }

    var nextDeadline: Instant? {
        var deadline = Instant.distantFuture
        for peer in peers { if let other = peer.engine.nextDeadline { deadline = min(deadline, other) } }
        for participant in participants { if let other = participant.nextDeadline { deadline = min(deadline, other) } }
        for gathering in gatherings { if let other = gathering.nextDeadline { deadline = min(deadline, other) } }
        for other in [regathering.deadline, addressWatch.deadline, tcp.nextDeadline] {
            if let other { deadline = min(deadline, other) }
        }
        return deadline == .distantFuture ? nil : deadline
    }

    // MARK: Whose datagram is it?

    func receive(_ datagram: inout MutableRawSpan, path: ICEPath) {
        let now = SystemClock.now()
        for gathering in gatherings where gathering.isServer(path.remote) {
            switch gathering.handle(datagram.bytes, path: path, now: now) {
            case .ignored: continue
            case .handled: return
            case .data(let range, let relayed, let peer):
                datagram.withUnsafeMutableBytes { bytes in
                    var payload = UnsafeMutableRawBufferPointer(rebasing: bytes[range]).mutableBytes
                    deliver(&payload, path: ICEPath(local: relayed, remote: peer), now: now)
                }
                return
            }
        }
        deliver(&datagram, path: path, now: now)
    }

    private func deliver(_ datagram: inout MutableRawSpan, path: ICEPath, now: Instant) {
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

    /// What stood on an address that is gone is another's when it comes back.
    func forgetPaths(base: SocketAddress) {
        peerOfPath = peerOfPath.filter { $0.key.local != base }
        peerOfUnvalidatedPath = peerOfUnvalidatedPath.filter { $0.key.local != base }
    }

    private func remember(_ peer: Peer, _ path: ICEPath) {
        if peerOfUnvalidatedPath.count >= Self.maximumPeers { peerOfUnvalidatedPath.removeAll() }
        peerOfUnvalidatedPath[path] = peer
    }
}
