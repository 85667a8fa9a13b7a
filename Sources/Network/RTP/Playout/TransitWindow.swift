import EmisoraCore

/// How long frames took lately, on a scale whose origin is arbitrary: the least, and what all but a few stay below.
///
/// A window of whole times instead of differences to a base: the base follows a drifting clock or another path by itself.
struct TransitWindow: Sendable {
    private static let span: Duration = .seconds(5)
    private static let limit = 512
    /// One frame in twenty may come too late. Who provides for the last one, too, waits for each.
    private static let tolerated = 20

    private var samples: [(at: Instant, transit: Int64)] = []
    /// The same transits, ascending.
    private var sorted: [Int64] = []

    /// In nanoseconds.
    var least: Int64? { sorted.first }
    var usual: Int64? { sorted.isEmpty ? nil : sorted[sorted.count - 1 - sorted.count / Self.tolerated] }

    /// The least of those since `start`, and how many they are.
    func least(since start: Instant) -> (transit: Int64, count: Int)? {
        var least = Int64.max
        var count = 0
        for sample in samples.reversed() {
            guard sample.at >= start else { break }
            least = min(least, sample.transit)
            count += 1
        }
        return count == 0 ? nil : (least, count)
    }

    mutating func add(_ transit: Int64, at now: Instant) {
        samples.append((now, transit))
        sorted.insert(transit, at: position(of: transit))
        var expired = max(0, samples.count - Self.limit)
        while expired < samples.count - 1, now - samples[expired].at > Self.span { expired += 1 }
        for index in 0..<expired { sorted.remove(at: position(of: samples[index].transit)) }
        samples.removeFirst(expired)
    }

    /// Of the first that is not less.
    private func position(of transit: Int64) -> Int {
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < transit { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
