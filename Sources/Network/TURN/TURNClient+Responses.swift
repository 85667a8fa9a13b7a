import EmisoraCore
import EmisoraSTUN

/// What the server sends.
///
/// An answer counts only with the transaction id of a waiting request, from the server's address. To a request that
/// proved itself, a success must prove itself too; an error that does not is believed only when no better answer comes
/// within a second, except 401 and 438, which a server cannot sign (RFC 8489 §9.2.5).
extension TURNClient {
    private static let doubtDuration: Duration = .seconds(1)
    /// A lifetime beyond this gains nothing and would only keep a dead allocation.
    private static let maximumLifetime: UInt32 = 3_600

    /// Takes one datagram of the socket, or one message of the stream, that came from `source`.
    package mutating func handle(datagram: RawSpan, from source: SocketAddress, now: Instant) -> Input {
        guard source == configuration.server, !hasEnded, datagram.byteCount >= 4 else { return .ignored }
        if datagram.unsafeLoad(fromByteOffset: 0, as: UInt8.self) >> 6 == 1 {
            return handleChannelData(datagram, now: now)
        }
        guard let message = try? STUNMessage(parsing: datagram) else { return .ignored }
        switch message.type.messageClass {
        case .request: return .ignored
        case .indication: return handleIndication(message, now: now)
        case .success, .error: return handleAnswer(message, datagram, now: now)
        }
    }

    private mutating func handleAnswer(_ message: STUNMessage, _ datagram: RawSpan, now: Instant) -> Input {
        guard let index = requests.firstIndex(where: { $0.id == message.transactionID }),
            message.type.method == requests[index].purpose.method.rawValue, message.unknownRequired.isEmpty
        else { return .ignored }
        let request = requests[index]
        let isError = message.type.messageClass == .error
        if let authentication = request.authentication {
            let isProven = message.isAuthentic(in: datagram, authentication.integrity)
            let isChallenge =
                isError
                && [STUNErrorCode.unauthenticated, STUNErrorCode.staleNonce].contains(message.errorCode ?? 0)
            guard isProven || !message.hasIntegrity, isProven || isError else { return .ignored }
            if !isProven, !isChallenge, !configuration.isStream {
                guard let code = message.errorCode, request.doubt == nil else { return .ignored }
                requests[index].doubt = (
                    TURNError(code: code, alternate: message.alternateServer), now + Self.doubtDuration
                )
                return .handled
            }
        }
        if request.transmissions == 1 { roundTrip.add(now - request.firstSentAt) }
        if isError {
            guard let code = message.errorCode else { return .ignored }
            requests.remove(at: index)
            handleError(code, message, request, now: now)
        } else {
            requests.remove(at: index)
            if let authentication = request.authentication { self.authentication = authentication }
            handleSuccess(message, request.purpose, now: now)
        }
        return .handled
    }

    // MARK: Errors

    private mutating func handleError(_ code: UInt16, _ message: STUNMessage, _ request: TURNRequest, now: Instant) {
        let error = TURNError(code: code, alternate: message.alternateServer)
        switch code {
        case STUNErrorCode.unauthenticated:
            guard let credentials = configuration.credentials else {
                return conclude(request.purpose, error: .credentialsMissing, now: now)
            }
            // To a proof in the same realm it means that the proof is wrong (RFC 8489 §9.2.5).
            guard request.authentication == nil || message.realm != request.authentication?.challenge.realm else {
                return conclude(request.purpose, error: .unauthorized, now: now)
            }
            answer(message, request, credentials, error, now: now)
        case STUNErrorCode.staleNonce:
            guard let credentials = configuration.credentials else {
                return conclude(request.purpose, error: .credentialsMissing, now: now)
            }
            answer(message, request, credentials, error, now: now)
        default: conclude(request.purpose, error: error, now: now)
        }
    }

    /// Asks again, with the proof that the server wants.
    private mutating func answer(
        _ message: STUNMessage, _ request: TURNRequest, _ credentials: STUNLongTermCredentials, _ error: TURNError,
        now: Instant
    ) {
        guard request.challenges < TURNRequest.maximumChallenges else {
            return conclude(request.purpose, error: error, now: now)
        }
        guard let challenge = STUNChallenge(message, knownRealm: request.authentication?.challenge.realm) else {
            return conclude(request.purpose, error: .malformedAnswer, now: now)
        }
        guard let authentication = TURNAuthentication(challenge, credentials) else {
            return conclude(request.purpose, error: .unsupportedPasswordAlgorithm, now: now)
        }
        begin(request.purpose, authentication: authentication, challenges: request.challenges + 1, now: now)
    }

    // MARK: Successes

    private mutating func handleSuccess(_ message: STUNMessage, _ purpose: TURNRequest.Purpose, now: Instant) {
        switch purpose {
        case .allocate:
            guard let relayed = message.turn.relayedAddress, relayed.port != 0,
                relayed.ip.family == configuration.family, let lifetime = message.turn.lifetime, lifetime > 0
            else { return fail(.malformedAnswer) }
            state = .allocated(relayed: relayed)
            live(for: lifetime, now: now)
            if isCloseWanted { return deallocate(now: now) }
            events.append(.allocated(relayed: relayed, mapped: message.mappedAddress))
        case .refresh:
            guard let lifetime = message.turn.lifetime, lifetime > 0 else { return fail(.allocationLost) }
            live(for: lifetime, now: now)
        case .deallocate: end(.closed)
        case .permission(let ip): permissionWasGranted(ip, now: now)
        case .channel(_, let peer): channelWasBound(peer, now: now)
        }
    }

    /// Renewed a minute before the end, a short one at half its life.
    private mutating func live(for lifetime: UInt32, now: Instant) {
        let lifetime = Duration.seconds(Int64(min(lifetime, Self.maximumLifetime)))
        expiresAt = now + lifetime
        refreshAt = now + max(lifetime - Self.renewalMargin, lifetime / 2)
    }
}
