import EmisoraCore
import EmisoraSTUN

/// Requests: written, repeated, given up.
extension TURNClient {
    /// IANA's protocol number of UDP, in the first byte of REQUESTED-TRANSPORT.
    private static let udp: UInt32 = 17 << 24
    private static let familyV6: UInt32 = 2 << 24
    private static let requestByteLimit = 3_072

    mutating func begin(_ purpose: TURNRequest.Purpose, now: Instant) {
        begin(purpose, authentication: authentication, challenges: 0, now: now)
    }

    mutating func begin(
        _ purpose: TURNRequest.Purpose, authentication: TURNAuthentication?, challenges: Int, now: Instant
    ) {
        let id = STUNTransactionID(using: &random)
        let bytes = write(purpose, id: id, authentication: authentication)
        requests.removeAll { $0.purpose == purpose }
        var request = TURNRequest(
            purpose: purpose, id: id, bytes: bytes, authentication: authentication, challenges: challenges,
            nextTransmissionAt: now)
        beginIfAllowed(&request, now: now)
        requests.append(request)
    }

    /// New transactions take turns with all others, those that repeat a question with its proof, too (RFC 8445 §14.2);
    /// a goodbye does not wait.
    private mutating func beginIfAllowed(_ request: inout TURNRequest, now: Instant) {
        guard request.purpose == .deallocate || pacer.take(now: now) else {
            request.nextTransmissionAt = pacer.nextSlot
            return
        }
        request.transmissions = 1
        request.firstSentAt = now
        request.timeout = roundTrip.timeout ?? pacer.initialTimeout
        request.nextTransmissionAt =
            now
            + (configuration.isStream
                ? STUNRetransmission.streamTimeout
                : STUNRetransmission.interval(afterTransmission: 1, timeout: request.timeout))
        due.append(request.id)
    }

    mutating func repeatRequests(now: Instant) {
        for var request in requests where request.deadline <= now {
            guard let index = requests.firstIndex(where: { $0.id == request.id }) else { continue }
            if request.transmissions == 0 {
                beginIfAllowed(&request, now: now)
                requests[index] = request
            } else if let doubt = request.doubt, now >= doubt.until {
                requests.remove(at: index)
                conclude(request.purpose, error: doubt.error, now: now)
            } else if configuration.isStream || request.transmissions >= request.maximumTransmissions {
                requests.remove(at: index)
                conclude(request.purpose, error: .timedOut, now: now)
            } else if now >= request.nextTransmissionAt {
                request.transmissions += 1
                request.nextTransmissionAt =
                    now
                    + STUNRetransmission.interval(
                        afterTransmission: request.transmissions, timeout: request.timeout)
                requests[index] = request
                due.append(request.id)
            }
        }
    }

    /// What a refusal, or silence, means for what was asked.
    mutating func conclude(_ purpose: TURNRequest.Purpose, error: TURNError, now: Instant) {
        switch purpose {
        case .allocate: fail(error)
        case .deallocate: end(.closed)
        case .refresh:
            // The server says that there is nothing to refresh; anything else may pass while the allocation lives.
            if error == .fiveTupleInUse { return fail(.allocationLost) }
            refreshAt = now + .seconds(5)
        case .permission(let ip):
            permissionWasRefused(ip, error, now: now)
            verifyAfter(error, now: now)
        case .channel(_, let peer):
            channelWasRefused(peer, now: now)
            verifyAfter(error, now: now)
        }
    }

    /// Servers that have lost an allocation say so to a Refresh; to other requests some answer 400, or even success.
    private mutating func verifyAfter(_ error: TURNError, now: Instant) {
        if error == .fiveTupleInUse || error == .rejected(code: STUNErrorCode.badRequest) { verify(now: now) }
    }

    private func write(
        _ purpose: TURNRequest.Purpose, id: STUNTransactionID, authentication: TURNAuthentication?
    ) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.requestByteLimit)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        let byteCount: Int
        do throws(STUNError) {
            byteCount = try write(purpose, id: id, authentication: authentication, into: &buffer)
        } catch {
            // Cannot be: the credentials and the server's words are capped so that all fits.
            return []
        }
        return Array(bytes[..<byteCount])
    }

    private func write(
        _ purpose: TURNRequest.Purpose, id: STUNTransactionID, authentication: TURNAuthentication?,
        into buffer: inout MutableRawSpan
    ) throws(STUNError) -> Int {
        var builder = try STUNMessageBuilder(
            &buffer, type: STUNMessageType(.request, purpose.method), transactionID: id)
        switch purpose {
        case .allocate:
            try builder.add(attribute: STUNAttribute.requestedTransport, word: Self.udp)
            if configuration.family == .v6 {
                try builder.add(attribute: STUNAttribute.requestedAddressFamily, word: Self.familyV6)
            }
        case .refresh: break
        case .deallocate: try builder.add(attribute: STUNAttribute.lifetime, word: 0)
        case .permission(let ip):
            try builder.add(STUNAttribute.xorPeerAddress, xorAddress: SocketAddress(ip: ip, port: 0))
        case .channel(let number, let peer):
            try builder.add(attribute: STUNAttribute.channelNumber, word: UInt32(number) << 16)
            try builder.add(STUNAttribute.xorPeerAddress, xorAddress: peer)
        }
        guard let authentication, let credentials = configuration.credentials else {
            return try builder.finish(integrity: nil)
        }
        let challenge = authentication.challenge
        if let userhash = authentication.userhash {
            try builder.add(attribute: STUNAttribute.userhash, value: userhash)
        } else {
            try builder.add(username: Array(credentials.username.utf8))
        }
        try builder.add(attribute: STUNAttribute.realm, value: challenge.realm)
        try builder.add(attribute: STUNAttribute.nonce, value: challenge.nonce)
        if !challenge.passwordAlgorithms.isEmpty, let algorithm = challenge.algorithm {
            try builder.add(attribute: STUNAttribute.passwordAlgorithms, value: challenge.passwordAlgorithms)
            try builder.add(attribute: STUNAttribute.passwordAlgorithm, word: UInt32(algorithm.rawValue) << 16)
        }
        return try builder.finish(integrity: authentication.integrity)
    }
}
