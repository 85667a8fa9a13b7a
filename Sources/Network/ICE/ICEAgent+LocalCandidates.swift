import EmisoraCore

/// Our own candidates: told to the peer as they are found (RFC 8838 §4), paired with the peer's.
extension ICEAgent {
    /// Beyond what any machine needs; a check of each with 64 of the peer's is more than a checklist holds.
    static let maximumLocalCandidates = 64

    /// RFC 8445 §5.1.1.3: what has all this in common freezes and thaws together.
    struct FoundationKey: Hashable {
        let type: ICECandidate.CandidateType
        var transport: TransportProtocol = .udp
        let base: IPAddress
        let server: IPAddress?
    }

    /// Adds the address of a socket. Order expresses preference: earlier is better.
    package mutating func addLocalHost(_ address: SocketAddress, now: Instant) {
        guard !hosts.contains(address) else { return }
        hosts.append(address)
        let told = SocketAddress(ip: options.publicAddresses[address.ip] ?? address.ip, port: address.port)
        addLocal(
            ICECandidate(
                foundation: foundation(FoundationKey(type: .host, base: address.ip, server: nil)),
                priority: ICECandidate.priority(type: .host, localPreference: preference(ofBase: address)),
                address: told, type: .host, base: address))
    }

    /// Adds the address under which a NAT shows the socket `base`, as `server` saw it. It is left out where it tells
    /// nothing new (RFC 8445 §5.1.3), such as without a NAT.
    package mutating func addServerReflexive(
        _ address: SocketAddress, base: SocketAddress, server: IPAddress, now: Instant
    ) {
        addLocal(
            ICECandidate(
                foundation: foundation(
                    FoundationKey(type: .serverReflexive, base: base.ip, server: server)),
                priority: ICECandidate.priority(type: .serverReflexive, localPreference: preference(ofBase: base)),
                address: address, type: .serverReflexive, relatedAddress: base, base: base))
    }

    /// Adds an address on a TURN server whose datagrams come to us through it. It is a base of its own: paths with it as
    /// `local` are to be sent through the server.
    ///
    /// - Parameters:
    ///   - mapped: Where the server sees us; told as the related address unless only relayed addresses may be told.
    ///   - preference: Among relayed ones; more is better.
    package mutating func addRelayed(
        _ address: SocketAddress, mapped: SocketAddress, server: IPAddress, preference: UInt16, now: Instant
    ) {
        // RFC 8839 §5.1: what stands for an address that is not to be told.
        let nowhere = SocketAddress(
            ip: mapped.ip.family == .v4 ? IPAddress(v4: 0) : IPAddress(v6High: 0, low: 0), port: 9)
        addLocal(
            ICECandidate(
                foundation: foundation(FoundationKey(type: .relayed, base: address.ip, server: server)),
                priority: ICECandidate.priority(type: .relayed, localPreference: preference), address: address,
                type: .relayed, relatedAddress: options.isRelayOnly ? nowhere : mapped))
    }

    /// There are no more to come: the peer can be told so.
    package mutating func endLocalCandidates(now: Instant) {
        guard !hasAllLocalCandidates, state != .closed else { return }
        hasAllLocalCandidates = true
        events.append(.localCandidatesEnded)
        updateNominationAndState(now: now)
    }

    /// After a restart, or on another network, more of them may come: the end is told anew.
    package mutating func reopenLocalCandidates() {
        hasAllLocalCandidates = false
    }

    /// The machine's network has changed: while there is no path, all pairs are tried anew at once, those too whose
    /// checks had no way to go a moment ago.
    package mutating func networkDidChange(now: Instant) {
        guard selectedPath == nil, state == .checking || state == .disconnected else { return }
        cancelChecks { _ in true }
        for index in pairs.indices where pairs[index].state != .succeeded { pairs[index].state = .waiting }
        startNextCheck(now: now)
    }

    /// A socket or a relayed address is gone, with all that stood on it. Where it carried the selected path the agent
    /// goes on with the next best valid one, or waits for the peer to find another.
    package mutating func removeLocal(base: SocketAddress, transport: TransportProtocol = .udp, now: Instant) {
        switch transport {
        case .udp: hosts.removeAll { $0 == base }
        case .tcp: passiveHosts.removeAll { $0 == base }
        }
        localCandidates.removeAll { $0.base == base && $0.transport == transport }
        forgetPaths(now: now) { $0.local == base && $0.transport == transport }
    }

    /// What these paths stood on is gone.
    mutating func forgetPaths(now: Instant, where isGone: (ICEPath) -> Bool) {
        pairs.removeAll { isGone($0.path) }
        triggered.removeAll(where: isGone)
        validPaths = validPaths.filter { !isGone($0) }
        responses.removeAll { isGone($0.path) }
        earlyChecks.removeAll { isGone($0.path) }
        transactions = transactions.filter { !isGone($0.value.path) }
        due.removeAll { transactions[$0] == nil }
        if nominationInFlight.map(isGone) == true { nominationInFlight = nil }
        guard let selectedPath, isGone(selectedPath) else { return }
        self.selectedPath = nil
        previous = nil
        lastConsentAt = nil
        nextConsentAt = nil
        // Patience counts from now: until a moment ago there was a path.
        checkingSince = now
        if state == .connected {
            disconnectionReason = "The address or the connection that the path used is gone."
            enter(.disconnected)
        }
        connectAt = now
        updateNominationAndState(now: now)
    }

    /// The best of those that send by that path, which stands for it in pairs.
    func localCandidate(of path: ICEPath) -> ICECandidate? {
        connections[path]
            ?? localCandidates.filter { $0.base == path.local && $0.transport == path.transport }
            .max { $0.priority < $1.priority }
    }

    /// Whether what comes by that path counts.
    func isUsable(_ path: ICEPath) -> Bool {
        connections[path] != nil
            || localCandidates.contains { $0.base == path.local && $0.transport == path.transport }
    }

    // MARK: Inside

    mutating func addLocal(_ candidate: ICECandidate) {
        guard state != .closed, localCandidates.count < Self.maximumLocalCandidates, options.allows(candidate),
            // RFC 8445 §5.1.3: the same address with the same base is redundant, whatever it is called.
            !localCandidates.contains(where: {
                $0.address == candidate.address && $0.base == candidate.base && $0.transport == candidate.transport
            })
        else { return }
        localCandidates.append(candidate)
        events.append(.localCandidate(candidate))
        for remote in remoteCandidates { addPair(local: candidate, remote: remote) }
    }

    private func preference(ofBase base: SocketAddress) -> UInt16 {
        UInt16(clamping: (base.ip.isLoopback ? 1_000 : 65_535) - (hosts.firstIndex(of: base) ?? hosts.count))
    }

    mutating func foundation(_ key: FoundationKey) -> String {
        if let known = foundations.firstIndex(of: key) { return "\(known + 1)" }
        foundations.append(key)
        return "\(foundations.count)"
    }
}
