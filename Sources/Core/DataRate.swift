/// A rate of data, in bits per second.
public struct DataRate: Hashable, Comparable, Sendable {
    public var bitsPerSecond: Int

    public init(bitsPerSecond: Int) {
        self.bitsPerSecond = bitsPerSecond
    }

    public static func bitsPerSecond(_ value: Int) -> DataRate { DataRate(bitsPerSecond: value) }
    public static func kilobitsPerSecond(_ value: Int) -> DataRate { DataRate(bitsPerSecond: value * 1_000) }

    public static func < (lhs: DataRate, rhs: DataRate) -> Bool { lhs.bitsPerSecond < rhs.bitsPerSecond }
}
