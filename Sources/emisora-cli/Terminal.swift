import Emisora
import Glibc

/// Standard output for results, standard error for everything that a person watches.
///
/// What peers, servers and drivers say may be part of all of it: nothing leaves here that steers a terminal.
enum Terminal {
    /// One or more lines on standard output.
    static func result(_ text: String) {
        write(text.terminalLines + "\n", to: STDOUT_FILENO)
    }

    /// One line on standard error.
    static func note(_ line: String) {
        write(line.terminalLine + "\n", to: STDERR_FILENO)
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
