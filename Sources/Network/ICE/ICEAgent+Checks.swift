import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN

/// Our own connectivity checks: starting, repeating, nominating (RFC 8445 §7.2, §8).
extension ICEAgent {
    /// Starts the next check when the process-wide pacer allows: a triggered one first, else the best waiting pair.
    mutating func startNextCheck(now: Instant) {
        guard remoteKey != nil else { return }
        while let path = triggered.first {
            guard pacer.take(now: now) else { return }
            triggered.removeFirst()
            if startCheck(on: path, useCandidate: nominationInFlight == path, now: now) { return }
        }
        let role = role
        let waiting = pairs.indices.filter { pairs[$0].state == .waiting }
        guard let best = waiting.max(by: { pairs[$0].priority(role: role) < pairs[$1].priority(role: role) }),
            pacer.take(now: now)
        else { return }
        _ = startCheck(on: pairs[best].path, useCandidate: false, now: now)
    }

    private mutating func startCheck(on path: ICEPath, useCandidate: Bool, now: Instant) -> Bool {
        guard let index = pairs.firstIndex(where: { $0.path == path }) else { return false }
        if pairs[index].state != .succeeded { pairs[index].state = .inProgress }
        begin(path: path, useCandidate: useCandidate, isConsent: false, now: now)
        return true
    }

    mutating func begin(path: ICEPath, useCandidate: Bool, isConsent: Bool, now: Instant) {
        let id = STUNTransactionID(using: &random)
        var transaction = ICETransaction(
            id: id, path: path, role: role, useCandidate: useCandidate, isConsent: isConsent, firstSentAt: now,
            nextTransmissionAt: now)
        transaction.transmissions = 1
        transaction.nextTransmissionAt = now + transaction.timeout(afterTransmission: 1)
        transactions[id] = transaction
        due.append(id)
    }

    mutating func retransmit(now: Instant) {
        // Sorted, so that a simulated run is the same each time: a dictionary's order is not.
        let expired = transactions.values.filter { $0.nextTransmissionAt <= now }
            .sorted { ($0.nextTransmissionAt, $0.id.low) < ($1.nextTransmissionAt, $1.id.low) }
        for var transaction in expired {
            if transaction.isConsent || transaction.transmissions >= ICETransaction.maximumTransmissions {
                transactions[transaction.id] = nil
                if !transaction.isConsent { fail(transaction) }
            } else {
                transaction.transmissions += 1
                transaction.nextTransmissionAt =
                    now + transaction.timeout(afterTransmission: transaction.transmissions)
                transactions[transaction.id] = transaction
                due.append(transaction.id)
            }
        }
    }

    mutating func fail(_ transaction: ICETransaction) {
        if nominationInFlight == transaction.path, transaction.useCandidate { nominationInFlight = nil }
        guard let index = pairs.firstIndex(where: { $0.path == transaction.path }) else { return }
        // A pair that was valid before stays so: consent decides over it from then on.
        if pairs[index].state == .inProgress { pairs[index].state = .failed }
    }

    func writeRequest(_ transaction: ICETransaction, into buffer: inout MutableRawSpan) -> Int? {
        guard let remoteCredentials, let remoteKey else { return nil }
        let base = localCandidates.first { $0.address == transaction.path.local }
        // RFC 8445 §7.1.1: the priority that a peer-reflexive candidate found by this check would have.
        let localPreference = UInt16(truncatingIfNeeded: (base?.priority ?? 0) >> 8)
        do throws(STUNError) {
            var builder = try STUNMessageBuilder(
                &buffer, type: STUNMessageType(.request), transactionID: transaction.id)
            try builder.add(username: Array("\(remoteCredentials.ufrag):\(localCredentials.ufrag)".utf8))
            try builder.add(
                priority: ICECandidate.priority(type: .peerReflexive, localPreference: localPreference))
            try builder.add(tieBreaker: tieBreaker, isControlling: transaction.role == .controlling)
            if transaction.useCandidate, transaction.role == .controlling { try builder.addUseCandidate() }
            return try builder.finish(key: remoteKey)
        } catch {
            return nil
        }
    }

    // MARK: Nomination and state

    /// The pair that media should use: the best nominated one, else, before any nomination, the best valid one
    /// (RFC 8445 §12.1.1 allows to send on any valid pair until then).
    private func bestPath() -> ICEPath? {
        let nominated = pairs.filter { $0.isNominated && $0.state == .succeeded }
        let candidates = nominated.isEmpty ? pairs.filter { $0.state == .succeeded } : nominated
        return candidates.max { $0.priority(role: role) < $1.priority(role: role) }?.path
    }

    mutating func updateNominationAndState(now: Instant) {
        switch state {
        case .new, .closed, .failed: return
        case .checking, .connected, .disconnected: break
        }
        nominateIfDue(now: now)
        if let best = bestPath(), best != selectedPath { select(best, now: now) }
        if selectedPath == nil, let reason = failureReason(now: now) { enter(.failed(reason: reason)) }
    }

    private mutating func nominateIfDue(now: Instant) {
        guard role == .controlling, nominationInFlight == nil, !pairs.contains(where: \.isNominated) else {
            nominateAt = nil
            return
        }
        let role = role
        let valid = pairs.filter { $0.state == .succeeded }
        guard let best = valid.max(by: { $0.priority(role: role) < $1.priority(role: role) }) else { return }
        // Worth waiting a moment for a better one, if there is one that could still succeed.
        let hasBetter = pairs.contains {
            ($0.state == .waiting || $0.state == .inProgress)
                && $0.priority(role: role) > best.priority(role: role)
        }
        let deadline = nominateAt ?? now + Self.nominationDelay
        guard !hasBetter || now >= deadline else {
            nominateAt = deadline
            return
        }
        nominateAt = nil
        nominationInFlight = best.path
        triggered.insert(best.path, at: 0)
        startNextCheck(now: now)
    }

    private mutating func select(_ path: ICEPath, now: Instant) {
        selectedPath = path
        statistics.selectedLocal = localCandidates.first { $0.address == path.local }
        statistics.selectedRemote = remoteCandidates.first { $0.address == path.remote }
        lastConsentAt = now
        scheduleConsent(now: now)
        events.append(.selectedPathChanged(path))
        enter(.connected)
    }

    /// When patience with late candidates ends; only while nothing has worked.
    var patienceDeadline: Instant? {
        guard selectedPath == nil, let checkingSince else { return nil }
        return checkingSince + Self.patience
    }

    private func failureReason(now: Instant) -> String? {
        guard let deadline = patienceDeadline, now >= deadline else { return nil }
        if remoteCandidates.isEmpty {
            return "The peer gave no usable address within \(Self.patience.inSeconds) s. "
                + "Is it running, and does it offer UDP candidates?"
        }
        guard !pairs.contains(where: { $0.state == .waiting || $0.state == .inProgress }) || remoteCandidatesEnded
        else { return nil }
        return "None of \(pairs.count) address pairs answered. A firewall may block UDP between the two sides."
    }
}
