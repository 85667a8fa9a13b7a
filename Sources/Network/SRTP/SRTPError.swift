/// Why a packet could not be protected or was refused.
package enum SRTPError: Error, Equatable, Sendable {
    /// Shorter than its fixed header, or longer than any datagram.
    case malformed
    /// The tag does not fit behind the packet.
    case noRoom(needed: Int, available: Int)
    /// The tag is wrong: damaged, forged, or of other keys.
    case authenticationFailed
    /// Seen before, or too old to tell.
    case replayed
    /// The peer's authentic packets already use as many SSRCs as are kept; this one is of yet another.
    case tooManyStreams
    /// A packet of an index that was sent before differs from the one that was sent. AES-GCM must never seal two
    /// different packets under one index (RFC 7714 §9.1: it gives the authentication key away).
    case indexReused
    /// The session's keys are used up (RFC 3711 §9.2) and must be renewed.
    case keyExpired
    /// libsrtp refused with another status (its `srtp_err_status_t`).
    case library(status: UInt32)
}
