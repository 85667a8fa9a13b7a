import EmisoraTLS
import Glibc

/// The PEM files of a server's certificate and key, and whether they have changed since they were looked at.
///
/// Looked at by `stat`, not by inotify: who renews certificates changes a symbolic link somewhere on the way, or one of
/// two files after the other.
struct CertificateFiles: Equatable, Sendable {
    private struct Stamp: Equatable, Sendable {
        var device: UInt
        var inode: UInt
        var size: Int
        var seconds: Int
        var nanoseconds: Int
    }

    let certificate: String
    let key: String
    private var stamps: [Stamp?] = []

    init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Whether the files differ from those at the last call.
    mutating func haveChanged() -> Bool {
        let now = [Self.stamp(of: certificate), Self.stamp(of: key)]
        defer { stamps = now }
        return now != stamps
    }

    private static func stamp(of path: String) -> Stamp? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Stamp(
            device: UInt(status.st_dev), inode: UInt(status.st_ino), size: Int(status.st_size),
            seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    }
}
