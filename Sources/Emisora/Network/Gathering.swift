import EmisoraCore
import EmisoraCrypto
import EmisoraEventLoop
import EmisoraICE
import EmisoraSTUN
import EmisoraTURN

/// Who is told what a gathering finds. All calls come on the loop's thread.
protocol GatheringOwner: AnyObject {
    func gathering(_ gathering: Gathering, didFind candidate: Gathering.Candidate, now: Instant)
    /// A relayed address is gone.
    func gathering(_ gathering: Gathering, didLose relayed: SocketAddress, now: Instant)
    func gatheringDidFinish(_ gathering: Gathering, now: Instant)
    /// `reason` is a sentence for the person who entered the server.
    func gathering(_ gathering: Gathering, serverDidFail url: String, reason: String)
    /// A whole message of a TCP or TLS connection to a server.
    func gathering(_ gathering: Gathering, didReceive message: inout MutableRawSpan, path: ICEPath)
}

/// Asks the ICE servers on behalf of some sockets: for the addresses that NATs show them under, and for relayed
/// addresses, for which it has sockets and connections of its own, since an allocation belongs to a five-tuple. Confined
/// to the loop's thread.
///
/// ```
/// resolving ──names known, or 3 s──▶ asking ──all answered, or 10 s──▶ finished, kept alive
/// ```
final class Gathering: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: everything is touched on the loop's thread only; what the resolver finds
    // comes there.

    enum Candidate {
        case serverReflexive(SocketAddress, base: SocketAddress, server: IPAddress)
        case relayed(SocketAddress, mapped: SocketAddress, server: IPAddress, preference: UInt16)
    }

    /// What gatherings of a session have in common.
    struct Environment {
        let loop: EventLoop
        let names: ServerNames
        let batch: DatagramBatch
        let binder: UDPBinder
        /// Of the machine's addresses those that may be used.
        let addresses: [IPAddress]
        let connector: TURNConnector
        let pacer: TransactionPacer
    }

    private static let nameTimeout: Duration = .seconds(3)
    private static let closeTimeout: Duration = .seconds(2)

    /// The peer that it works for alone; `nil`: for all that share the publisher's sockets.
    weak var peer: Peer?
    let isShared: Bool
    private(set) var found: [Candidate] = []
    private(set) var isFinished = false
    /// Whether it asks again for relayed addresses that were lost.
    var isForRelaysAlone: Bool { asksRelays && hosts.isEmpty }
    private let endpoints: [ServerEndpoint]
    private let hosts: [SocketAddress]
    private let asksRelays: Bool
    let environment: Environment
    weak var owner: (any GatheringOwner)?
    private var resolved: [Int: [IPAddress]] = [:]
    private var unresolved = 0
    private var nameDeadline: Instant?
    var closeDeadline: Instant?
    var gatherer: CandidateGatherer?
    var sockets: [SocketAddress: UDPSocket] = [:]
    var streams: [SocketAddress: TURNStream] = [:]
    var endpointOfServer: [CandidateGatherer.Server: ServerEndpoint] = [:]
    private var servers: Set<SocketAddress> = []
    private var transportOfRelayed: [SocketAddress: ICEServerEndpoint.Transport] = [:]

    /// - Parameters:
    ///   - hosts: The sockets that STUN servers are asked about.
    ///   - asksRelays: Whether relayed addresses are wanted.
    init(
        _ endpoints: [ServerEndpoint], hosts: [SocketAddress], asksRelays: Bool = true, peer: Peer? = nil,
        environment: Environment, owner: any GatheringOwner
    ) {
        self.endpoints = endpoints
        self.hosts = hosts
        self.asksRelays = asksRelays
        self.peer = peer
        isShared = peer == nil
        self.environment = environment
        self.owner = owner
    }

    func start(now: Instant) {
        unresolved = endpoints.count
        nameDeadline = now + Self.nameTimeout
        for (index, one) in endpoints.enumerated() {
            environment.names.resolve(one.endpoint.host) { [weak self] result in self?.settle(index, result) }
        }
        if endpoints.isEmpty { ask(now: now) }
    }

    private func settle(_ index: Int, _ result: Result<[IPAddress], HostNames.Failure>) {
        guard gatherer == nil, closeDeadline == nil else { return }
        unresolved -= 1
        switch result {
        case .success(let addresses): resolved[index] = addresses
        case .failure(let failure): fail(endpoints[index].url, failure.description)
        }
        if unresolved == 0 { ask(now: SystemClock.now()) }
    }

    private func fail(_ url: String, _ reason: String) {
        owner?.gathering(self, serverDidFail: url, reason: reason)
    }

    // MARK: Asking

    private func ask(now: Instant) {
        nameDeadline = nil
        var list: [CandidateGatherer.Server] = []
        for (index, one) in endpoints.enumerated() {
            guard let addresses = resolved[index] else {
                if unresolved > 0 {
                    fail(
                        one.url,
                        "The name \(one.endpoint.host) was not resolved within 3 s; is a name server reachable?")
                }
                continue
            }
            let added = servers(of: one, at: addresses)
            for server in added where endpointOfServer[server] == nil { endpointOfServer[server] = one }
            list += added
            // A TURN server over UDP tells addresses as STUN servers do; that it may not is no failure.
            if one.endpoint.isRelay, one.endpoint.transport == .udp { list += questions(one, addresses) }
        }
        for server in list { servers.insert(server.address) }
        gatherer = CandidateGatherer(
            servers: list, pacer: environment.pacer, random: RandomSource(SecureRandom()))
        gatherer?.start(now: now)
        settle(now: now)
    }

    private func servers(of one: ServerEndpoint, at addresses: [IPAddress]) -> [CandidateGatherer.Server] {
        guard one.endpoint.isRelay else {
            guard one.endpoint.transport == .udp else {
                fail(one.url, "stuns: tells nothing that is of use for media over UDP; use stun: instead.")
                return []
            }
            return questions(one, addresses)
        }
        return asksRelays ? relays(one, addresses) : []
    }

    private func questions(_ one: ServerEndpoint, _ addresses: [IPAddress]) -> [CandidateGatherer.Server] {
        [IPAddress.Family.v4, .v6].flatMap { family in
            guard let ip = addresses.first(where: { $0.family == family }) else { return [CandidateGatherer.Server]() }
            return hosts.filter { $0.ip.family == family && (!$0.ip.isLoopback || ip.isLoopback) }.map {
                .init(.stun, address: SocketAddress(ip: ip, port: one.endpoint.port), local: $0)
            }
        }
    }

    /// From each kind of address of the server one relayed address of that kind; a server without IPv4 is asked for both.
    private func relays(_ one: ServerEndpoint, _ addresses: [IPAddress]) -> [CandidateGatherer.Server] {
        let v4 = addresses.first { $0.family == .v4 }
        let v6 = addresses.first { $0.family == .v6 }
        var wanted: [(server: IPAddress, relayed: IPAddress.Family)] = []
        if let v4 { wanted.append((v4, .v4)) }
        if let v6 { wanted += v4 == nil ? [(v6, .v4), (v6, .v6)] : [(v6, .v6)] }
        var result: [CandidateGatherer.Server] = []
        var reasons: [String] = []
        for (ip, family) in wanted {
            let address = SocketAddress(ip: ip, port: one.endpoint.port)
            guard let local = NetworkInterfaces.source(towards: address, among: environment.addresses) else {
                reasons.append("No address of this machine that may be used leads to \(ip).")
                continue
            }
            do throws(TURNConnectError) {
                let from = try open(one, to: address, from: local)
                result.append(
                    .init(
                        .turn(one.credentials, family: family), address: address, local: from,
                        isStream: one.endpoint.transport != .udp))
            } catch {
                reasons.append(error.description)
            }
        }
        if result.isEmpty { fail(one.url, reasons.joined(separator: " ")) }
        return result
    }

    // MARK: Datagrams

    /// Whether datagrams from there may be this one's.
    func isServer(_ address: SocketAddress) -> Bool {
        servers.contains(address) || gatherer?.isRelayServer(address) == true
    }

    func isRelayed(_ address: SocketAddress) -> Bool { gatherer?.isRelayed(address) ?? false }

    /// How that relayed address's server is reached (W3C `relayProtocol`).
    func transport(ofRelayed address: SocketAddress) -> ICEServerEndpoint.Transport? { transportOfRelayed[address] }

    func handle(_ datagram: RawSpan, path: ICEPath, now: Instant) -> CandidateGatherer.Input {
        let input = gatherer?.handle(datagram: datagram, from: path.remote, to: path.local, now: now)
        if input == .handled { settle(now: now) }
        return input ?? .ignored
    }

    /// Wraps a datagram that leaves from a relayed address; gives where it goes, unless it went by a stream.
    func wrap(_ transmit: Transmit, in buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        gatherer?.wrap(transmit, in: &buffer, now: now).flatMap { sendByStream($0, buffer.bytes) }
    }

    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        while let transmit = gatherer?.pollTransmit(into: &buffer, now: now) {
            if let datagram = sendByStream(transmit, buffer.bytes) { return datagram }
        }
        return nil
    }

    private func sendByStream(_ transmit: Transmit, _ bytes: RawSpan) -> Transmit? {
        guard let stream = streams[transmit.source] else { return transmit }
        stream.write(bytes.extracting(first: transmit.byteCount))
        return nil
    }

    // MARK: Time

    var nextDeadline: Instant? {
        let deadline = min(
            nameDeadline ?? .distantFuture, closeDeadline ?? .distantFuture, gatherer?.nextDeadline ?? .distantFuture)
        return deadline == .distantFuture ? nil : deadline
    }

    func handleTimeout(now: Instant) {
        if let nameDeadline, now >= nameDeadline { ask(now: now) }
        if let deadline = gatherer?.nextDeadline, deadline <= now { gatherer?.handleTimeout(now: now) }
        settle(now: now)
    }

    func settle(now: Instant) {
        while let event = gatherer?.pollEvent() {
            switch event {
            case .serverReflexive(let address, let base, let server):
                // What a server tells of the sockets that are for relays alone is no address for media.
                guard hosts.contains(base) else { continue }
                add(.serverReflexive(address, base: base, server: server), now: now)
            case .relayed(let address, let mapped, let server, let preference):
                let stream = gatherer?.base(ofRelayed: address).flatMap { streams[$0] }
                transportOfRelayed[address] = stream.map { $0.isSecure ? .tls : .tcp } ?? .udp
                add(.relayed(address, mapped: mapped, server: server, preference: preference), now: now)
            case .serverFailed(let server, let reason):
                if closeDeadline == nil, let url = endpointOfServer[server]?.url { fail(url, reason) }
            case .redirected(let server, let address): move(server, to: address, now: now)
            case .relayedAddressLost(let address, let reason): lose(address, reason, now: now)
            case .finished:
                isFinished = true
                owner?.gatheringDidFinish(self, now: now)
            }
        }
    }

    private func add(_ candidate: Candidate, now: Instant) {
        found.append(candidate)
        owner?.gathering(self, didFind: candidate, now: now)
    }

    private func lose(_ address: SocketAddress, _ reason: String, now: Instant) {
        found.removeAll { if case .relayed(address, _, _, _) = $0 { true } else { false } }
        guard closeDeadline == nil else { return }
        owner?.gathering(self, didLose: address, now: now)
        fail("\(address)", "A relayed address was lost. \(reason)")
    }

    var hasRelayedAddress: Bool {
        found.contains { if case .relayed = $0 { true } else { false } }
    }

    // MARK: Ends

    /// An address of this machine is gone, with what stood on it.
    func removeLocal(_ ip: IPAddress, now: Instant) {
        found.removeAll { if case .serverReflexive(_, let base, _) = $0 { base.ip == ip } else { false } }
        for base in hosts + Array(sockets.keys) + Array(streams.keys) where base.ip == ip {
            gatherer?.socketFailed(local: base, reason: "This machine no longer has the address \(ip).", now: now)
            if let socket = sockets.removeValue(forKey: base) { close(socket) }
            streams.removeValue(forKey: base)?.close()
        }
        settle(now: now)
    }

    /// Gives relayed addresses back; over when `hasEnded` holds.
    func close(now: Instant) {
        guard closeDeadline == nil else { return }
        closeDeadline = now + Self.closeTimeout
        nameDeadline = nil
        gatherer?.close(now: now)
    }

    func hasEnded(now: Instant) -> Bool {
        closeDeadline.map { now >= $0 || gatherer?.hasEnded ?? true } ?? false
    }

    /// Lets go of the sockets; what is queued has been sent by then.
    func closeSockets() {
        for socket in sockets.values { close(socket) }
        for stream in streams.values { stream.close() }
        sockets.removeAll()
        streams.removeAll()
    }

    private func close(_ socket: UDPSocket) {
        socket.close()
        environment.batch.remove(socket)
    }
}
