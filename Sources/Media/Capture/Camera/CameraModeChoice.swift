import EmisoraVideo

/// Which mode of a camera serves a wish best, and why.
///
/// ```swift
/// let choice = CameraModeChoice.choose(CameraWish(width: 1280, height: 720, frameRate: 30), from: modes)
/// print(choice.chosen?.description ?? "none", "-", choice.reason)
/// // MJPG 1280x720 at 30 fps - 1280x720 as wished; 30 fps as wished; YUYV stops at 10 fps there
/// ```
///
/// The rules, in their order:
/// 1. Only NV12, I420, YUYV, UYVY and MJPEG count (NV12 and I420 also in several planes): the others are no colour
///    picture that is decoded here.
/// 2. The wished size. Where it is not offered and all sizes are smaller, the largest; else the nearest, a pixel or a
///    frame a second too few counting twice as much as a pixel too many.
///    Without a wish the largest up to 1280x720 that reaches the rate.
/// 3. In it the formats that reach the wished rate; there the best rate not above the wish (0.1 % more passes, so that
///    29.97 takes 30000/1001), else the nearest above. Without a wish the rate is 30.
/// 4. At equal size and rate the format that costs least: NV12, then I420, YUYV and UYVY, then MJPEG.
///
/// All comparisons are of exact fractions.
public enum CameraModeChoice {
    /// The choice with its explanation.
    public struct Explained: Hashable, Sendable {
        /// `nil` where the camera has no mode whose pictures can be decoded here.
        public var chosen: CameraMode?
        /// Why that one, or why none, in one line.
        public var reason: String
        /// Every mode of the list, in the driver's order. A range of sizes or rates takes part with the values in it
        /// that come nearest to the wish.
        public var candidates: [Candidate]
    }

    /// One mode of the list in the contest.
    public struct Candidate: Hashable, Sendable {
        public var mode: CameraMode
        /// The higher the better; 0 cannot be chosen. Its digits compare size, then rate, then format.
        public var score: Int
        /// Why it won or lost.
        public var reason: String
        public var isChosen: Bool
    }

    /// The best mode of `modes` for `wish`, and why each other lost. A pure function; never traps, whatever the list.
    public static func choose(_ wish: CameraWish, from modes: CameraModes) -> Explained {
        let goal = Goal(wish, current: modes.current)
        var entries = Self.entries(of: modes, goal: goal)
        rank(&entries, goal: goal)
        let best = entries.indices.max { entries[$0].isWorse(than: entries[$1]) }
        guard let best, entries[best].score > 0 else {
            return Explained(
                chosen: nil, reason: noChoice(entries),
                candidates: entries.map { candidate($0, reason: $0.obstacle ?? "", isChosen: false) })
        }
        let reasons = Reasons(winner: entries[best], entries: entries, goal: goal)
        return Explained(
            chosen: entries[best].mode, reason: reasons.ofWinner,
            candidates: entries.indices.map { index in
                let reason = index == best ? reasons.ofWinner : reasons.of(entries[index])
                return candidate(entries[index], reason: reason, isChosen: index == best)
            })
    }

    private static func candidate(_ entry: Entry, reason: String, isChosen: Bool) -> Candidate {
        Candidate(mode: entry.mode, score: entry.score, reason: reason, isChosen: isChosen)
    }

    private static func noChoice(_ entries: [Entry]) -> String {
        var seen: [String] = []
        for entry in entries {
            if let obstacle = entry.obstacle, !seen.contains(obstacle) { seen.append(obstacle) }
        }
        return "no decodable format: " + (seen.isEmpty ? "the device lists none" : seen.joined(separator: "; "))
    }
}

extension CameraModeChoice {
    /// What is aimed at: the wish, with what it leaves open filled in.
    struct Goal {
        /// Sides of 1…2³¹−1, so that products of them stay within 128 bits.
        var size: FrameSize
        var rate: FrameRate
        /// Whether the size is wished, rather than the limit up to which the largest is taken.
        var isSizeWished: Bool
        var isRateWished: Bool
        /// The size is the source's, not the application's.
        var isSizeFixed: Bool

