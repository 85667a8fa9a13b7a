import EmisoraCore

/// Consent freshness on the selected path (RFC 7675 §5.1): asked every 5 s ± 20 %, lost after 30 s without an answer.
///
/// Consent requests are sent once each. While the path has been silent for some seconds, every path that works is
/// checked anew again and again, with retransmissions: so a lossy path keeps its consent, and a peer whose address has changed (a NAT
/// that rebinds, another network) is followed to where it answers.
extension ICEAgent {
    mutating func scheduleConsent(now: Instant) {
        let factor = 0.8 + 0.4 * Double(random.next() >> 11) / Double(1 << 53)
        nextConsentAt = now + Self.consentInterval * factor
    }

    /// The selected path has gone quieter than the peer would: its consent is asked for ahead of time. Where a NAT has
    /// moved us to another port the peer learns the new one by this, seconds before the next regular question.
    package mutating func askForConsent(now: Instant) {
        guard let selectedPath, state == .connected else { return }
        begin(path: selectedPath, useCandidate: previous == nil && role == .controlling, isConsent: true, now: now)
        scheduleConsent(now: now)
    }

    mutating func renewConsent(now: Instant) {
        lastConsentAt = now
        if state == .disconnected { enter(previous == nil ? .connected : .checking) }
    }

    /// When silence changes the state next.
    var consentDeadline: Instant? {
        guard selectedPath != nil, let lastConsentAt else { return nil }
        return lastConsentAt + (state == .disconnected ? Self.consentExpiry : Self.disconnectedAfter)
    }

    mutating func checkConsent(now: Instant) {
        guard let selectedPath, let lastConsentAt else { return }
        let silence = now - lastConsentAt
        if silence >= Self.consentExpiry {
            guard previous == nil else { return leavePreviousGeneration() }
            revokeConsent()
            enter(.failed(reason: "The peer has not answered for \(Int(silence.inSeconds)) s."))
            return
        }
        if silence >= Self.disconnectedAfter, state != .disconnected {
            disconnectionReason = "The peer has not answered for \(Int(Self.disconnectedAfter.inSeconds)) s."
            enter(.disconnected)
            recheckValidPairs(now: now)
        }
        if let nextConsentAt, now >= nextConsentAt {
            // The controlling side repeats its choice, which tells a peer that sees a new source address to follow.
            begin(path: selectedPath, useCandidate: previous == nil && role == .controlling, isConsent: true, now: now)
            scheduleConsent(now: now)
            if state == .disconnected { recheckValidPairs(now: now) }
        }
    }

    /// The old path is gone, which may be why there is a restart: the new checks go on without it.
    private mutating func leavePreviousGeneration() {
        previous = nil
        selectedPath = nil
        lastConsentAt = nil
        nextConsentAt = nil
        transactions = transactions.filter { !$0.value.isConsent }
        validPaths.removeAll()
        enter(.checking)
    }

    private mutating func recheckValidPairs(now: Instant) {
        connectAt = now
        for pair in pairs where pair.state == .succeeded && !triggered.contains(pair.path) {
            triggered.append(pair.path)
        }
        startNextCheck(now: now)
    }
}
