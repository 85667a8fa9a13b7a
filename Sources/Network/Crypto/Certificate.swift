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
    /// The second of Unix time after which it is valid no more.
    package let expires: Int64

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
        expires = unixTime + 30 * 86_400
    }

    /// Reads what ``pem()`` wrote, or any other unencrypted private key with its certificate, in either order.
    package init(pem: [UInt8]) throws(CertificateError) {
        ERR_clear_error()
        // Without a callback of ours OpenSSL would ask for an encrypted key's password on the terminal.
        guard let key = PEMText.read(pem, { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }) else {
            throw .noPrivateKey
        }
        guard let x509 = PEMText.read(pem, { PEM_read_bio_X509($0, nil, { _, _, _, _ in -1 }, nil) }) else {
            EVP_PKEY_free(key)
            throw .noCertificate
        }
        do throws(CertificateError) {
            guard X509_check_private_key(x509, key) == 1 else { throw .keyOfAnother }
            // RFC 8827 §6.5: P-256 is what all have; browsers refuse short RSA keys.
            let isStrong =
                switch EVP_PKEY_get_base_id(key) {
                case EVP_PKEY_EC: EVP_PKEY_get_bits(key) >= 256
                case EVP_PKEY_RSA: EVP_PKEY_get_bits(key) >= 2_048
                default: false
                }
            guard isStrong else { throw .unsuitableKey }
            guard let der = Self.der(of: x509), let fingerprint = Fingerprint(ofCertificate: der.span.bytes),
                let expires = Self.expiry(of: x509)
            else { throw .noCertificate }
            self.key = key
            self.x509 = x509
            self.fingerprint = fingerprint
            self.der = der
            self.expires = expires
        } catch {
            X509_free(x509)
            EVP_PKEY_free(key)
            throw error
        }
    }

    /// Private key and certificate as text (RFC 7468), the key unencrypted: whoever has it can pose as this side.
    package func pem() throws(OpenSSLError) -> [UInt8] {
        ERR_clear_error()
        guard
            let text = PEMText.write({ bio in
                PEM_write_bio_PrivateKey(bio, key, nil, nil, 0, nil, nil) == 1 && PEM_write_bio_X509(bio, x509) == 1
            })
        else { throw OpenSSLError("Writing the certificate") }
        return text
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

    private static func expiry(of x509: OpaquePointer) -> Int64? {
        guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
        defer { ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(x509)) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
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