        init(_ wish: CameraWish, current: CameraModes.Current?) {
            isSizeFixed = false
            if let current, current.width > 0, current.height > 0 {
                size = FrameSize(current.width, current.height)
                isSizeWished = true
                isSizeFixed = true
            } else if let width = wish.width, let height = wish.height, width > 0, height > 0 {
                size = FrameSize(width, height)
                isSizeWished = true
            } else {
                // What a call shows: more costs the encoder more than the viewer gains.
                size = FrameSize(1280, 720)
                isSizeWished = false
            }
            rate = wish.frameRate ?? 30
            isRateWished = wish.frameRate != nil
        }
    }

    /// A format at a size.
    struct Place: Hashable {
        let fourcc: FourCC
        let size: FrameSize
    }

    /// One mode of the list and how it ranks.
    struct Entry {
        let mode: CameraMode
        let size: FrameSize
        /// Place in the driver's list, for ties.
        let order: Int
        /// Why it cannot be chosen at all.
        var obstacle: String?
        /// The driver named no size; this is the goal's.
        var isSizeGuessed = false
        var rate = RateFit.unknown
        /// Whether this format reaches the rate at this size, with any of its intervals.
        var reach = Reach.unknown
        var sizeRank = 0
        var rateRank = 0
        var formatRank = 0

        var place: Place { Place(fourcc: mode.fourcc, size: size) }

        /// One number that compares as (size, rate, format) do.
        var score: Int {
            obstacle == nil ? (sizeRank * 10_000 + min(rateRank, 9_999)) * 10 + min(formatRank, 9) : 0
        }

        func isWorse(than other: Entry) -> Bool {
            if (obstacle == nil) != (other.obstacle == nil) { return obstacle != nil }
            if sizeRank != other.sizeRank { return sizeRank < other.sizeRank }
            if rateRank != other.rateRank { return rateRank < other.rateRank }
            if formatRank != other.formatRank { return formatRank < other.formatRank }
            // Rates that count as the same: the nearer to the wish, then what the driver lists first.
            switch rate.compareDistance(other.rate) {
            case .orderedFirst: return false
            case .orderedLast: return true
            case .equal: return order > other.order
            }
        }
    }

    /// All modes of the list, ranges resolved.
    private static func entries(of modes: CameraModes, goal: Goal) -> [Entry] {
        var entries: [Entry] = []
        func add(
            _ fourcc: FourCC, _ size: FrameSize, _ rate: (interval: FrameInterval?, fit: RateFit), obstacle: String?,
            guessed: Bool
        ) {
            let mode = CameraMode(fourcc: fourcc, width: size.width, height: size.height, interval: rate.interval)
            var entry = Entry(mode: mode, size: size, order: entries.count)
            entry.obstacle = obstacle
            entry.isSizeGuessed = guessed
            entry.formatRank = rank(of: fourcc)
            entry.rate = rate.fit
            entries.append(entry)
        }
        var formats = modes.formats
        if formats.isEmpty, let fourcc = modes.current?.fourcc { formats = [.init(fourcc, sizes: [])] }
        for format in formats {
            let unusable = obstacle(of: format.fourcc)
            if format.sizes.isEmpty {
                add(format.fourcc, goal.size, (nil, .unknown), obstacle: unusable, guessed: !goal.isSizeFixed)
            }
            for listed in format.sizes {
                let rates = rates(of: listed.intervals, goal: goal.rate)
                for size in listed.extent.sizes(near: goal.size) {
                    let obstacle = unusable ?? (size.isValid ? nil : "\(size) is no size")
                    for rate in rates {
                        add(format.fourcc, size, rate, obstacle: obstacle, guessed: false)
                    }
                }
            }
        }
        return entries
    }

    /// Gives every entry its ranks.
    private static func rank(_ entries: inout [Entry], goal: Goal) {
        var reach: [Place: Reach] = [:]
        var sizes: [FrameSize: SizeOffer] = [:]
        for entry in entries where entry.obstacle == nil {
            reach[entry.place] = max(reach[entry.place] ?? .missed, entry.rate.reach)
            let offer = sizes[entry.size] ?? SizeOffer(size: entry.size, order: entry.order)
            sizes[entry.size] = offer.adding(entry.rate)
        }
        let sizeRanks = rank(Array(sizes.values), goal: goal)
        for index in entries.indices where entries[index].obstacle == nil {
            let entry = entries[index]
            entries[index].reach = reach[entry.place] ?? .unknown
            entries[index].sizeRank = sizeRanks[entry.size] ?? 0
        }
        rankRates(&entries)
    }
}
