import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN

/// Our own connectivity checks: starting, repeating, nominating (RFC 8445 §7.2, §8).
extension ICEAgent {
    /// Starts the next check when the process-wide pacer allows: a triggered one first, else the best waiting pair.
    mutating func startNextCheck(now: Instant) {
        updateLine()
        guard identity != nil else { return }
        while let path = triggered.first {
            guard let index = pairs.firstIndex(where: { $0.path == path }) else {
                triggered.removeFirst()
                continue
            }
            guard pacer.take(now: now) else { return }
            triggered.removeFirst()
            startCheck(onPairAt: index, useCandidate: nominationInFlight == path, now: now)
            return
        }
        let role = role
        let waiting = pairs.indices.filter { pairs[$0].state == .waiting }
        guard let best = waiting.max(by: { pairs[$0].priority(role: role) < pairs[$1].priority(role: role) }),
            pacer.take(now: now)
        else { return }
        startCheck(onPairAt: best, useCandidate: false, now: now)
    }

    /// Only who looks for a path makes others wait: what is still unanswered once there is one is repeated ever less often.
    func updateLine() {
        line.update(state == .checking ? pairs.count(where: \.isActive) : 0)
    }

    private mutating func startCheck(onPairAt index: Int, useCandidate: Bool, now: Instant) {
        let path = pairs[index].path
        if pairs[index].state != .succeeded { pairs[index].state = .inProgress }
        cancelChecks { $0.path == path }
        begin(path: path, useCandidate: useCandidate, isConsent: false, now: now)
    }

    /// Ends the retransmissions of the checks that match; a late answer still counts.
    mutating func cancelChecks(where matches: (ICETransaction) -> Bool) {
        for (id, transaction) in transactions where !transaction.isConsent && matches(transaction) {
            transactions[id]?.isCancelled = true
        }
    }

    mutating func begin(path: ICEPath, useCandidate: Bool, isConsent: Bool, now: Instant) {
        // Consent lives with the path in use, which is the previous generation's while a restart is under way.
        guard let identity = isConsent ? previous?.identity ?? identity : identity else { return }
        let id = STUNTransactionID(using: &random)
        let roundTrip = pairs.first { $0.path == path }?.roundTrip
        var transaction = ICETransaction(
            id: id, path: path, identity: identity, role: role, tieBreaker: tieBreaker, useCandidate: useCandidate,
            isConsent: isConsent, firstSentAt: now, timeout: roundTrip?.timeout ?? pacer.initialTimeout,
            nextTransmissionAt: now)
        transaction.transmissions = 1
        transaction.nextTransmissionAt = now + transaction.interval(afterTransmission: 1)
        transactions[id] = transaction
        due.append(id)
    }

    mutating func retransmit(now: Instant) {
        // Sorted, so that a simulated run is the same each time: a dictionary's order is not.
        let expired = transactions.values.filter { $0.nextTransmissionAt <= now }
            .sorted { ($0.nextTransmissionAt, $0.id.low) < ($1.nextTransmissionAt, $1.id.low) }
        for var transaction in expired {
            let isSpent = transaction.transmissions >= transaction.maximumTransmissions
            if transaction.isConsent || transaction.isCancelled || isSpent {
                transactions[transaction.id] = nil
                fail(transaction)
            } else {
                transaction.transmissions += 1
                transaction.nextTransmissionAt =
                    now + transaction.interval(afterTransmission: transaction.transmissions)
                transactions[transaction.id] = transaction
                due.append(transaction.id)
            }
        }
    }

    mutating func fail(_ transaction: ICETransaction) {
        guard !transaction.isConsent, !transaction.isCancelled else { return }
        if nominationInFlight == transaction.path, transaction.useCandidate { nominationInFlight = nil }
        guard let index = pairs.firstIndex(where: { $0.path == transaction.path }) else { return }
        // A pair that was valid before stays so: consent decides over it from then on.
        if pairs[index].state == .inProgress { pairs[index].state = .failed }
    }

    func writeRequest(_ transaction: ICETransaction, into buffer: inout MutableRawSpan) -> Int? {
        let base = localCandidate(of: transaction.path)
        // RFC 8445 §7.1.1: the priority that a peer-reflexive candidate found by this check would have.
        let localPreference = UInt16(truncatingIfNeeded: (base?.priority ?? 0) >> 8)
        do throws(STUNError) {
            var builder = try STUNMessageBuilder(
                &buffer, type: STUNMessageType(.request), transactionID: transaction.id)
            try builder.add(username: transaction.identity.username)
            try builder.add(
                priority: ICECandidate.priority(
                    type: .peerReflexive, transport: transaction.path.transport, localPreference: localPreference))
            try builder.add(tieBreaker: transaction.tieBreaker, isControlling: transaction.role == .controlling)
            if transaction.useCandidate, transaction.role == .controlling { try builder.addUseCandidate() }
            return try builder.finish(key: transaction.identity.key)
        } catch {
            return nil
        }
    }
}
