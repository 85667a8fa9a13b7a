/// The SRTP protection profiles of this implementation.
package enum SRTPProfile: Hashable, Sendable, CaseIterable {
    /// RFC 7714. Preferred: authenticated encryption in one pass.
    case aeadAes128Gcm
    /// RFC 7714, with longer keys.
    case aeadAes256Gcm
    /// RFC 3711; the one every WebRTC endpoint has (RFC 8827 §6.5).
    // swift-format-ignore: AlwaysUseLowerCamelCase
    case aes128CmHmacSha1_80

    package var keyByteCount: Int { self == .aeadAes256Gcm ? 32 : 16 }
    package var saltByteCount: Int { isAEAD ? 12 : 14 }
    package var tagByteCount: Int { isAEAD ? 16 : 10 }
    /// Two different packets must never be sealed under one index.
    var isAEAD: Bool { self != .aes128CmHmacSha1_80 }
}
