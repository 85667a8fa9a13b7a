import EmisoraCapture
import EmisoraCore
import EmisoraCrypto
import Glibc

/// A certificate that outlives the session: read from its file, made and written there where none is.
struct CertificateFile {
    /// A key and a certificate are a few hundred bytes; a chain and RSA a few thousand.
    private static let byteLimit = 64 << 10
    /// One that would run out during the session is replaced before.
    private static let day: Int64 = 86_400

    let path: String

    func certificate(unixTime: Int64) throws(SessionError) -> Certificate {
        guard let stored = try read() else { return try make(unixTime: unixTime, replacing: false) }
        return stored.expires > unixTime + Self.day ? stored : try make(unixTime: unixTime, replacing: true)
    }

    /// - Returns: `nil` when there is no such file.
    private func read() throws(SessionError) -> Certificate? {
        let text: [UInt8]
        let isPrivate: Bool
        do throws(CaptureError) {
            let file = try FileHandle(reading: path)
            isPrivate = file.permissions & 0o077 == 0
            text = file.bytes(at: 0, upTo: Self.byteLimit)
        } catch {
            if case .file(_, code: ENOENT) = error { return nil }
            throw unusable("\(error)")
        }
        guard isPrivate else {
            throw unusable("Others may read or write its private key; forbid it: chmod 600 \(path)")
        }
        do throws(CertificateError) {
            return try Certificate(pem: text)
        } catch {
            throw unusable(error.description)
        }
    }

    private func make(unixTime: Int64, replacing: Bool) throws(SessionError) -> Certificate {
        var random = SecureRandom()
        let certificate: Certificate
        let text: [UInt8]
        do throws(OpenSSLError) {
            certificate = try Certificate(unixTime: unixTime, using: &random)
            text = try certificate.pem()
        } catch {
            throw .system("The session's certificate cannot be made. \(error)")
        }
        // Complete before it has its name: a session that starts at the same moment reads all of it or nothing.
        let draft = path + "." + RandomToken.make(length: 8, using: &random)
        do throws(CaptureError) {
            let file = try FileHandle(writing: draft, permissions: 0o600)
            if let code = file.write(text) { throw .file(path: draft, code: code) }
        } catch {
            unlink(draft)
            throw .system("The session's certificate cannot be stored. \(error)")
        }
        defer { unlink(draft) }
        guard (replacing ? rename(draft, path) : link(draft, path)) == 0 else {
            let code = errno
            // Another session was quicker, and what it made is the certificate now.
            if code == EEXIST, let stored = try read() { return stored }
            throw .system("The session's certificate cannot be stored in \(path): \(String(cString: strerror(code)))")
        }
        // Of two that renew at once the later one's stands, for both.
        return replacing ? try read() ?? certificate : certificate
    }

    private func unusable(_ reason: String) -> SessionError {
        .invalidState("The certificate file \(path) cannot be used. \(reason)")
    }
}
