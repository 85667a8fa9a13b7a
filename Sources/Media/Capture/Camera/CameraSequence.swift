/// Counts the frames that are missing in a driver's numbers.
struct CameraSequence: Sendable {
    /// A larger gap is not one: the numbers started anew.
    static let largestGap: UInt32 = 10_000

    private var last: UInt32?

    /// How many frames are missing right before `number`. Numbers wrap.
    mutating func gap(before number: UInt32) -> Int {
        defer { last = number }
        guard let last else { return 0 }
        let missing = number &- last &- 1
        return missing <= Self.largestGap ? Int(missing) : 0
    }

    mutating func restart() {
        last = nil
    }
}
