import Glibc

/// What this process has open at a moment.
struct ResourceCount: Sendable {
    var descriptors: Int
    var threads: Int

    static var now: ResourceCount {
        ResourceCount(descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"))
    }

    private static func entries(_ path: String) -> Int {
        guard let folder = opendir(path) else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }

    /// Which count grows with every start: what the second half of the samples has in common lies above all of the
    /// first quarter by nearly one for each start between them. Others in this process that open and close things, even
    /// many at once, do not look like that.
    static func leak(in samples: [ResourceCount]) -> String? {
        if let growth = steadyGrowth(samples.map(\.descriptors)) { return "\(growth) file descriptors" }
        if let growth = steadyGrowth(samples.map(\.threads)) { return "\(growth) threads" }
        return nil
    }

    private static func steadyGrowth(_ counts: [Int]) -> Int? {
        guard counts.count >= 12 else { return nil }
        let quarter = counts.count / 4
        // Each quarter's least against the quarter before: noise would have to grow all the time.
        let least = (0..<4).map { part in counts[part * quarter..<(part + 1) * quarter].min() ?? 0 }
        let isSteady = zip(least, least.dropFirst()).allSatisfy { $1 - $0 >= quarter * 3 / 4 }
        return isSteady ? least[3] - least[0] + quarter : nil
    }
}
