import CEmisoraOpenSSL
import EmisoraCrypto

/// The certificate that a TLS server shows to who connects, and may exchange while it runs.
///
/// The server's context is another library's; connections begun in it ask here at their handshake, and keep what they
/// were given.
///
/// ```swift
/// let certificate = try TLSServerCertificate(certificate: "server.pem", key: "server.key")
/// certificate.attach(to: pointerToSSLContext)  // the object must outlive the context
/// try certificate.load(certificate: "server.pem", key: "server.key")  // later: for new connections
/// ```
///
/// Confined to the thread that runs the server's handshakes.
package final class TLSServerCertificate {
    /// A context that makes no connections: it holds what OpenSSL read from the files.
    private var source: OpaquePointer

    /// - Parameters:
    ///   - certificate: The path of a PEM file with the certificate, followed by those that vouch for it.
    ///   - key: The path of a PEM file with its private key, without a passphrase.
    package init(certificate: String, key: String) throws(TLSError) {
        source = try Self.read(certificate: certificate, key: key)
    }

    deinit {
        SSL_CTX_free(source)
    }

    /// Reads the files anew. When they cannot be used, what was shown before stays.
    package func load(certificate: String, key: String) throws(TLSError) {
        let next = try Self.read(certificate: certificate, key: key)
        SSL_CTX_free(source)
        source = next
    }

    /// Makes connections of an OpenSSL `SSL_CTX` show this certificate, and speak TLS 1.2 at least.
    package func attach(to context: UnsafeMutableRawPointer) throws(TLSError) {
        let context = OpaquePointer(context)
        guard emisora_ssl_ctx_use_server_defaults(context) == 1 else {
            throw .system(OpenSSLError("Setting up a TLS server"))
        }
        SSL_CTX_set_cert_cb(
            context,
            { ssl, user in
                guard let ssl, let user else { return 0 }
                let holder = Unmanaged<TLSServerCertificate>.fromOpaque(user).takeUnretainedValue()
                return emisora_ssl_use_identity_of(ssl, holder.source)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private static func read(certificate: String, key: String) throws(TLSError) -> OpaquePointer {
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_server_method()) else {
            throw .system(OpenSSLError("Making a TLS context"))
        }
        // OpenSSL would ask for a passphrase on the terminal.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            SSL_CTX_free(context)
            throw .identity(OpenSSLError("Reading \(certificate)"))
        }
        guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context) == 1
        else {
            SSL_CTX_free(context)
            throw .identity(OpenSSLError("Reading \(key)"))
        }
        return context
    }
}
