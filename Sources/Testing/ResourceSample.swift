import Glibc

/// What this process has open at a moment: descriptors and threads by their numbers.
struct ResourceSample: Sendable {
    private var descriptors: Set<Int>
    private var threads: Set<Int>

    static var now: ResourceSample {
        ResourceSample(descriptors: numbers(in: "/proc/self/fd"), threads: numbers(in: "/proc/self/task"))
    }

    private static func numbers(in path: String) -> Set<Int> {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        let own = Int(dirfd(folder))
        var numbers: Set<Int> = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let number = Int(name) { numbers.insert(number) }
        }
        // No thread has so low a number.
        numbers.remove(own)
        return numbers
    }

    /// What most of the starts left behind: something new after each that is still there at the end. What others in this
    /// process open and close meanwhile does not come in step with the starts and stay.
    ///
    /// - Parameter samples: One before the first start, and one after each stop.
    static func leak(in samples: [ResourceSample]) -> String? {
        guard samples.count > 4, let end = samples.last else { return nil }
        let starts = samples.count - 1
        func count(_ kind: KeyPath<ResourceSample, Set<Int>>) -> Int {
            zip(samples, samples.dropFirst()).count {
                !$1[keyPath: kind].subtracting($0[keyPath: kind]).isDisjoint(with: end[keyPath: kind])
            }
        }
        if count(\.descriptors) * 4 >= starts * 3 { return "\(count(\.descriptors)) file descriptors" }
        if count(\.threads) * 4 >= starts * 3 { return "\(count(\.threads)) threads" }
        return nil
    }
}
