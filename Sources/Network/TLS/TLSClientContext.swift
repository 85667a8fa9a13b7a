import CEmisoraOpenSSL
import EmisoraCore
import EmisoraCrypto

/// Whom TLS connections of ours trust: the certificate authorities of the system, or those of a file.
///
/// Immutable after it is made; may be shared between threads.
package final class TLSClientContext: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: the handle is only read after `init`; SSL_CTX is safe to share then.
    let handle: OpaquePointer

    /// - Parameter authorities: The path of a PEM file, which counts in place of the system's store.
    package init(authorities: String? = nil) throws(TLSError) {
        ERR_clear_error()
        guard let handle = SSL_CTX_new(TLS_client_method()) else { throw .system(OpenSSLError("Making a TLS context")) }
        self.handle = handle
        SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
        emisora_ssl_ctx_use_partial_writes(handle)
        // RFC 8996: nothing before TLS 1.2.
        let isConfigured = emisora_ssl_ctx_set_min_proto_version(handle, TLS1_2_VERSION) == 1
        let hasAuthorities =
            if let authorities {
                SSL_CTX_load_verify_file(handle, authorities) == 1
            } else {
                SSL_CTX_set_default_verify_paths(handle) == 1
            }
        guard isConfigured, hasAuthorities else {
            let error = OpenSSLError(authorities.map { "Reading \($0)" } ?? "Reading the system's authorities")
            // The handle is freed by `deinit`, which runs after a failed `init` that has set everything, too.
            throw hasAuthorities ? .system(error) : .authorities(error)
        }
    }

    deinit {
        SSL_CTX_free(handle)
    }
}
