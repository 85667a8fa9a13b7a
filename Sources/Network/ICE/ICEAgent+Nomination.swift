import EmisoraCore

/// Which pair is used, and what that makes of the agent's state (RFC 8445 §8).
extension ICEAgent {
    mutating func updateNominationAndState(now: Instant) {
        switch state {
        case .new, .closed, .failed: return
        case .checking, .connected, .disconnected: break
        }
        leaveSilentPath()
        nominateIfDue(now: now)
        if let best = bestPair(), best.path != selectedPath || previous != nil { select(best, now: now) }
        if selectedPath == nil, let reason = failureReason(now: now) {
            revokeConsent()
            enter(.failed(reason: reason))
        }
    }

    /// The pair that media should use: a nominated one, else, before any nomination, the best valid one (RFC 8445
    /// §12.1.1 allows to send on any valid pair until then).
    ///
    /// Of several nominated pairs the one with the highest priority counts, for peers that nominate all they check
    /// (RFC 5245 §8.1.1.2); but one that was named much later than the others is where the peer has moved.
    private func bestPair() -> ICECandidatePair? {
        let valid = pairs.filter { $0.state == .succeeded }
        let newest = valid.compactMap(\.nominatedAt).max()
        let candidates = valid.filter { pair in
            guard let newest else { return true }
            guard let nominatedAt = pair.nominatedAt else { return false }
            return nominatedAt + Self.renominationGap >= newest
        }
        return candidates.max { $0.priority(role: role) < $1.priority(role: role) }
    }

    /// The selected path has gone silent and another one answers: the silent pair is given up.
    private mutating func leaveSilentPath() {
        guard state == .disconnected, previous == nil, let lastConsentAt, let selectedPath,
            pairs.contains(where: { pair in
                pair.path != selectedPath && pair.state == .succeeded
                    && pair.lastAnsweredAt.map { $0 > lastConsentAt } == true
            })
        else { return }
        // What was answered before the silence began says nothing about now.
        for index in pairs.indices where pairs[index].state == .succeeded {
            if pairs[index].lastAnsweredAt.map({ $0 <= lastConsentAt }) == true {
                pairs[index].state = .failed
                pairs[index].nominatedAt = nil
            }
        }
        nominationInFlight = nil
    }

    /// The peer sends by another valid path, and nothing comes by the selected one any more: what we send has to go there,
    /// too. The controlling side nominates it; regular silence would take eight seconds to be noticed.
    package mutating func follow(_ path: ICEPath, now: Instant) {
        guard let selectedPath, selectedPath != path, previous == nil,
            pairs.contains(where: { $0.path == path && $0.state == .succeeded })
        else { return }
        // What answered before says nothing about now; a check of the peer's brings it back.
        for index in pairs.indices where pairs[index].path != path && pairs[index].state == .succeeded {
            pairs[index].state = .failed
            pairs[index].nominatedAt = nil
        }
        nominationInFlight = nil
        updateNominationAndState(now: now)
    }

    private mutating func nominateIfDue(now: Instant) {
        let role = role
        guard role == .controlling, nominationInFlight == nil,
            !pairs.contains(where: { $0.isNominated && $0.state == .succeeded }),
            let best = pairs.filter({ $0.state == .succeeded })
                .max(by: { $0.priority(role: role) < $1.priority(role: role) })
        else {
            nominateAt = nil
            return
        }
        // Worth waiting a moment for a better one, if there is one that could still succeed.
        let hasBetter = pairs.contains { $0.isActive && $0.priority(role: role) > best.priority(role: role) }
        let delay = best.path.transport == .tcp ? Self.nominationDelayOverTCP : Self.nominationDelay
        let deadline = min(nominateAt ?? .distantFuture, now + delay)
        guard !hasBetter || now >= deadline else {
            nominateAt = deadline
            return
        }
        nominateAt = nil
        nominationInFlight = best.path
        triggered.removeAll { $0 == best.path }
        triggered.insert(best.path, at: 0)
        startNextCheck(now: now)
    }

    private mutating func select(_ pair: ICECandidatePair, now: Instant) {
        let isNew = pair.path != selectedPath
        selectedPath = pair.path
        previous = nil
        updateSelectedCandidates()
        let answeredAt = pair.lastAnsweredAt ?? now
        lastConsentAt = answeredAt
        if isNew, now - answeredAt > Self.consentInterval {
            // It worked once, which may be long ago: it gets the time in which the question below is answered.
            lastConsentAt = now - Self.consentInterval
            begin(path: pair.path, useCandidate: role == .controlling, isConsent: true, now: now)
        }
        if isNew || nextConsentAt == nil { scheduleConsent(now: now) }
        if isNew { events.append(.selectedPathChanged(pair.path, statistics)) }
        enter(.connected)
    }

    /// Names the selected pair's candidates for the statistics.
    private mutating func updateSelectedCandidates() {
        guard let selectedPath, let pair = pairs.first(where: { $0.path == selectedPath }) else { return }
        statistics.selectedRemote = remoteCandidate(of: selectedPath)
        let base = localCandidate(of: selectedPath)
        let known = pair.mappedAddress.flatMap { mapped in
            localCandidates.first {
                $0.address == mapped && $0.base == selectedPath.local && $0.transport == selectedPath.transport
            }
        }
        statistics.selectedLocal = known ?? base
        if known == nil, let base, let mapped = pair.mappedAddress, mapped != base.address {
            // RFC 8445 §7.2.5.3.1: an address of ours that nobody had told us of.
            statistics.selectedLocal = ICECandidate(
                foundation: "prflx\(base.foundation)",
                priority: ICECandidate.priority(
                    type: .peerReflexive, transport: base.transport,
                    localPreference: UInt16(truncatingIfNeeded: base.priority >> 8)),
                address: mapped, type: .peerReflexive, transport: base.transport, relatedAddress: base.base,
                base: base.base)
        }
    }

    // MARK: Failure

    /// When patience with late candidates ends: only while nothing has worked and nothing is being tried.
    var patienceDeadline: Instant? {
        guard selectedPath == nil, let checkingSince, !hasActivePairs else { return nil }
        return checkingSince + Self.patience
    }

    private var hasActivePairs: Bool { !triggered.isEmpty || pairs.contains(where: \.isActive) }

    private func failureReason(now: Instant) -> String? {
        guard let deadline = patienceDeadline, now >= deadline else { return nil }
        if localCandidates.isEmpty {
            return options.isRelayOnly
                ? "Only relayed addresses may be used, and no TURN server gave one."
                : "This side has no address that may be used."
        }
        if remoteCandidates.isEmpty {
            return "The peer gave no usable address within \(Self.patience.inSeconds) s. "
                + (remoteCandidatesEnded
                    ? "It says that it has no more: does it offer UDP candidates?"
                    : "Is it running, and does it offer UDP candidates?")
        }
        if remoteCandidates.allSatisfy({ $0.transport == .tcp }) {
            return "The peer can be reached over TCP alone, and no connection to it came about."
        }
        if pairs.isEmpty {
            return "No address of the peer fits one of ours: the two sides need IPv4 or IPv6 in common."
        }
        return "None of \(pairs.count) address pairs answered. A firewall may block UDP between the two sides."
    }
}
