import Glibc

/// Reads a file whole, unless it is larger than anything that has a place in it.
struct BoundedFile {
    var bytes: [UInt8]
    /// `st_mode`; 0 where it is not known.
    var mode: mode_t

    /// Why it cannot be read, as the end of a sentence.
    struct Failure: Error {
        var reason: String
    }

    init(path: String, maximumByteCount: Int) throws(Failure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var content = [UInt8](repeating: 0, count: maximumByteCount + 1)
        var count = 0
        while count < content.count {
            let more = content.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw Failure(reason: String(cString: strerror(errno))) }
            if more == 0 { break }
            count += more
        }
        guard count <= maximumByteCount else {
            throw Failure(reason: "it has more than \(maximumByteCount) bytes")
        }
        var status = stat()
        mode = fstat(descriptor, &status) == 0 ? status.st_mode : 0
        bytes = Array(content.prefix(count))
    }
}
