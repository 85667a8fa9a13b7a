import EmisoraCore

/// Consent freshness on the selected path (RFC 7675 §5.1): asked every 5 s ± 20 %, lost after 30 s without an answer.
extension ICEAgent {
    mutating func scheduleConsent(now: Instant) {
        let factor = 0.8 + 0.4 * Double(random.next() >> 11) / Double(1 << 53)
        nextConsentAt = now + Self.consentInterval * factor
    }

    mutating func renewConsent(now: Instant) {
        lastConsentAt = now
        if state == .disconnected { enter(.connected) }
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
            close(after: silence)
            return
        }
        if silence >= Self.disconnectedAfter { enter(.disconnected) }
        if let nextConsentAt, now >= nextConsentAt {
            begin(path: selectedPath, useCandidate: false, isConsent: true, now: now)
            statistics.consentRequestsSent += 1
            scheduleConsent(now: now)
        }
    }

    /// RFC 7675 §5.1: nothing more may be sent, and these credentials are never used on that path again.
    private mutating func close(after silence: Duration) {
        forgetChecks()
        validPaths.removeAll()
        selectedPath = nil
        nextConsentAt = nil
        lastConsentAt = nil
        enter(.failed(reason: "The peer has not answered for \(Int(silence.inSeconds)) s."))
    }
}
