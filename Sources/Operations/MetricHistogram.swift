/// Counts of values by upper bounds, as Prometheus wants them.
package struct MetricHistogram: Equatable, Sendable {
    /// Seconds, for what a person waits for: from a millisecond to ten seconds.
    package static let seconds: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let bounds: [Double]
    /// One more than bounds: the last one is of values beyond all of them.
    private var counts: [UInt64]
    package private(set) var sum = 0.0

    /// - Parameter bounds: Ascending.
    package init(bounds: [Double] = Self.seconds) {
        self.bounds = bounds
        counts = [UInt64](repeating: 0, count: bounds.count + 1)
    }

    package var count: UInt64 { counts.reduce(0, &+) }

    package mutating func observe(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] &+= 1
        sum += value
    }

    /// Each bound with the count of values up to it; the last one is infinite.
    package var cumulative: [(bound: Double, count: UInt64)] {
        var total: UInt64 = 0
        return zip(bounds + [.infinity], counts).map { bound, count in
            total &+= count
            return (bound, total)
        }
    }
}
