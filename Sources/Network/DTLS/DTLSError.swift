import EmisoraCrypto

/// Why a DTLS association could not be made or was lost.
package enum DTLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The peer's certificate is not the one whose fingerprint its description promised (RFC 8842 §5.1).
    case fingerprintMismatch
    /// The peer did not agree to a protection profile for SRTP that we know (RFC 5764 §4.1.1).
    case noCommonSRTPProfile
    case handshake(OpenSSLError)
    /// The peer stopped answering before the handshake was done.
    case timedOut
    /// The peer ended the association with a fatal alert after the handshake; the text is OpenSSL's.
    case alert(OpenSSLError)

    package var description: String {
        switch self {
        case .fingerprintMismatch:
            "The peer's certificate does not match the fingerprint in its session description; "
                + "somebody may sit in between, or the description is of another session."
        case .noCommonSRTPProfile:
            "The peer offers no SRTP profile that we have (AEAD_AES_128_GCM, AES128_CM_HMAC_SHA1_80)."
        case .handshake(let error):
            "The DTLS handshake failed. \(error)"
        case .timedOut:
            "The peer stopped answering the DTLS handshake; is UDP still passing in both directions?"
        case .alert(let error):
            "The peer broke off the DTLS association, as it does when it refuses our certificate. \(error)"
        }
    }
}
