import EmisoraCore
import EmisoraCrypto
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
    /// The last time the controlling side named this pair; `nil`: never.
    var nominatedAt: Instant?
    /// The last time the peer answered us on this pair, which is when it consented to receive (RFC 7675 §5.1).
    var lastAnsweredAt: Instant?
    /// What the peer saw as our address: differs from the base behind a NAT (RFC 8445 §7.2.5.3.1).
    var mappedAddress: SocketAddress?
    /// How long answers take here, once there was one.
    var roundTrip = STUNRoundTrip()
    /// A check of the peer's has already cut one of our waits for a retransmission short.
    var wasHastened = false

    var isNominated: Bool { nominatedAt != nil }
    /// Whether a check is still to be made or answered.
    var isActive: Bool { state == .waiting || state == .inProgress }

    /// RFC 8445 §6.1.2.3, G being the controlling side's priority.
    func priority(role: ICERole) -> UInt64 {
        let controlling = UInt64(role == .controlling ? localPriority : remotePriority)
        let controlled = UInt64(role == .controlling ? remotePriority : localPriority)
        return min(controlling, controlled) << 32 | max(controlling, controlled) << 1
            | (controlling > controlled ? 1 : 0)
    }
}

/// Whom a request is addressed to: the user name it carries and the peer's password as a key.
struct ICERequestIdentity {
    let username: [UInt8]
    let key: HMACSHA1Key

    init(local: ICECredentials, remote: ICECredentials) {
        username = Array("\(remote.ufrag):\(local.ufrag)".utf8)
        key = HMACSHA1Key(Array(remote.password.utf8).span.bytes)
    }
}

/// A request of ours that waits for its response. All that is written into it is fixed here, so that a retransmission
/// is the same message (RFC 8489 §6.2.1), whatever has become of the agent's role and credentials.
struct ICETransaction {
    let id: STUNTransactionID
    let path: ICEPath
    let identity: ICERequestIdentity
    /// The role that the request claims; a 487 is about that one.
    let role: ICERole
    let tieBreaker: UInt64
    let useCandidate: Bool
    /// Consent checks are sent once each (RFC 7675 §5.1); connectivity checks are repeated.
    let isConsent: Bool
    let firstSentAt: Instant
    /// RTO (RFC 8445 §14.3).
    let timeout: Duration
    /// Another check took its place: a response still counts, but it is repeated no more (RFC 8445 §7.3.1.4).
    var isCancelled = false
    var transmissions = 0
    var nextTransmissionAt: Instant

    /// A stream repeats by itself what is lost (RFC 8489 §6.2.2).
    var maximumTransmissions: Int { path.transport == .tcp ? 1 : STUNRetransmission.maximumTransmissions }

    func interval(afterTransmission count: Int) -> Duration {
        if isConsent { return ICEAgent.consentExpiry }
        return path.transport == .tcp
            ? STUNRetransmission.streamTimeout
            : STUNRetransmission.interval(afterTransmission: count, timeout: timeout)
    }
}
