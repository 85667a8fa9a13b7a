import Glibc

/// Owns a file descriptor; closes it when it goes.
package final class FileHandle: Sendable {
    /// In bytes, when it was opened for reading.
    package let size: Int
    /// The mode's last nine bits, when it was opened for reading.
    package let permissions: UInt32
    private let descriptor: Int32

    package init(reading path: String) throws(CaptureError) {
        // A pipe that nobody writes to would be waited for without end; files do not mind.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .file(path: path, code: errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw .file(path: path, code: code)
        }
        // Pictures are read at their place, again and again: a pipe or a directory cannot do that.
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .invalidOption("\(path) is not a regular file")
        }
        size = Int(status.st_size)
        permissions = UInt32(status.st_mode) & 0o777
    }

    /// - Parameter permissions: Of a file that is not there yet.
    package init(writing path: String, permissions: UInt32 = 0o644) throws(CaptureError) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, mode_t(permissions))
        guard descriptor >= 0 else { throw .file(path: path, code: errno) }
        size = 0
        self.permissions = permissions
    }

    deinit {
        close(descriptor)
    }

    /// Up to `limit` bytes from `offset`; fewer at the end of the file.
    package func bytes(at offset: Int, upTo limit: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }

    /// Fills `buffer` from `offset`; returns how many bytes there were.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            done += count
        }
        return done
    }

    /// Appends all bytes; on failure returns `errno`.
    package func write(_ bytes: [UInt8]) -> Int32? {
        bytes.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return errno }
                done += count
            }
            return nil
        }
    }
}
