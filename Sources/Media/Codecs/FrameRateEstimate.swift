import EmisoraCore

/// How many pictures a second come, from their timestamps.
///
/// libvpx derives a rate of its own from each picture's time and takes a single gap for a new rate at once: one picture
/// skipped at the start (a busy machine) made it spend three pictures' bits on each and then drop two of three for
/// seconds. It is therefore shown pictures evenly spaced at the rate estimated here, which no single gap moves.
struct FrameRateEstimate {
    private static let window = Duration.seconds(1)
    /// Fewer in the window say little; then the last gap alone counts.
    private static let leastCount = 6
    private static let range = 1.0...240.0

    /// What to expect before enough pictures came.
    var nominal: Double
    private var recent: [Instant] = []
    private var seen = 0

    init(nominal: Double) {
        self.nominal = nominal
    }

    /// The rate, pictures a second, with the picture of this time.
    mutating func add(_ time: Instant) -> Double {
        let previous = recent.last
        // Timestamps that went backwards: what came before says nothing about what comes now.
        if let previous, time < previous { recent.removeAll(keepingCapacity: true) }
        recent.removeAll { time - $0 > Self.window }
        if recent.count >= Int(Self.range.upperBound) { recent.removeFirst() }
        recent.append(time)
        seen = min(seen + 1, Self.leastCount)
        let rate: Double
        if recent.count >= Self.leastCount {
            let span = (time - recent[0]).inSeconds
            rate = span > 0 ? Double(recent.count - 1) / span : Self.range.upperBound
        } else if let previous, time > previous, seen == Self.leastCount {
            rate = 1 / (time - previous).inSeconds
        } else {
            rate = nominal
        }
        guard rate.isFinite else { return 30 }
        return min(max(rate, Self.range.lowerBound), Self.range.upperBound)
    }
}
