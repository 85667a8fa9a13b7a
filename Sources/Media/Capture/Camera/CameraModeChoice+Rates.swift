import EmisoraVideo

extension CameraModeChoice {
    /// Whether a rate is as fast as the goal.
    enum Reach: Int, Comparable {
        case missed
        /// The driver lists no rate.
        case unknown
        case reached

        static func < (lhs: Reach, rhs: Reach) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    enum Order {
        case orderedFirst
        case equal
        case orderedLast
    }

    /// How one rate stands to the goal; exact, as fractions in 128 bits.
    struct RateFit {
        enum Place: Int {
            case unknown
            /// Above the goal by more than 0.1 %.
            case above
            case notAbove
            /// The goal itself, within the rounding of drivers that count in microseconds (0.01 %).
            case exact
        }

        static let unknown = RateFit(nil, goal: 30)

        let place: Place
        let reach: Reach
        /// Frames per second as a fraction; 0/1 where unknown.
        private let frames: Int128
        private let seconds: Int128
        /// What is missing to the goal, as a share of it, in billionths.
        let shortfall: Int
        /// |rate − goal| in units that all fits to one goal share but for their own `seconds`.
        private let distance: Int128

        /// `fastest` is the other end of the range that `interval` is from: what is reached is reached by that.
        init(_ interval: FrameInterval?, fastest: FrameInterval? = nil, goal: FrameRate) {
            guard let interval, interval.isValid else {
                (place, reach, shortfall, frames, seconds, distance) = (.unknown, .unknown, 0, 0, 1, 0)
                return
            }
            frames = Int128(interval.denominator)
            seconds = Int128(interval.numerator)
            // rate : goal = rate's share : goal's share; each below 2⁶³.
            let rate = frames * Int128(goal.denominator)
            let wished = Int128(goal.numerator) * seconds
            distance = rate > wished ? rate - wished : wished - rate
            shortfall = rate < wished ? Int(distance * 1_000_000_000 / wished) : 0
            if distance * 10_000 <= wished {
                place = .exact
            } else {
                place = rate * 1_000 <= wished * 1_001 ? .notAbove : .above
            }
            let reachedBy = fastest.map { RateFit($0, goal: goal).reach } ?? .unknown
            reach = reachedBy == .reached || rate * 1_001 >= wished * 1_000 ? .reached : .missed
        }

        func isFaster(than other: RateFit) -> Bool { frames * other.seconds > other.frames * seconds }

        /// Which of two is nearer to the goal.
        func compareDistance(_ other: RateFit) -> Order {
            let (mine, others) = (distance * other.seconds, other.distance * seconds)
            return mine == others ? .equal : mine < others ? .orderedFirst : .orderedLast
        }

        /// Worse in the sense of the rules, formats apart.
        func isWorse(than other: RateFit) -> Bool {
            if place != other.place { return place.rawValue < other.place.rawValue }
            switch place {
            case .unknown, .exact: return false
            case .above: return isFaster(than: other)
            case .notAbove: return other.isFaster(than: self)
            }
        }
    }

    /// The intervals that take part: each that is listed, one of each range, `nil` where there is none.
    static func rates(of listed: [CameraModes.Intervals], goal: FrameRate) -> [(FrameInterval?, RateFit)] {
        let usable = listed.compactMap { intervals -> (FrameInterval?, RateFit)? in
            switch intervals {
            case .discrete(let interval):
                return interval.isValid ? (interval, RateFit(interval, goal: goal)) : nil
            case .continuous(let min, let max):
                return bestInterval(from: min, to: max, step: nil, goal: goal)
            case .stepwise(let min, let max, let step):
                return bestInterval(from: min, to: max, step: step, goal: goal)
            }
        }
        return usable.isEmpty ? [(nil, .unknown)] : usable
    }

    /// Equal ranks for equal rates. What its format reaches at this size comes before the rate itself: a rate below
    /// the wish in a format that could do more is another thing than one in a format that stops there.
    static func rankRates(_ entries: inout [Entry]) {
        func isWorse(_ a: Entry, _ b: Entry) -> Bool {
            a.reach != b.reach ? a.reach < b.reach : a.rate.isWorse(than: b.rate)
        }
        let sorted = entries.indices.filter { entries[$0].obstacle == nil }.sorted { isWorse(entries[$0], entries[$1]) }
        var rank = 0
        for (position, index) in sorted.enumerated() {
            if position == 0 || isWorse(entries[sorted[position - 1]], entries[index]) { rank += 1 }
            entries[index].rateRank = rank
        }
    }

    // MARK: Ranges

    /// The interval of the range min, min + step, … max that serves the goal best; without a step any in it.
    private static func bestInterval(
        from min: FrameInterval, to max: FrameInterval, step: FrameInterval?, goal: FrameRate
    ) -> (FrameInterval?, RateFit)? {
        guard min.isValid || max.isValid else { return nil }
        // One end without meaning, or the ends exchanged: what is left is still a range.
        let (a, b) = (min.isValid ? min : max, max.isValid ? max : min)
        let (shortest, longest) = b.isShorter(than: a) ? (b, a) : (a, b)
        let wished = FrameInterval(goal)
        func result(_ interval: FrameInterval) -> (FrameInterval?, RateFit) {
            (interval, RateFit(interval, fastest: shortest, goal: goal))
        }
        if !shortest.isShorter(than: wished) { return result(shortest) }
        if !wished.isShorter(than: longest) { return result(longest) }
        guard let step, step.isValid else { return result(wished) }

        // (wished − shortest) / step, rounded down; all products stay below 2¹²⁸.
        let difference =
            UInt128(wished.numerator) * UInt128(shortest.denominator)
            - UInt128(shortest.numerator) * UInt128(wished.denominator)
        let divisor = UInt128(wished.denominator) * UInt128(shortest.denominator) * UInt128(step.numerator)
        let steps = difference * UInt128(step.denominator) / divisor
        let points = [steps, steps + 1].compactMap { interval(shortest, plus: $0, of: step) }
            .filter { !longest.isShorter(than: $0) }
        return (points + [longest]).map(result).max { $0.1.isWorse(than: $1.1) }
    }

    /// `start + count · step` in lowest terms; `nil` where a side does not fit into the 32 bits that V4L2 has for it.
    private static func interval(_ start: FrameInterval, plus count: UInt128, of step: FrameInterval) -> FrameInterval?
    {
        let numerator =
            UInt128(start.numerator) * UInt128(step.denominator)
            + count * UInt128(step.numerator) * UInt128(start.denominator)
        let denominator = UInt128(start.denominator) * UInt128(step.denominator)
        var (a, b) = (numerator, denominator)
        while b != 0 { (a, b) = (b, a % b) }
        guard let n = UInt32(exactly: numerator / a), let d = UInt32(exactly: denominator / a) else { return nil }
        return FrameInterval(n, d)
    }
}
