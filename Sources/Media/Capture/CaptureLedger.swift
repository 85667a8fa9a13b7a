/// Where every captured picture went: `framesCaptured = framesEncoded + Σ framesDropped + framesPending`.
///
/// `framesPending` counts the at most two pictures that wait or are being encoded at this moment; it is zero once
/// publishing has ended. What a driver lost before it reached the program is counted apart.
public struct CaptureLedger: Hashable, Sendable {
    public internal(set) var framesCaptured: UInt64 = 0
    public internal(set) var framesEncoded: UInt64 = 0
    public internal(set) var framesDropped: [DropReason: UInt64] = [:]
    public internal(set) var framesLostByDriver: UInt64 = 0
    public internal(set) var framesPending: UInt64 = 0

    public init() {}

    public var totalDropped: UInt64 { framesDropped.values.reduce(0, +) }
    /// Whether every picture is accounted for.
    public var isBalanced: Bool { framesCaptured == framesEncoded + totalDropped + framesPending }
}
