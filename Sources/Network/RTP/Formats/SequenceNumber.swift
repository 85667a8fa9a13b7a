/// Turns 16-bit sequence numbers into 64-bit ones that do not wrap, so that later code compares with `<`.
///
/// A number is read as the one nearest to the highest seen; a distance of exactly half the space counts as older.
package struct SequenceUnwrapper: Equatable, Sendable {
    /// The highest unwrapped number seen.
    package private(set) var highest: Int64?

    package init() {}

    /// The number as it would be without wrapping, and remembers it when it is the newest.
    package mutating func unwrap(_ number: UInt16) -> Int64 {
        let unwrapped = peek(number)
        highest = max(highest ?? unwrapped, unwrapped)
        return unwrapped
    }

    /// The number as it would be without wrapping.
    package func peek(_ number: UInt16) -> Int64 {
        // One cycle up, so that packets from just before the first one stay positive.
        guard let highest else { return 0x1_0000 + Int64(number) }
        let distance = Int16(bitPattern: number &- UInt16(truncatingIfNeeded: highest))
        return highest &+ Int64(distance)
    }
}
