import EmisoraCore

/// Our own candidates: told to the peer as they are found (RFC 8838 §4), paired with the peer's.
extension ICEAgent {
    /// Beyond what any machine needs; a check of each with 64 of the peer's is more than a checklist holds.
    static let maximumLocalCandidates = 64

    /// RFC 8445 §5.1.1.3: what has all this in common freezes and thaws together.
    struct FoundationKey: Hashable {
        let type: ICECandidate.CandidateType
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

    /// A socket or a relayed address is gone, with all that stood on it. Where it carried the selected path the agent
    /// goes on with the next best valid one, or waits for the peer to find another.
    package mutating func removeLocal(base: SocketAddress, now: Instant) {
        hosts.removeAll { $0 == base }
        localCandidates.removeAll { $0.base == base }
        pairs.removeAll { $0.path.local == base }
        triggered.removeAll { $0.local == base }
        validPaths = validPaths.filter { $0.local != base }
        responses.removeAll { $0.path.local == base }
        transactions = transactions.filter { $0.value.path.local != base }
        due.removeAll { transactions[$0] == nil }
        if nominationInFlight?.local == base { nominationInFlight = nil }
        guard selectedPath?.local == base else { return }
        selectedPath = nil
        previous = nil
        lastConsentAt = nil
        nextConsentAt = nil
        // Patience counts from now: until a moment ago there was a path.
        checkingSince = now
        if state == .connected { enter(.disconnected) }
        updateNominationAndState(now: now)
    }

    /// The best of those that send from `base`, which stands for it in pairs.
    func localCandidate(base: SocketAddress) -> ICECandidate? {
        localCandidates.filter { $0.base == base }.max { $0.priority < $1.priority }
    }

    // MARK: Inside

    private mutating func addLocal(_ candidate: ICECandidate) {
        guard state != .closed, localCandidates.count < Self.maximumLocalCandidates, options.allows(candidate),
            // RFC 8445 §5.1.3: the same address with the same base is redundant, whatever it is called.
            !localCandidates.contains(where: { $0.address == candidate.address && $0.base == candidate.base })
        else { return }
        localCandidates.append(candidate)
        events.append(.localCandidate(candidate))
        for remote in remoteCandidates { addPair(local: candidate, remote: remote) }
    }

    private func preference(ofBase base: SocketAddress) -> UInt16 {
        UInt16(clamping: (base.ip.isLoopback ? 1_000 : 65_535) - (hosts.firstIndex(of: base) ?? hosts.count))
    }

    private mutating func foundation(_ key: FoundationKey) -> String {
        if let known = foundations.firstIndex(of: key) { return "\(known + 1)" }
        foundations.append(key)
        return "\(foundations.count)"
    }
}
