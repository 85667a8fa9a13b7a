/// Turns 32-bit RTP timestamps into 64-bit ones that do not wrap: each is read as the one nearest to that before.
package struct TimestampUnwrapper: Equatable, Sendable {
    private var last: Int64?

    package init() {}

    package mutating func unwrap(_ timestamp: UInt32) -> Int64 {
        guard let before = last else {
            last = Int64(timestamp)
            return Int64(timestamp)
        }
        let unwrapped = before &+ Int64(Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: before)))
        last = unwrapped
        return unwrapped
    }
}
