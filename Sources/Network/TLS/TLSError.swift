import EmisoraCrypto

/// Why a TLS connection to a server cannot be used, in words for the person who entered the server.
package enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file or the system's store of certificate authorities cannot be read.
    case authorities(OpenSSLError)
    /// A server's own certificate or its key cannot be used.
    case identity(OpenSSLError)
    case system(OpenSSLError)
    /// The certificate does not prove that this is the host.
    case certificate(host: String, reason: String)
    case handshake(OpenSSLError)
    case closed
    case tooMuchWaiting

    package var description: String {
        switch self {
        case .authorities(let error): "The certificate authorities cannot be read. \(error)"
        case .identity(let error):
            "The server's certificate and key cannot be used; both are PEM files, the key without a passphrase and the one "
                + "of the certificate. \(error)"
        case .system(let error): "TLS cannot be set up. \(error)"
        case .certificate(let host, let reason):
            "The certificate of \(host) is not accepted: \(reason). If it is your own server, name the file of its "
                + "certificate authority."
        case .handshake(let error): "The TLS connection failed; does this port speak TLS? \(error)"
        case .closed: "The server closed the TLS connection."
        case .tooMuchWaiting: "Too much waits for the TLS handshake."
        }
    }
}
