/// Bytes of a stream that wait for the rest of their message, up to a bound.
package struct StreamBuffer: Sendable {
    private let capacity: Int
    private var bytes: [UInt8] = []
    private var start = 0

    package init(capacity: Int) {
        self.capacity = capacity
    }

    /// How many bytes wait.
    package var count: Int { bytes.count - start }

    /// A byte that waits; `index` is below ``count``.
    package subscript(_ index: Int) -> UInt8 { bytes[start + index] }

    /// Takes what came; `false`, and nothing taken, where that is more than the bound.
    package mutating func append(_ new: RawSpan) -> Bool {
        bytes.removeFirst(start)
        start = 0
        guard bytes.count + new.byteCount <= capacity else { return false }
        new.withUnsafeBytes { bytes.append(contentsOf: $0) }
        return true
    }

    /// Gives the bytes of a range that wait, and lets go of the first `byteCount`, which are no more than ``count``.
    package mutating func take(_ range: Range<Int>, of byteCount: Int) -> [UInt8] {
        defer { start += byteCount }
        return Array(bytes[start + range.lowerBound..<start + range.upperBound])
    }

    package mutating func removeAll() {
        bytes = []
        start = 0
    }
}
