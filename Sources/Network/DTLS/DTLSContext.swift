import CEmisoraOpenSSL
import EmisoraCore
import EmisoraCrypto

/// What all DTLS associations of a process share: the certificate and the settings (`SSL_CTX`, 0.27 ms to make).
///
/// Immutable after it is made; may be shared between threads.
package final class DTLSContext: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: the handle is only read after `init`; SSL_CTX is safe to share then.
    let handle: OpaquePointer
    package let certificate: Certificate

    /// `profiles`: what is offered for SRTP, best first. GCM first by default: it costs a fifth of AES-CM with SHA-1 in
    /// Debian's libsrtp.
    package init(
        certificate: Certificate,
        profiles: [SRTPKeyingMaterial.Profile] = [.aeadAes128Gcm, .aeadAes256Gcm, .aes128CmHmacSha1_80]
    ) throws(OpenSSLError) {
        ERR_clear_error()
        guard let handle = SSL_CTX_new(DTLS_method()) else { throw OpenSSLError("Making a DTLS context") }
        self.handle = handle
        self.certificate = certificate
        emisora_ssl_ctx_set_options(handle)
        // Only the fingerprint authenticates; the chain of a self-signed certificate proves nothing. A certificate
        // must be there all the same, on both sides.
        SSL_CTX_set_verify(handle, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, { _, _ in 1 })
        guard emisora_ssl_ctx_set_min_proto_version(handle, DTLS1_2_VERSION) == 1,
            emisora_ssl_ctx_set_max_proto_version(handle, DTLS1_2_VERSION) == 1,
            // RFC 8827 §6.5: forward secrecy and AEAD; the first is the mandatory one.
            SSL_CTX_set_cipher_list(
                handle,
                "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384:"
                    + "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305:ECDHE-RSA-AES256-GCM-SHA384") == 1,
            emisora_ssl_ctx_set_groups(handle, "X25519:P-256:P-384") == 1,
            // 0 is success here.
            profiles.isEmpty
                || SSL_CTX_set_tlsext_use_srtp(handle, profiles.map(\.openSSLName).joined(separator: ":")) == 0
        else {
            // `deinit` frees the handle, since all is set by now.
            throw OpenSSLError("Configuring DTLS")
        }
        try certificate.install(in: handle)
    }

    deinit {
        SSL_CTX_free(handle)
    }
}
