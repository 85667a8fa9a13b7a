import Glibc

/// A system call that failed.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    package let operation: String
    package let code: Int32

    /// Takes `errno` as it is now.
    package init(_ operation: String) {
        self.operation = operation
        code = errno
    }

    package var description: String { "\(operation): \(String(cString: strerror(code)))" }
}
