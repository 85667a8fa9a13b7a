/// The SRTP protection profiles of this implementation.
package enum SRTPProfile: Hashable, Sendable, CaseIterable {
    /// RFC 7714. Preferred: authenticated encryption in one pass.
    case aeadAes128Gcm
    /// RFC 3711; the one every WebRTC endpoint has (RFC 8827 §6.5).
    // swift-format-ignore: AlwaysUseLowerCamelCase
    case aes128CmHmacSha1_80

    package var keyByteCount: Int { 16 }
    package var saltByteCount: Int { self == .aeadAes128Gcm ? 12 : 14 }
    package var tagByteCount: Int { self == .aeadAes128Gcm ? 16 : 10 }
}
