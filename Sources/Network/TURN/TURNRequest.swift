import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN

/// How requests of a client prove themselves: the server's challenge and the key that follows from it.
struct TURNAuthentication: Sendable {
    let challenge: STUNChallenge
    let integrity: STUNIntegrity
    /// USERHASH instead of USERNAME, where the server asked for it.
    let userhash: [UInt8]?

    /// `nil`: no algorithm in common.
    init?(_ challenge: STUNChallenge, _ credentials: STUNLongTermCredentials) {
        guard let algorithm = challenge.algorithm,
            let key = credentials.key(realm: challenge.realm, algorithm: algorithm)
        else { return nil }
        self.challenge = challenge
        // RFC 8489 §9.2.5: who offers algorithms is answered with SHA-256.
        integrity =
            challenge.passwordAlgorithms.isEmpty
            ? .sha1(HMACSHA1Key(key.span.bytes)) : .sha256(HMACSHA256Key(key.span.bytes))
        userhash = challenge.wantsUserhash ? credentials.userhash(realm: challenge.realm) : nil
    }
}

/// A request of a TURN client that waits for its answer. Its bytes are made once, so that a repetition is the same
/// message (RFC 8489 §6.2.1).
struct TURNRequest {
    enum Purpose: Hashable {
        case allocate
        case refresh
        case deallocate
        case permission(IPAddress)
        case channel(UInt16, SocketAddress)

        var method: STUNMessageType.Method {
            switch self {
            case .allocate: .allocate
            case .refresh, .deallocate: .refresh
            case .permission: .createPermission
            case .channel: .channelBind
            }
        }
    }

    /// 401 and 438 that one purpose may be answered with before it is given up.
    static let maximumChallenges = 3

    let purpose: Purpose
    let id: STUNTransactionID
    let bytes: [UInt8]
    /// `nil`: it was sent without proof, and so is its answer.
    let authentication: TURNAuthentication?
    /// How often the server has asked for another proof.
    let challenges: Int
    /// 0: it waits for its turn.
    var transmissions = 0
    var firstSentAt = Instant.distantFuture
    /// RTO.
    var timeout = STUNRetransmission.leastTimeout
    var nextTransmissionAt: Instant
    /// An error that nobody signed, and until when a signed answer may still come.
    var doubt: (error: TURNError, until: Instant)?

    var deadline: Instant { min(nextTransmissionAt, doubt?.until ?? .distantFuture) }

    /// Giving an allocation back is not worth waiting for.
    var maximumTransmissions: Int { purpose == .deallocate ? 3 : STUNRetransmission.maximumTransmissions }
}
