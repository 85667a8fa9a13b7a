/// What became of the frames of one source. Each frame has exactly one fate:
///
///     captured = encoded + Σ dropped by reason + inFlight
///
/// where `inFlight` are those that wait for the encoder or are with it right now. What a driver lost before anyone
/// saw it is counted apart.
public struct CaptureLedger: Hashable, Sendable {
    /// Frames the capturer made or received, including those it dropped itself.
    public private(set) var captured = 0
    public private(set) var encoded = 0
    /// Accepted, and neither encoded nor dropped yet.
    public private(set) var inFlight = 0
    /// Lost by a driver or device before this process saw them; not part of `captured`.
    public private(set) var lostByDriver = 0
    private var drops = [Int](repeating: 0, count: DropReason.allCases.count)

    public init() {}

    /// Frames dropped for `reason`.
    public func dropped(_ reason: DropReason) -> Int { drops[reason.index] }

    /// Frames dropped, for all reasons together.
    public var dropped: Int { drops.reduce(0, +) }

    /// The reasons that occurred, with their counts.
    public var droppedByReason: [DropReason: Int] {
        var counts: [DropReason: Int] = [:]
        for reason in DropReason.allCases where dropped(reason) > 0 { counts[reason] = dropped(reason) }
        return counts
    }

    /// Whether each captured frame has exactly one fate. False only by a mistake in this library.
    public var isBalanced: Bool { captured == encoded + dropped + inFlight && inFlight >= 0 }

    package mutating func accept() {
        captured += 1
        inFlight += 1
    }

    /// Frames dropped before they were accepted.
    package mutating func drop(_ reason: DropReason, count: Int = 1) {
        let count = max(0, count)
        captured += count
        drops[reason.index] += count
    }

    /// The end of a frame that was accepted.
    package mutating func settle(_ fate: FrameFate) {
        inFlight -= 1
        switch fate {
        case .encoded: encoded += 1
        case .dropped(let reason): drops[reason.index] += 1
        }
    }

    package mutating func lose(count: Int) {
        lostByDriver += max(0, count)
    }
}

/// How an accepted frame ended.
package enum FrameFate: Hashable, Sendable {
    case encoded
    case dropped(DropReason)
}
