import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN

/// A full ICE agent for one peer and one component (RFC 8445, trickle RFC 8838, consent RFC 7675, TCP RFC 6544), without
/// socket, thread or clock.
///
/// ```
/// new ──remote credentials──▶ checking ──pair valid──▶ connected ◀──▶ disconnected
///                                 │                         │ consent lost 30 s
///                                 └──no pair, 39.5 s──▶ failed ◀──────┘      failed ──restart──▶ checking
/// ```
///
/// Call one mutating method, then drain `pollTransmit` and `pollEvent`, then wait until `nextDeadline`. Checks that
/// arrive before the remote credentials are answered and remembered (RFC 8445 §7.3). Media may go out on
/// `selectedPath` and is accepted from any path for which `isValidated` holds (RFC 8445 §12.2).
///
/// An agent that has failed neither sends nor answers anything until it gets new credentials (RFC 7675 §5.1).
package struct ICEAgent {
    /// RFC 8445 §6.1.2.5.
    static let maximumPairs = 100
    static let maximumRemoteCandidates = 64
    static let maximumEarlyChecks = 16
    static let maximumQueuedResponses = 64
    /// RFC 7675 §5.1.
    static let consentInterval: Duration = .seconds(5)
    package static let consentExpiry: Duration = .seconds(30)
    /// Without an answer for this long the path is called disconnected.
    static let disconnectedAfter: Duration = .seconds(8)
    /// RFC 8863 §3: candidates may come late; no failure before.
    static let patience: Duration = .milliseconds(39_500)
    /// A nomination this much later than another means that the controlling side has moved on to another path.
    static let renominationGap: Duration = .seconds(3)
    /// How long a controlling agent waits for a better pair after the first valid one.
    static let nominationDelay: Duration = .milliseconds(40)
    /// The same where that one is over TCP: a check over UDP that was lost is repeated by then. Media flows meanwhile.
    static let nominationDelayOverTCP: Duration = .seconds(1)

    package internal(set) var role: ICERole
    package internal(set) var state: ICEState = .new
    package internal(set) var localCredentials: ICECredentials
    package internal(set) var remoteCredentials: ICECredentials?
    /// Those that the peer is told.
    package internal(set) var localCandidates: [ICECandidate] = []
    package internal(set) var hasAllLocalCandidates = false
    package internal(set) var remoteCandidates: [ICECandidate] = []
    package internal(set) var selectedPath: ICEPath?
    /// Why the state was `disconnected` last, for a person.
    package internal(set) var disconnectionReason = ""
    package internal(set) var statistics = ICEStatistics()

    let options: ICEOptions
    let pacer: TransactionPacer
    let line: TransactionPacer.Line
    /// The sockets, best first; also those whose own address is not told.
    var hosts: [SocketAddress] = []
    /// The sockets that take TCP connections, best first.
    var passiveHosts: [SocketAddress] = []
    /// TCP connections that we made, with the candidate that stands for each.
    var connections: [ICEPath: ICECandidate] = [:]
    /// Where the peer takes TCP connections; we have made none yet.
    var unconnected: [SocketAddress] = []
    var connectAt: Instant?
    var connectAttempts: [SocketAddress: Int] = [:]
    /// What candidates have in common that share a foundation, by its number.
    var foundations: [FoundationKey] = []
    var random: RandomSource
    var tieBreaker: UInt64
    var localKey: HMACSHA1Key
    /// Whom our checks are addressed to; `nil` until the remote credentials are known.
    var identity: ICERequestIdentity?
    /// While a restart is under way: the credentials that `selectedPath` was made with and still lives on.
    var previous: PreviousGeneration?
    var pairs: [ICECandidatePair] = []
    var triggered: [ICEPath] = []
    var transactions: [STUNTransactionID: ICETransaction] = [:]
    var due: [STUNTransactionID] = []
    var responses: [QueuedResponse] = []
    var earlyChecks: [EarlyCheck] = []
    var validPaths: Set<ICEPath> = []
    var remoteCandidatesEnded = false
    var checkingSince: Instant?
    var nominateAt: Instant?
    var nominationInFlight: ICEPath?
    var lastConsentAt: Instant?
    var nextConsentAt: Instant?
    var events: [ICEEvent] = []

    struct PreviousGeneration {
        let localCredentials: ICECredentials
        let localKey: HMACSHA1Key
        let identity: ICERequestIdentity
    }

    struct QueuedResponse {
        let path: ICEPath
        let bytes: [UInt8]
    }

    struct EarlyCheck {
        let path: ICEPath
        let priority: UInt32
        var useCandidate: Bool
    }

    package init(role: ICERole, options: ICEOptions = ICEOptions(), pacer: TransactionPacer, random: RandomSource) {
        self.role = role
        self.options = options
        self.pacer = pacer
        line = TransactionPacer.Line(pacer)
        self.random = random
        localCredentials = ICECredentials(using: &self.random)
        tieBreaker = self.random.next()
        localKey = HMACSHA1Key(Array(localCredentials.password.utf8).span.bytes)
    }

    // MARK: Candidates and credentials

    /// The role may be corrected until checks begin: it follows from who offered (RFC 8445 §6.1.1).
    package mutating func setRole(_ role: ICERole) {
        guard case .new = state else { return }
        self.role = role
    }

    /// The user name and password of the remote description; checking begins. Other credentials than before mean a
    /// restart by the peer: old pairs are forgotten, the selected path stays in use until a new one is valid.
    package mutating func setRemoteCredentials(_ credentials: ICECredentials, now: Instant) {
        guard remoteCredentials != credentials, state != .closed else { return }
        if remoteCredentials != nil {
            keepPreviousGeneration()
            forgetChecks()
        }
        remoteCredentials = credentials
        identity = ICERequestIdentity(local: localCredentials, remote: credentials)
        checkingSince = now
        enter(.checking)
        let early = earlyChecks
        earlyChecks = []
        for check in early {
            trigger(check.path, remotePriority: check.priority, useCandidate: check.useCandidate, now: now)
        }
    }

    /// Adds a candidate of the remote description or one that trickled in. Repeated ones and those above the cap are
    /// ignored.
    package mutating func addRemoteCandidate(_ candidate: ICECandidate, now: Instant) {
        guard remoteCandidates.count < Self.maximumRemoteCandidates, candidate.address.port != 0 else { return }
        let isKnown = { (one: ICECandidate) in
            one.address == candidate.address && one.transport == candidate.transport
        }
        if let known = remoteCandidates.firstIndex(where: isKnown) {
            // It was seen as peer-reflexive before it was announced (RFC 8838 §11.4).
            if remoteCandidates[known].type == .peerReflexive {
                remoteCandidates[known] = candidate
                if statistics.selectedRemote.map(isKnown) == true { statistics.selectedRemote = candidate }
            }
            return
        }
        remoteCandidates.append(candidate)
        guard candidate.transport == .udp else { return wantConnection(to: candidate.address, now: now) }
        for local in localCandidates { addPair(local: local, remote: candidate) }
    }

    /// The peer has no more candidates (RFC 8838 §14). No reason to fail early: its checks may still reveal one
    /// (RFC 8863 §3); it only makes the reason of a failure more precise.
    package mutating func remoteEndOfCandidates(now: Instant) {
        remoteCandidatesEnded = true
        updateNominationAndState(now: now)
    }

    /// New local credentials for a restart (RFC 8445 §9); `setRemoteCredentials` with the peer's new ones begins the
    /// checks. The role stays, and the old path stays in use, with its consent, until a new one is valid.
    package mutating func restart() {
        guard state != .closed else { return }
        keepPreviousGeneration()
        forgetChecks()
        remoteCredentials = nil
        identity = nil
        checkingSince = nil
        localCredentials = ICECredentials(using: &random)
        localKey = HMACSHA1Key(Array(localCredentials.password.utf8).span.bytes)
        if case .failed = state { enter(.checking) }
    }

    /// Stops everything at once and revokes consent (RFC 7675 §5.2).
    package mutating func close() {
        revokeConsent()
        enter(.closed)
    }

    // MARK: What a shared socket asks

    /// Whether a response with that id answers a request of this agent.
    package func ownsTransaction(_ id: STUNTransactionID) -> Bool { transactions[id] != nil }

    /// Whether checks whose user name begins with that fragment are for this agent.
    package func ownsLocalFragment(_ fragment: String) -> Bool {
        fragment == localCredentials.ufrag || fragment == previous?.localCredentials.ufrag
    }

    /// Whether datagrams other than STUN may be taken from there: our check on that path was answered.
    package func isValidated(_ path: ICEPath) -> Bool { validPaths.contains(path) }

    // MARK: Outputs

    package mutating func pollEvent() -> ICEEvent? {
        events.isEmpty ? nil : events.removeFirst()
    }

    /// Writes the next datagram to send into `buffer`; `nil` when there is none.
    package mutating func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        if !responses.isEmpty {
            let response = responses.removeFirst()
            guard response.bytes.count <= buffer.byteCount else { return nil }
            buffer.withUnsafeMutableBytes { to in response.bytes.withUnsafeBytes { to.copyMemory(from: $0) } }
            statistics.responsesSent += 1
            return response.path.transmit(byteCount: response.bytes.count)
        }
        while !due.isEmpty {
            let id = due.removeFirst()
            guard let transaction = transactions[id], let byteCount = writeRequest(transaction, into: &buffer) else {
                continue
            }
            if transaction.isConsent {
                statistics.consentRequestsSent += 1
            } else if transaction.transmissions == 1 {
                statistics.requestsSent += 1
            }
            return transaction.path.transmit(byteCount: byteCount)
        }
        return nil
    }

    /// When `handleTimeout` wants to be called at the latest.
    package var nextDeadline: Instant? {
        switch state {
        case .new, .closed, .failed: return nil
        case .checking, .connected, .disconnected: break
        }
        var deadline = transactions.values.reduce(Instant.distantFuture) { min($0, $1.nextTransmissionAt) }
        if identity != nil, !triggered.isEmpty || pairs.contains(where: { $0.state == .waiting }) {
            deadline = min(deadline, pacer.nextSlot)
        }
        for other in [nominateAt, nextConsentAt, consentDeadline, patienceDeadline, connectAt] {
            if let other { deadline = min(deadline, other) }
        }
        return deadline == .distantFuture ? nil : deadline
    }

    package mutating func handleTimeout(now: Instant) {
        switch state {
        case .new, .closed, .failed: return
        case .checking, .connected, .disconnected: break
        }
        retransmit(now: now)
        startNextCheck(now: now)
        checkConsent(now: now)
        connectIfDue(now: now)
        updateNominationAndState(now: now)
    }

    // MARK: Inside

    mutating func enter(_ new: ICEState) {
        guard new != state else { return }
        state = new
        updateLine()
        events.append(.stateChanged(new))
    }

    mutating func forgetChecks() {
        pairs.removeAll()
        triggered.removeAll()
        // Consent checks belong to the path in use, which outlives a restart.
        transactions = transactions.filter { $0.value.isConsent }
        due.removeAll { transactions[$0] == nil }
        validPaths = validPaths.filter { $0 == selectedPath }
        earlyChecks.removeAll()
        remoteCandidates.removeAll()
        remoteCandidatesEnded = false
        unconnected.removeAll()
        connectAttempts.removeAll()
        connectAt = nil
        nominateAt = nil
        nominationInFlight = nil
    }

    private mutating func keepPreviousGeneration() {
        guard selectedPath != nil, previous == nil, let identity else { return }
        previous = PreviousGeneration(localCredentials: localCredentials, localKey: localKey, identity: identity)
    }

    /// Nothing more is sent, answered or accepted.
    mutating func revokeConsent() {
        previous = nil
        selectedPath = nil
        nextConsentAt = nil
        lastConsentAt = nil
        forgetChecks()
        transactions.removeAll()
        due.removeAll()
        responses.removeAll()
    }

    mutating func addPair(local: ICECandidate, remote: ICECandidate) {
        // A server-reflexive candidate sends from its base; the base's own pair, if there is one, is the same and better
        // (RFC 8445 §6.1.2.4).
        let path = ICEPath(local: local.base, remote: remote.address)
        // Over TCP a path is a connection: the pair is made when there is one (RFC 6544 §6.2, §7.1).
        guard local.transport == .udp, remote.transport == .udp,
            path.local.ip.family == path.remote.ip.family, path.local.ip.isLinkLocal == path.remote.ip.isLinkLocal,
            path.local.ip.isLoopback == path.remote.ip.isLoopback, !pairs.contains(where: { $0.path == path })
        else { return }
        let pair = ICECandidatePair(path: path, localPriority: local.priority, remotePriority: remote.priority)
        guard makeRoomForPair(above: pair.priority(role: role)) else { return }
        pairs.append(pair)
        updateLine()
    }

    /// Keeps the checklist within its limit: the worst pair that nothing is known of makes way for a better one
    /// (RFC 8445 §6.1.2.5). Answers whether there is room.
    mutating func makeRoomForPair(above priority: UInt64) -> Bool {
        guard pairs.count >= Self.maximumPairs else { return true }
        let role = role
        let expendable = pairs.indices.filter { pairs[$0].state == .failed || pairs[$0].state == .waiting }
        guard let worst = expendable.min(by: { pairs[$0].priority(role: role) < pairs[$1].priority(role: role) }),
            pairs[worst].state == .failed || pairs[worst].priority(role: role) < priority
        else { return false }
        pairs.remove(at: worst)
        return true
    }
}
