import EmisoraCore

/// TCP (RFC 6544), for peers behind firewalls that let no UDP through.
///
/// Each path is a connection. Of those that the peer makes to a passive address of ours we learn by its first check, which
/// comes from a peer-reflexive address; its active candidates, whose port says nothing, are not even looked at. To passive
/// addresses of the peer's we connect ourselves, when no pair over UDP has worked by then.
extension ICEAgent {
    /// How far UDP is ahead.
    static let connectDelay: Duration = .milliseconds(250)
    static let maximumConnections = 8
    /// One that ends again and again is not made for ever.
    private static let maximumAttempts = 3

    /// RFC 6544 §4.2: a connection that we make is more likely to get through than one that we wait for.
    fileprivate enum Direction: UInt16 {
        case passive = 4
        case active = 6

        func localPreference(other: Int) -> UInt16 { rawValue << 13 | UInt16(max(0, min(other, 0x1FFF))) }
    }

    /// Adds the address of a socket that takes TCP connections. Order expresses preference: earlier is better.
    package mutating func addPassiveHost(_ address: SocketAddress, now: Instant) {
        guard !passiveHosts.contains(address) else { return }
        passiveHosts.append(address)
        let told = SocketAddress(ip: options.publicAddresses[address.ip] ?? address.ip, port: address.port)
        let preference = Direction.passive.localPreference(
            other: (address.ip.isLoopback ? 1_000 : 0x1FFF) - (passiveHosts.count - 1))
        addLocal(
            ICECandidate(
                foundation: foundation(
                    FoundationKey(type: .host, transport: .tcp, base: address.ip, server: nil)),
                priority: ICECandidate.priority(type: .host, transport: .tcp, localPreference: preference),
                address: told, type: .host, transport: .tcp, base: address))
    }

    /// The connection that `connectionWanted` asked for stands: it is a pair now.
    package mutating func didConnect(_ path: ICEPath, now: Instant) {
        guard path.transport == .tcp, connections[path] == nil, connections.count < Self.maximumConnections,
            let remote = remoteCandidate(of: path)
        else { return }
        let preference = Direction.active.localPreference(other: 0x1FFF - connections.count)
        let local = ICECandidate(
            foundation: foundation(
                FoundationKey(type: .host, transport: .tcp, base: path.local.ip, server: nil)),
            priority: ICECandidate.priority(type: .host, transport: .tcp, localPreference: preference),
            address: path.local, type: .host, transport: .tcp)
        let pair = ICECandidatePair(path: path, localPriority: local.priority, remotePriority: remote.priority)
        guard options.allows(local), makeRoomForPair(above: pair.priority(role: role)) else { return }
        connections[path] = local
        pairs.append(pair)
        startNextCheck(now: now)
    }

    /// A connection has ended, or could not be made. Where it was the selected path the agent goes on with the next best
    /// valid one, or waits for the peer to connect anew.
    package mutating func didDisconnect(_ path: ICEPath, now: Instant) {
        // One that stood is worth another attempt, when it is needed.
        if connections.removeValue(forKey: path) != nil, remoteCandidate(of: path) != nil {
            wantConnection(to: path.remote, now: now)
        }
        // Nothing comes from that port again.
        remoteCandidates.removeAll {
            $0.type == .peerReflexive && $0.transport == path.transport && $0.address == path.remote
        }
        forgetPaths(now: now) { $0 == path }
    }

    func remoteCandidate(of path: ICEPath) -> ICECandidate? {
        remoteCandidates.first { $0.address == path.remote && $0.transport == path.transport }
    }

    mutating func wantConnection(to address: SocketAddress, now: Instant) {
        guard unconnected.count < Self.maximumConnections, !options.isRelayOnly, !unconnected.contains(address),
            connectAttempts[address, default: 0] < Self.maximumAttempts
        else { return }
        unconnected.append(address)
        // During a restart over TCP there is no need to find out anew that UDP does not work.
        let delay = selectedPath?.transport == .tcp ? .zero : Self.connectDelay
        if connectAt == nil { connectAt = now + delay }
    }

    mutating func connectIfDue(now: Instant) {
        guard let connectAt, now >= connectAt else { return }
        self.connectAt = nil
        // While UDP works they are kept for when it no longer does.
        guard state == .checking || state == .disconnected else { return }
        for address in unconnected {
            connectAttempts[address, default: 0] += 1
            events.append(.connectionWanted(to: address))
        }
        unconnected.removeAll()
    }
}

extension ICECandidate {
    /// What stands for the connections that are made from the address of a passive candidate: an active one, whose port
    /// says nothing (RFC 6544 §4.1, §5.1). To be told beside it; each connection is a candidate of its own once it stands.
    package var active: ICECandidate? {
        guard transport == .tcp, type == .host else { return nil }
        var candidate = self
        candidate.address.port = 9
        candidate.base = candidate.address
        candidate.priority = Self.priority(
            type: .host, transport: .tcp,
            localPreference: ICEAgent.Direction.active.localPreference(other: Int(priority >> 8 & 0x1FFF)))
        return candidate
    }
}
