import EmisoraCore
import EmisoraSTUN

/// One line of the checklist (RFC 8445 §6.1.2).
struct ICECandidatePair {
    enum State {
        case waiting
        case inProgress
        case succeeded
        case failed
    }

    let path: ICEPath
    let localPriority: UInt32
    var remotePriority: UInt32
    var state: State = .waiting
    /// The peer (we being controlled) wants this pair, as soon as our own check on it succeeds.
    var nominateOnSuccess = false
    var isNominated = false

    /// RFC 8445 §6.1.2.3, G being the controlling side's priority.
    func priority(role: ICERole) -> UInt64 {
        let controlling = UInt64(role == .controlling ? localPriority : remotePriority)
        let controlled = UInt64(role == .controlling ? remotePriority : localPriority)
        return min(controlling, controlled) << 32 | max(controlling, controlled) << 1
            | (controlling > controlled ? 1 : 0)
    }
}

/// A request of ours that waits for its response.
struct ICETransaction {
    let id: STUNTransactionID
    let path: ICEPath
    /// The role that the request claimed; a 487 is about that one.
    let role: ICERole
    let useCandidate: Bool
    /// Consent checks are sent once each (RFC 7675 §5.1); connectivity checks are repeated.
    let isConsent: Bool
    let firstSentAt: Instant
    var transmissions = 0
    var nextTransmissionAt: Instant

    /// RFC 8489 §6.2.1: seven transmissions, each interval twice the last, then 16 × RTO for the last one.
    static let maximumTransmissions = 7
    static let initialRetransmissionTimeout: Duration = .milliseconds(500)

    func timeout(afterTransmission count: Int) -> Duration {
        if isConsent { return ICEAgent.consentExpiry }
        if count >= Self.maximumTransmissions { return Self.initialRetransmissionTimeout * 16 }
        return Self.initialRetransmissionTimeout * (1 << max(0, count - 1))
    }
}
