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

    /// How far from `goal`: the sum of each side's difference in proportion to the longer one, as browsers measure it
    /// for a page's wish. Source: W3C Media Capture and Streams, fitness distance.
    func isNearer(to goal: FrameSize, than other: FrameSize) -> Bool {
        let (mine, myUnit) = distance(to: goal)
        let (others, otherUnit) = other.distance(to: goal)
        return mine * otherUnit < others * myUnit
    }

    private func distance(to goal: FrameSize) -> (Int128, Int128) {
        let horizontal = Int128(abs(width - goal.width))
        let vertical = Int128(abs(height - goal.height))
        let unitX = Int128(max(width, goal.width, 1))
        let unitY = Int128(max(height, goal.height, 1))
        return (horizontal * unitY + vertical * unitX, unitX * unitY)
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
    }

    /// Why a size has its place.
    enum SizeClass: Int {
        /// Nothing fits it better than nearness.
        case near
        /// At least as large as wished each way, but not more than four times as many pixels.
        case covering
        case exact
    }

    static func sizeClass(_ size: FrameSize, goal: Goal) -> SizeClass {
        if size == goal.size { return .exact }
        // More pixels than that cost more than they give back when scaled down.
        return size.covers(goal.size) && size.area / 4 <= goal.size.area ? .covering : .near
    }

    /// The rank of each size: the best has the highest, none 0.
    static func rank(_ offers: [SizeOffer], goal: Goal) -> [FrameSize: Int] {
        let allSmaller = offers.allSatisfy { goal.size.covers($0.size) }
        let sorted = offers.sorted { isWorse($0, $1, goal: goal, allSmaller: allSmaller) }
        return Dictionary(sorted.enumerated().map { ($1.size, $0 + 1) }, uniquingKeysWith: { first, _ in first })
    }

    private static func isWorse(_ a: SizeOffer, _ b: SizeOffer, goal: Goal, allSmaller: Bool) -> Bool {
        guard goal.isSizeWished else { return isWorseUnwished(a, b, limit: goal.size) }
        let (classA, classB) = (sizeClass(a.size, goal: goal), sizeClass(b.size, goal: goal))
        if (classA == .exact) != (classB == .exact) { return classB == .exact }
        if !allSmaller {
            // The size is not to be had: a neighbour that keeps the rate, before one that would not.
            if (a.reach == .missed) != (b.reach == .missed) { return a.reach == .missed }
            if classA != classB { return classA.rawValue < classB.rawValue }
            if classA == .covering, a.size.area != b.size.area { return a.size.area > b.size.area }
        } else if a.size.area != b.size.area {
            return a.size.area < b.size.area
        }
        if a.size.isNearer(to: goal.size, than: b.size) { return false }
        if b.size.isNearer(to: goal.size, than: a.size) { return true }
        return a.order > b.order
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
