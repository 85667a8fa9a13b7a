import CEmisoraOpenSSL

/// What the handshake agreed on, in the words of W3C webrtc-stats (`RTCTransportStats`).
package struct DTLSStatistics: Equatable, Sendable {
    /// `tlsVersion`: four hexadecimal digits of the wire, `FEFD` for DTLS 1.2.
    package let tlsVersion: String
    /// `dtlsCipher`: IANA's name, such as `TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256`.
    package let dtlsCipher: String
    /// `srtpCipher`: IANA's name of the protection profile, such as `SRTP_AEAD_AES_128_GCM`.
    package let srtpCipher: String

    package init(tlsVersion: String, dtlsCipher: String, srtpCipher: String) {
        self.tlsVersion = tlsVersion
        self.dtlsCipher = dtlsCipher
        self.srtpCipher = srtpCipher
    }
}

extension DTLSTransport {
    /// What was agreed; `nil` until the association is connected.
    package var statistics: DTLSStatistics? {
        guard isConnected, let profile = selectedProfile else { return nil }
        let version = String(UInt16(truncatingIfNeeded: SSL_version(ssl)), radix: 16, uppercase: true)
        return DTLSStatistics(tlsVersion: version, dtlsCipher: cipherName, srtpCipher: profile.name)
    }
}
