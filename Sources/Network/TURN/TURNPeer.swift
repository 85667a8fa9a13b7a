import EmisoraCore

/// Leave for one IP address to send to our relayed address and to be sent to (RFC 8656 §9).
struct TURNPermission {
    enum State {
        case requested
        case active
        case refused
    }

    let ip: IPAddress
    var state = State.requested
    /// Active: until then. Refused: it is not asked for again before.
    var expiresAt = Instant.distantFuture
    var renewAt = Instant.distantFuture
    var lastUsedAt: Instant

    var deadline: Instant { min(expiresAt, renewAt) }
}

/// One address that we exchange datagrams with, and its channel (RFC 8656 §12).
struct TURNPeer {
    enum Channel {
        case none
        case requested(UInt16)
        case bound(UInt16)
    }

    let address: SocketAddress
    var channel = Channel.none
    /// A number once given to a peer stays its own, since it must not mean another one soon (RFC 8656 §12).
    var number: UInt16?
    var hasAnswered = false
    /// A bound channel carries nothing without the permission, which ends earlier.
    var permittedUntil = Instant(nanoseconds: .min)
    var expiresAt = Instant.distantFuture
    var renewAt = Instant.distantFuture
    var lastUsedAt: Instant

    var deadline: Instant { min(expiresAt, renewAt) }
}
