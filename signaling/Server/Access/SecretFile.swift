import Glibc

/// A secret that a file holds: its bytes without the line break at their end.
package struct SecretFile: Equatable, Sendable, CustomStringConvertible {
    private static let maximumByteCount = 4096

    package let bytes: [UInt8]
    /// Whether others than the file's owner may read it.
    let isReadableByOthers: Bool

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        isReadableByOthers = false
    }

    /// - Parameter minimum: The least number of bytes.
    package init(path: String, atLeast minimum: Int) throws(SignalingServerError) {
        let file: BoundedFile
        do throws(BoundedFile.Failure) {
            file = try BoundedFile(path: path, maximumByteCount: Self.maximumByteCount)
        } catch {
            throw .secretFile(path: path, reason: error.reason)
        }
        let content = file.bytes
        var count = content.count
        while count > 0, content[count - 1] == 0x0A || content[count - 1] == 0x0D { count -= 1 }
        guard count >= minimum else {
            throw .secretFile(
                path: path,
                reason: count == 0
                    ? "it is empty"
                    : "it has \(count) bytes, and \(minimum) are the least; `openssl rand -hex 32` makes one")
        }
        isReadableByOthers = file.mode & 0o077 != 0
        bytes = Array(content.prefix(count))
    }

    /// The secret of a file that is made, for its owner alone, where it is not there.
    static func kept(at path: String, make: () -> [UInt8]) throws(SignalingServerError) -> Self {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            guard errno == EEXIST else { throw .secretFile(path: path, reason: String(cString: strerror(errno))) }
            return try Self(path: path, atLeast: TokenKey.minimumByteCount)
        }
        let bytes = make()
        let isWritten = write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        let reason = String(cString: strerror(errno))
        close(descriptor)
        guard isWritten else {
            unlink(path)
            throw .secretFile(path: path, reason: reason)
        }
        return Self(bytes)
    }

    package var description: String { "(secret)" }
}
