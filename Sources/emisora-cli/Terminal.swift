import Glibc

/// Standard output for results, standard error for everything that a person watches.
enum Terminal {
    /// One line on standard output.
    static func result(_ line: String) {
        write(line + "\n", to: STDOUT_FILENO)
    }

    /// One line on standard error.
    static func note(_ line: String) {
        write(line + "\n", to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
