import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN

/// What the peer sends: its checks (RFC 8445 §7.3) and its answers to ours (§7.2.5).
extension ICEAgent {
    /// Takes one STUN datagram that arrived at `path.local` from `path.remote`.
    package mutating func handle(datagram: RawSpan, path: ICEPath, now: Instant) -> ICEInput {
        switch state {
        case .closed, .failed: return .ignored
        case .new, .checking, .connected, .disconnected: break
        }
        let message: STUNMessage
        do throws(STUNError) {
            message = try STUNMessage(parsing: datagram)
        } catch {
            statistics.messagesDiscarded += 1
            return .ignored
        }
        // An address that is not to be used says nothing either: an answer would tell it.
        guard message.type.isBinding, isUsable(path) else {
            return .ignored
        }
        switch message.type.messageClass {
        case .request: return handleRequest(message, datagram, path: path, now: now)
        case .success, .error: return handleResponse(message, datagram, path: path, now: now)
        // RFC 8445 §11: a keepalive; unauthenticated and never answered.
        case .indication: return .ignored
        }
    }

    // MARK: Requests

    private mutating func handleRequest(
        _ message: STUNMessage, _ datagram: RawSpan, path: ICEPath, now: Instant
    ) -> ICEInput {
        // RFC 8489 §9.1.3, in its order.
        guard message.integrityOffset != nil, let username = message.username else {
            respond(to: message, path: path, error: STUNErrorCode.badRequest, key: nil)
            return .ignored
        }
        guard let receiver = receiver(of: username), message.isAuthentic(in: datagram, key: receiver.key) else {
            statistics.messagesDiscarded += 1
            respond(to: message, path: path, error: STUNErrorCode.unauthenticated, key: nil)
            return .ignored
        }
        guard message.unknownRequired.isEmpty else {
            respond(to: message, path: path, error: STUNErrorCode.unknownAttribute, key: receiver.key)
            return .handled
        }
        statistics.requestsReceived += 1
        guard receiver.isCurrent else {
            // The peer refreshes its consent on the old path while a restart is under way; nothing else follows.
            respond(to: message, path: path, error: nil, key: receiver.key)
            return .handled
        }
        guard resolveRoleConflict(message) else {
            respond(to: message, path: path, error: STUNErrorCode.roleConflict, key: localKey)
            return .handled
        }
        respond(to: message, path: path, error: nil, key: localKey)
        let priority =
            message.priority
            ?? ICECandidate.priority(type: .peerReflexive, transport: path.transport, localPreference: 0)
        // USE-CANDIDATE counts only from the controlling side (RFC 8445 §7.3.1.5).
        let useCandidate = message.useCandidate && role == .controlled && message.iceControlling != nil
        if identity == nil {
            if let known = earlyChecks.firstIndex(where: { $0.path == path }) {
                if useCandidate { earlyChecks[known].useCandidate = true }
            } else if earlyChecks.count < Self.maximumEarlyChecks {
                earlyChecks.append(EarlyCheck(path: path, priority: priority, useCandidate: useCandidate))
            }
        } else {
            trigger(path, remotePriority: priority, useCandidate: useCandidate, now: now)
            updateNominationAndState(now: now)
        }
        return .handled
    }

    /// The key that a request with that user name must be made with. Two parts with a colon between; the first is our
    /// fragment (RFC 8445 §7.3), current or that of the path that a restart is about to replace.
    private func receiver(of username: [UInt8]) -> (key: HMACSHA1Key, isCurrent: Bool)? {
        guard let colon = username.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let fragment = username[..<colon]
        if fragment.elementsEqual(localCredentials.ufrag.utf8) { return (localKey, true) }
        if let previous, fragment.elementsEqual(previous.localCredentials.ufrag.utf8) {
            return (previous.localKey, false)
        }
        return nil
    }

    /// RFC 8445 §7.3.1.1. `false`: the peer has to change its role and is told so.
    private mutating func resolveRoleConflict(_ message: STUNMessage) -> Bool {
        if role == .controlling, let theirs = message.iceControlling {
            if tieBreaker >= theirs { return false }
            switchRole(to: .controlled)
        } else if role == .controlled, let theirs = message.iceControlled {
            if tieBreaker < theirs { return false }
            switchRole(to: .controlling)
        }
        return true
    }

    private mutating func switchRole(to new: ICERole) {
        role = new
        nominateAt = nil
        nominationInFlight = nil
        // What is on its way claims the old role and would only be refused again; it is asked anew.
        cancelChecks { $0.role != new }
        for index in pairs.indices where pairs[index].state == .inProgress { pairs[index].state = .waiting }
    }

