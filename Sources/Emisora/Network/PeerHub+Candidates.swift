import EmisoraCore
import EmisoraEventLoop
import EmisoraICE
import EmisoraTURN

/// When relayed addresses that were lost are asked for again: after a second, then twice as long each time.
struct RegatheringSchedule {
    private static let longestPause: Duration = .seconds(30)
    private(set) var deadline: Instant?
    private var pause: Duration = .seconds(1)

    mutating func schedule(now: Instant) {
        guard deadline == nil else { return }
        deadline = now + pause
        pause = min(pause * 2, Self.longestPause)
    }

    mutating func isDue(now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        self.deadline = nil
        return true
    }

    mutating func didSucceed() { pause = .seconds(1) }
}

/// Addresses beyond this machine: one gathering for the shared sockets of a publisher, so that all its receivers share
/// one relayed address, and one for each subscription, whose sockets are its own.
extension PeerHub {
    /// Servers of the room count where the options name none.
    func setRoomServers(_ servers: [ICEServer], now: Instant) {
        // Also where only the credentials are new: those of TURN servers are often short-lived.
        guard options.iceServers.isEmpty, let new = try? ServerEndpoint.read(servers) else { return }
        endpoints = new
    }

    /// Servers that became known when connections were being made already: those find further addresses by them.
    func addRoomServers(_ servers: [ICEServer], now: Instant) {
        let known = endpoints.map(\.endpoint)
        setRoomServers(servers, now: now)
        guard endpoints.contains(where: { !known.contains($0.endpoint) }) else { return }
        for peer in peers {
            peer.engine.reopenLocalCandidates()
            if peer.use == .own { gather(hosts: peer.ownSockets.map(\.localAddress), peer: peer, now: now) }
        }
        if peers.contains(where: { $0.use == .shared }) {
            gather(hosts: sockets.map(\.localAddress), peer: nil, now: now)
        }
    }

    /// The way to the servers may be another one: names are asked for anew, and what failed is tried again.
    func refreshServers(now: Instant) {
        names.forget()
        if !gatherings.contains(where: \.hasRelayedAddress), !gatherings.isEmpty { regathering.schedule(now: now) }
    }

    var iceOptions: ICEOptions {
        var publicAddresses: [IPAddress: IPAddress] = [:]
        for ip in addresses {
            publicAddresses[ip] = options.natAddresses.first { $0.family == ip.family && !ip.isLoopback }
        }
        return ICEOptions(
            isRelayOnly: options.iceTransportPolicy == .relay, publicAddresses: publicAddresses)
    }

    /// Begins to ask for the shared sockets, before the first receiver comes.
    func prepareSharedCandidates(now: Instant) {
        guard !endpoints.isEmpty, !gatherings.contains(where: \.isShared) else { return }
        gather(hosts: sockets.map(\.localAddress), peer: nil, now: now)
    }

    /// Gives a new peer what is known, and asks for what is not.
    func gatherCandidates(for peer: Peer, now: Instant) {
        guard !endpoints.isEmpty else { return }
        guard peer.use == .shared else {
            return gather(hosts: peer.ownSockets.map(\.localAddress), peer: peer, now: now)
        }
        prepareSharedCandidates(now: now)
        for gathering in gatherings where gathering.isShared {
            for candidate in gathering.found { add(candidate, to: peer, now: now) }
        }
        endCandidatesIfAllFinished(of: peer, now: now)
    }

    func gather(hosts: [SocketAddress], asksRelays: Bool = true, peer: Peer?, now: Instant) {
        let gathering = Gathering(
            endpoints, hosts: hosts, asksRelays: asksRelays, peer: peer,
            environment: Gathering.Environment(
                loop: loop, names: names, batch: batch, binder: binder, addresses: addresses, connector: connector,
                pacer: Self.pacer),
            owner: self)
        gatherings.append(gathering)
        gathering.start(now: now)
    }

    func turnGatherings(now: Instant) {
        for gathering in gatherings {
            if let deadline = gathering.nextDeadline, deadline <= now { gathering.handleTimeout(now: now) }
            if gathering.hasEnded(now: now) {
                batch.flush()
                gathering.closeSockets()
            }
        }
        gatherings.removeAll { $0.hasEnded(now: now) }
        if regathering.isDue(now: now) { regatherRelays(now: now) }
    }

    /// Relayed addresses that were lost are asked for anew, from other sockets.
    private func regatherRelays(now: Instant) {
        // What came to its end with nothing keeps no sockets.
        for old in gatherings where old.isFinished && old.found.isEmpty { old.close(now: now) }
        if !gatherings.contains(where: { $0.isShared && $0.hasRelayedAddress }),
            gatherings.contains(where: \.isShared)
        {
            for peer in peers where peer.use == .shared { peer.engine.reopenLocalCandidates() }
            gather(hosts: [], peer: nil, now: now)
        }
        for peer in peers
        where peer.use == .own && !gatherings.contains(where: { $0.peer === peer && $0.hasRelayedAddress }) {
            peer.engine.reopenLocalCandidates()
            gather(hosts: [], peer: peer, now: now)
        }
    }

    private func users(of gathering: Gathering) -> [Peer] {
        gathering.isShared ? peers.filter { $0.use == .shared } : gathering.peer.map { [$0] } ?? []
    }

    private func add(_ candidate: Gathering.Candidate, to peer: Peer, now: Instant) {
        switch candidate {
        case .serverReflexive(let address, let base, let server):
            peer.engine.addServerReflexive(address, base: base, server: server, now: now)
        case .relayed(let address, let mapped, let server, let preference):
            peer.engine.addRelayed(address, mapped: mapped, server: server, preference: preference, now: now)
        }
    }

    /// How the server of a relayed address is reached.
    func transport(ofRelayed address: SocketAddress) -> ICEServerEndpoint.Transport? {
        gatherings.lazy.compactMap { $0.transport(ofRelayed: address) }.first
    }

    func endCandidatesIfAllFinished(of peer: Peer, now: Instant) {
        let mine = gatherings.filter { peer.use == .shared ? $0.isShared : $0.peer === peer }
        if mine.allSatisfy(\.isFinished) { peer.engine.endLocalCandidates(now: now) }
    }
}

extension PeerHub: GatheringOwner {
    func gathering(_ gathering: Gathering, didFind candidate: Gathering.Candidate, now: Instant) {
        if case .relayed = candidate { regathering.didSucceed() }
        for peer in users(of: gathering) { add(candidate, to: peer, now: now) }
    }

    func gathering(_ gathering: Gathering, didLose relayed: SocketAddress, now: Instant) {
        forgetPaths(base: relayed)
        for peer in users(of: gathering) { peer.engine.removeLocal(base: relayed, now: now) }
        regathering.schedule(now: now)
    }

    func gatheringDidFinish(_ gathering: Gathering, now: Instant) {
        // A relay that was lost and is not to be had now may be later, as when its server starts anew.
        if gathering.isForRelaysAlone, !gathering.hasRelayedAddress { regathering.schedule(now: now) }
        for peer in users(of: gathering) { endCandidatesIfAllFinished(of: peer, now: now) }
    }

    func gathering(_ gathering: Gathering, serverDidFail url: String, reason: String) {
        owner?.iceServerDidFail(url: url, reason: reason)
    }

    func gathering(_ gathering: Gathering, didReceive message: inout MutableRawSpan, path: ICEPath) {
        receive(&message, path: path)
    }
}
