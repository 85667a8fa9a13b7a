import CEmisoraOpenSSL
import EmisoraCore
import EmisoraCrypto

/// The client's side of one TLS connection, without socket: bytes of the network in, bytes for the network out.
///
/// ```swift
/// let tls = try TLSClient(context: context, host: "turn.example.org")
/// try tls.write(request.span.bytes)       // waits for the handshake
/// socket.write(tls.takeOutgoing())
/// try tls.receive(bytesOfTheSocket)
/// while let count = try tls.read(into: &buffer) { … }
/// socket.write(tls.takeOutgoing())
/// ```
///
/// The server's certificate must lead to a trusted authority and name the host (RFC 9525). After an error nothing more
/// can be done but close the connection. Confined to one thread.
package final class TLSClient {
    /// What may wait for the handshake: requests of a protocol, not media.
    private static let maximumWaitingByteCount = 16_384

    private let context: TLSClientContext
    private let host: String
    private let ssl: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private var waiting: [[UInt8]] = []
    private var waitingByteCount = 0
    package private(set) var isConnected = false

    /// Begins; the ClientHello comes out of `takeOutgoing`.
    ///
    /// - Parameter host: A name, or an IP address without brackets.
    package init(context: TLSClientContext, host: String) throws(TLSError) {
        ERR_clear_error()
        guard let ssl = SSL_new(context.handle) else { throw .system(OpenSSLError("Making a TLS connection")) }
        guard let incoming = BIO_new(BIO_s_mem()) else {
            SSL_free(ssl)
            throw .system(OpenSSLError("Making a memory BIO"))
        }
        guard let outgoing = BIO_new(BIO_s_mem()) else {
            BIO_free(incoming)
            SSL_free(ssl)
            throw .system(OpenSSLError("Making a memory BIO"))
        }
        SSL_set_bio(ssl, incoming, outgoing)
        let isNamed =
            if IPAddress(host) != nil {
                X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
            } else {
                // RFC 6066 §3: names only, never addresses.
                emisora_ssl_set_server_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1
            }
        guard isNamed else {
            SSL_free(ssl)
            throw .system(OpenSSLError("Naming the server \(host)"))
        }
        self.context = context
        self.host = host
        self.ssl = ssl
        self.incoming = incoming
        self.outgoing = outgoing
        SSL_set_connect_state(ssl)
        try advance()
    }

    deinit {
        // Frees the BIOs, too.
        SSL_free(ssl)
    }

    /// Takes bytes of the network.
    package func receive(_ bytes: RawSpan) throws(TLSError) {
        ERR_clear_error()
        var rest = bytes
        while rest.byteCount > 0 {
            let count = rest.withUnsafeBytes { BIO_write(incoming, $0.baseAddress, Int32(clamping: $0.count)) }
            guard count > 0 else { throw .system(OpenSSLError("Taking bytes")) }
            rest = rest.extracting(droppingFirst: Int(count))
        }
        if !isConnected { try advance() }
    }

    /// Plaintext of the server; `nil` when all that has arrived is read.
    package func read(into buffer: inout [UInt8]) throws(TLSError) -> Int? {
        guard isConnected, !buffer.isEmpty else { return nil }
        ERR_clear_error()
        let count = SSL_read(ssl, &buffer, Int32(clamping: buffer.count))
        if count > 0 { return Int(count) }
        switch SSL_get_error(ssl, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return nil
        case SSL_ERROR_ZERO_RETURN: throw .closed
        default: throw .handshake(OpenSSLError("Receiving"))
        }
    }

    /// Encrypts bytes for the server; before the handshake is done they wait.
    package func write(_ plaintext: RawSpan) throws(TLSError) {
        guard plaintext.byteCount > 0 else { return }
        guard isConnected else {
            guard waitingByteCount + plaintext.byteCount <= Self.maximumWaitingByteCount else { throw .tooMuchWaiting }
            waitingByteCount += plaintext.byteCount
            waiting.append(plaintext.withUnsafeBytes { Array($0) })
            return
        }
        ERR_clear_error()
        // A memory BIO takes everything: either all is written or the connection is broken.
        let count = plaintext.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32(clamping: $0.count)) }
        guard count == plaintext.byteCount else { throw .handshake(OpenSSLError("Sending")) }
    }

    /// What is to be sent to the server now.
    package func takeOutgoing() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: emisora_bio_pending(outgoing))
        guard !bytes.isEmpty else { return [] }
        let count = BIO_read(outgoing, &bytes, Int32(clamping: bytes.count))
        return count > 0 ? Array(bytes.prefix(Int(count))) : []
    }

    /// Says that nothing more comes; `takeOutgoing` afterwards.
    package func close() {
        guard isConnected else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func advance() throws(TLSError) {
        let result = SSL_do_handshake(ssl)
        guard result == 1 else {
            switch SSL_get_error(ssl, result) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
            default:
                let error = OpenSSLError("The handshake")
                let verdict = SSL_get_verify_result(ssl)
                guard verdict == X509_V_OK else {
                    let reason = X509_verify_cert_error_string(verdict).map { String(cString: $0) } ?? "unknown"
                    throw .certificate(host: host, reason: reason)
                }
                throw .handshake(error)
            }
        }
        isConnected = true
        let ready = waiting
        waiting = []
        for bytes in ready { try write(bytes.span.bytes) }
    }
}
