import CEmisoraOpenSSL
import EmisoraCore

/// A self-signed ECDSA P-256 certificate with its private key (RFC 8827 §6.5).
///
/// Peers of a WebRTC session authenticate each other by fingerprint alone, so the names inside mean nothing and are
/// random. Immutable after it is made; may be shared between threads.
package final class Certificate: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: both handles are only read after `init`, and OpenSSL's reference counts,
    // which `install(in:)` raises, are atomic.
    private let key: OpaquePointer
    private let x509: OpaquePointer
    /// SHA-256 over the certificate.
    package let fingerprint: Fingerprint
    /// The certificate in DER, as it travels in the handshake.
    package let der: [UInt8]

    /// Makes a key and a certificate valid from a day before `unixTime` (peers' clocks differ) until 30 days after.
    package init(unixTime: Int64, using random: inout some RandomNumberGenerator) throws(OpenSSLError) {
        ERR_clear_error()
        guard let key = emisora_generate_p256_key() else { throw OpenSSLError("Making a P-256 key") }
        guard let x509 = X509_new() else {
            EVP_PKEY_free(key)
            throw OpenSSLError("Making a certificate")
        }
        func fill(_ random: inout some RandomNumberGenerator) -> [UInt8]? {
            let name = RandomToken.make(length: 16, using: &random)
            let day = 86_400
            guard X509_set_version(x509, 2) == 1,
                ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), random.next() >> 1 | 1) == 1,
                ASN1_TIME_set(X509_getm_notBefore(x509), Int(unixTime) - day) != nil,
                ASN1_TIME_set(X509_getm_notAfter(x509), Int(unixTime) + 30 * day) != nil,
                let subject = X509_get_subject_name(x509),
                X509_NAME_add_entry_by_txt(subject, "CN", 0x1000 | 1, name, -1, -1, 0) == 1,
                X509_set_issuer_name(x509, subject) == 1,
                X509_set_pubkey(x509, key) == 1,
                X509_sign(x509, key, EVP_sha256()) > 0
            else { return nil }
            return Self.der(of: x509)
        }
        guard let der = fill(&random), let fingerprint = Fingerprint(ofCertificate: der.span.bytes) else {
            X509_free(x509)
            EVP_PKEY_free(key)
            throw OpenSSLError("Signing a certificate")
        }
        self.key = key
        self.x509 = x509
        self.fingerprint = fingerprint
        self.der = der
    }

    deinit {
        X509_free(x509)
        EVP_PKEY_free(key)
    }

    /// Hands the certificate and key to an OpenSSL context (`SSL_CTX *`), which takes references of its own.
    package func install(in context: OpaquePointer) throws(OpenSSLError) {
        ERR_clear_error()
        guard SSL_CTX_use_certificate(context, x509) == 1, SSL_CTX_use_PrivateKey(context, key) == 1 else {
            throw OpenSSLError("Installing the certificate")
        }
    }

    private static func der(of x509: OpaquePointer) -> [UInt8]? {
        let count = i2d_X509(x509, nil)
        guard count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        let written = bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return i2d_X509(x509, &cursor)
        }
        return written == count ? bytes : nil
    }
}
