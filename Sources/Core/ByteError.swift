/// Why bytes could not be read or written.
package enum ByteError: Error, Equatable, Sendable {
    /// The input ends before the value does.
    case truncated(needed: Int, available: Int)
    /// The output has no room for the value.
    case bufferFull(needed: Int, available: Int)
}
