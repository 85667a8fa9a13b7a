/// Width and height of a picture, as the choice computes with them.
struct FrameSize: Hashable, CustomStringConvertible {
    let width: Int
    let height: Int

    init(_ width: Int, _ height: Int) {
        // Within 31 bits, so that products of four sides stay exact.
        self.width = min(max(width, 0), Int(Int32.max))
        self.height = min(max(height, 0), Int(Int32.max))
    }

    var isValid: Bool { width > 0 && height > 0 }
    var area: Int { width * height }

    func covers(_ other: FrameSize) -> Bool { width >= other.width && height >= other.height }

    /// How far from `goal`, in billionths: the sum of each side's difference in proportion to the longer one, as browsers
    /// measure it for a page's wish. What is missing counts twice as much as what is too much, since a picture that is
    /// enlarged shows it and one that is scaled down does not.
    ///
    /// Source: W3C Media Capture and Streams, fitness distance; the double weight is this project's.
    func distance(to goal: FrameSize) -> Int {
        func part(_ own: Int, _ wished: Int) -> Int {
            let share = Int(Int128(abs(own - wished)) * 1_000_000_000 / Int128(max(own, wished, 1)))
            return own < wished ? 2 * share : share
        }
        return part(width, goal.width) + part(height, goal.height)
    }

    var description: String { "\(width)x\(height)" }
}

extension CameraModes.Extent {
    /// Those of its sizes that can serve `goal` best: the only one, or those of the range next to it.
    func sizes(near goal: FrameSize) -> [FrameSize] {
        switch self {
        case .discrete(let width, let height):
            return [FrameSize(width, height)]
        case .stepwise(let range), .continuous(let range):
            var (stepX, stepY) = (range.stepWidth, range.stepHeight)
            if case .continuous = self { (stepX, stepY) = (1, 1) }
            let x = Self.neighbours(of: goal.width, from: range.minWidth, to: range.maxWidth, step: stepX)
            let y = Self.neighbours(of: goal.height, from: range.minHeight, to: range.maxHeight, step: stepY)
            let above = FrameSize(x.above, y.above)
            let below = FrameSize(x.below, y.below)
            return above == below ? [above] : [above, below]
        }
    }

    /// The values of the range at or next to `value`. A driver's nonsense (end before start, no step, 0) is put right.
    private static func neighbours(of value: Int, from: Int, to: Int, step: Int) -> (below: Int, above: Int) {
        let limit = Int(Int32.max)
        let start = min(max(from, 1), limit)
        let end = min(max(to, start), limit)
        let step = min(max(step, 1), limit)
        let last = start + (end - start) / step * step
        guard value > start else { return (start, start) }
        guard value < last else { return (last, last) }
        let below = start + (value - start) / step * step
        return (below, below == value ? below : below + step)
    }
}

extension CameraModeChoice {
    /// A size and what rates it comes with, in any decodable format.
    struct SizeOffer {
        let size: FrameSize
        let order: Int
        private(set) var reach = Reach.missed
        private(set) var best: RateFit?

        init(size: FrameSize, order: Int) {
            self.size = size
            self.order = order
        }

        func adding(_ rate: RateFit) -> SizeOffer {
            var offer = self
            offer.reach = max(reach, rate.reach)
            if best.map({ rate.isFaster(than: $0) }) ?? true { offer.best = rate }
            return offer
        }

        /// The size's distance and, counted twice as all that is missing, its rate's.
        func distance(to goal: Goal) -> Int {
            size.distance(to: goal.size) + (reach == .missed ? 2 * (best?.shortfall ?? 0) : 0)
        }
    }

    /// The rank of each size: the best has the highest, none 0.
    static func rank(_ offers: [SizeOffer], goal: Goal) -> [FrameSize: Int] {
        let allSmaller = offers.allSatisfy { goal.size.covers($0.size) }
        let sorted = offers.sorted { isWorse($0, $1, goal: goal, allSmaller: allSmaller) }
        return Dictionary(sorted.enumerated().map { ($1.size, $0 + 1) }, uniquingKeysWith: { first, _ in first })
    }

    private static func isWorse(_ a: SizeOffer, _ b: SizeOffer, goal: Goal, allSmaller: Bool) -> Bool {
        guard goal.isSizeWished else { return isWorseUnwished(a, b, limit: goal.size) }
        let (exactA, exactB) = (a.size == goal.size, b.size == goal.size)
        if exactA != exactB { return exactB }
        if allSmaller, a.size.area != b.size.area { return a.size.area < b.size.area }
        let (distanceA, distanceB) = (a.distance(to: goal), b.distance(to: goal))
        return distanceA == distanceB ? a.order > b.order : distanceA > distanceB
    }

    private static func isWorseUnwished(_ a: SizeOffer, _ b: SizeOffer, limit: FrameSize) -> Bool {
        if (a.reach == .missed) != (b.reach == .missed) { return a.reach == .missed }
        if a.reach == .missed, let rateA = a.best, let rateB = b.best {
            if rateA.isFaster(than: rateB) { return false }
            if rateB.isFaster(than: rateA) { return true }
        }
        let (fitsA, fitsB) = (a.size.area <= limit.area, b.size.area <= limit.area)
        if fitsA != fitsB { return fitsB }
        if a.size.area != b.size.area { return fitsA ? a.size.area < b.size.area : a.size.area > b.size.area }
        return a.order > b.order
    }
}
