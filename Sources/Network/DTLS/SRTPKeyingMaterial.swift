/// What the DTLS handshake agreed on for SRTP (RFC 5764 §4.2).
package struct SRTPKeyingMaterial: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The protection profiles we offer, by their IANA numbers (RFC 5764 §4.1.2, RFC 7714 §14.2).
    package enum Profile: UInt16, Hashable, Sendable {
        // swift-format-ignore: AlwaysUseLowerCamelCase
        case aes128CmHmacSha1_80 = 0x0001
        case aeadAes128Gcm = 0x0007
        case aeadAes256Gcm = 0x0008

        package var keyByteCount: Int { self == .aeadAes256Gcm ? 32 : 16 }
        package var saltByteCount: Int {
            switch self {
            case .aes128CmHmacSha1_80: 14
            case .aeadAes128Gcm, .aeadAes256Gcm: 12
            }
        }

        /// What OpenSSL calls it.
        var openSSLName: String {
            switch self {
            case .aes128CmHmacSha1_80: "SRTP_AES128_CM_SHA1_80"
            case .aeadAes128Gcm: "SRTP_AEAD_AES_128_GCM"
            case .aeadAes256Gcm: "SRTP_AEAD_AES_256_GCM"
            }
        }

        /// The name that statistics use (IANA's).
        package var name: String {
            switch self {
            case .aes128CmHmacSha1_80: "SRTP_AES128_CM_HMAC_SHA1_80"
            case .aeadAes128Gcm: "SRTP_AEAD_AES_128_GCM"
            case .aeadAes256Gcm: "SRTP_AEAD_AES_256_GCM"
            }
        }
    }

    package let profile: Profile
    /// Master key followed by master salt, for what we send.
    package let local: [UInt8]
    /// Master key followed by master salt, for what the peer sends.
    package let remote: [UInt8]

    package init(profile: Profile, local: [UInt8], remote: [UInt8]) {
        self.profile = profile
        self.local = local
        self.remote = remote
    }

    /// Names the profile alone: keys must not reach a log.
    package var description: String { "SRTPKeyingMaterial(\(profile.name))" }
    package var customMirror: Mirror { Mirror(self, children: ["profile": profile.name]) }

    /// Splits what the exporter gave: client key, server key, client salt, server salt (RFC 5764 §4.2).
    init?(profile: Profile, exported: [UInt8], isClient: Bool) {
        let key = profile.keyByteCount
        let salt = profile.saltByteCount
        guard exported.count == 2 * (key + salt) else { return nil }
        let client = Array(exported[0..<key] + exported[2 * key..<2 * key + salt])
        let server = Array(exported[key..<2 * key] + exported[2 * key + salt..<2 * (key + salt)])
        self.init(profile: profile, local: isClient ? client : server, remote: isClient ? server : client)
    }
}