    /// A triggered check (RFC 8445 §7.3.1.4), with a peer-reflexive candidate where the source is not known.
    mutating func trigger(_ path: ICEPath, remotePriority: UInt32, useCandidate: Bool, now: Instant) {
        guard let local = localCandidate(of: path) else { return }
        if remoteCandidate(of: path) == nil {
            guard remoteCandidates.count < Self.maximumRemoteCandidates else { return }
            remoteCandidates.append(
                ICECandidate(
                    foundation: "prflx\(remoteCandidates.count)", priority: remotePriority, address: path.remote,
                    type: .peerReflexive, transport: path.transport))
        }
        if !pairs.contains(where: { $0.path == path }) {
            // A pair that the peer proves to exist goes before any that nothing is known of.
            guard makeRoomForPair(above: .max) else { return }
            pairs.append(
                ICECandidatePair(path: path, localPriority: local.priority, remotePriority: remotePriority))
        }
        guard let index = pairs.firstIndex(where: { $0.path == path }) else { return }
        switch pairs[index].state {
        case .succeeded:
            guard useCandidate else { return }
            if let answeredAt = pairs[index].lastAnsweredAt, now - answeredAt < Self.consentExpiry / 2 {
                pairs[index].nominatedAt = now
                return
            }
            // It worked once, but consent to send there has to be fresh (RFC 7675 §5.1).
            pairs[index].nominateOnSuccess = true
        case .inProgress:
            if useCandidate { pairs[index].nominateOnSuccess = true }
            // The peer is there now: once, we do not wait for our retransmission (RFC 8445 §7.3.1.4).
            guard !pairs[index].wasHastened else { return }
            pairs[index].wasHastened = true
        case .waiting, .failed:
            if useCandidate { pairs[index].nominateOnSuccess = true }
            pairs[index].state = .waiting
        }
        guard !triggered.contains(path) else { return }
        triggered.append(path)
        startNextCheck(now: now)
    }

    private mutating func respond(to request: STUNMessage, path: ICEPath, error: UInt16?, key: HMACSHA1Key?) {
        guard responses.count < Self.maximumQueuedResponses else { return }
        var bytes = [UInt8](repeating: 0, count: 128)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        let byteCount: Int
        do throws(STUNError) {
            var builder = try STUNMessageBuilder(
                &buffer, type: STUNMessageType(error == nil ? .success : .error),
                transactionID: request.transactionID)
            switch error {
            case nil: try builder.add(xorMappedAddress: path.remote)
            case STUNErrorCode.unknownAttribute:
                try builder.add(errorCode: STUNErrorCode.unknownAttribute, reason: "")
                try builder.add(unknownAttributes: request.unknownRequired)
            case let code?: try builder.add(errorCode: code, reason: "")
            }
            byteCount = try builder.finish(key: key)
        } catch {
            return
        }
        responses.append(QueuedResponse(path: path, bytes: Array(bytes[..<byteCount])))
    }

    // MARK: Responses

    private mutating func handleResponse(
        _ message: STUNMessage, _ datagram: RawSpan, path: ICEPath, now: Instant
    ) -> ICEInput {
        guard let transaction = transactions[message.transactionID] else { return .ignored }
        // 400 and 401 come without integrity (RFC 8489 §9.1.3): they are not believed, the check just times out.
        guard message.isAuthentic(in: datagram, key: transaction.identity.key), message.unknownRequired.isEmpty else {
            statistics.messagesDiscarded += 1
            return .ignored
        }
        transactions[message.transactionID] = nil
        statistics.responsesReceived += 1
        // RFC 8445 §7.2.5.2.1: an answer from elsewhere fails the check.
        guard transaction.path == path else {
            fail(transaction)
            updateNominationAndState(now: now)
            return .handled
        }
        if message.type.messageClass == .error {
            handleError(message, transaction, now: now)
        } else if let mappedAddress = message.mappedAddress {
            handleSuccess(transaction, mappedAddress: mappedAddress, now: now)
        } else {
            fail(transaction)
        }
        updateNominationAndState(now: now)
        return .handled
    }

    private mutating func handleError(_ message: STUNMessage, _ transaction: ICETransaction, now: Instant) {
        guard message.errorCode == STUNErrorCode.roleConflict, !transaction.isCancelled else {
            return fail(transaction)
        }
        // RFC 8445 §7.2.5.1: change the role that the request claimed, draw a new tie-breaker, try again.
        if role == transaction.role {
            switchRole(to: role.opposite)
            tieBreaker = random.next()
        }
        if let index = pairs.firstIndex(where: { $0.path == transaction.path }), pairs[index].state != .succeeded {
            pairs[index].state = .waiting
            if !triggered.contains(transaction.path) { triggered.append(transaction.path) }
            startNextCheck(now: now)
        }
    }

    private mutating func handleSuccess(
        _ transaction: ICETransaction, mappedAddress: SocketAddress, now: Instant
    ) {
        // An answer to a repeated request may belong to any of its copies and measures nothing.
        if transaction.transmissions == 1 {
            let roundTripTime = now - transaction.firstSentAt
            statistics.currentRoundTripTime = roundTripTime
            statistics.totalRoundTripTime += roundTripTime
            statistics.roundTripTimeMeasurements += 1
        }
        if transaction.path == selectedPath { renewConsent(now: now) }
        guard let index = pairs.firstIndex(where: { $0.path == transaction.path }) else { return }
        if transaction.transmissions == 1 { pairs[index].roundTrip.add(now - transaction.firstSentAt) }
        pairs[index].lastAnsweredAt = now
        pairs[index].mappedAddress = mappedAddress
        guard !transaction.isConsent else { return }
        pairs[index].state = .succeeded
        cancelChecks { $0.path == transaction.path && !$0.useCandidate }
        validPaths.insert(transaction.path)
        if transaction.useCandidate, transaction.role == .controlling, role == .controlling {
            pairs[index].nominatedAt = now
            nominationInFlight = nil
        }
        if pairs[index].nominateOnSuccess, role == .controlled {
            pairs[index].nominatedAt = now
            pairs[index].nominateOnSuccess = false
        }
    }
}
