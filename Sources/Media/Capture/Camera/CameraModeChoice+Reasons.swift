import EmisoraVideo

extension CameraModeChoice {
    /// Says why the winner won and why each other lost, for people.
    struct Reasons {
        private let winner: Entry
        private let entries: [Entry]
        private let goal: Goal
        private let fastest: [Place: Entry]

        init(winner: Entry, entries: [Entry], goal: Goal) {
            self.winner = winner
            self.entries = entries
            self.goal = goal
            fastest = Dictionary(entries.map { ($0.place, $0) }) { $1.rate.isFaster(than: $0.rate) ? $1 : $0 }
        }

        private var rateText: String { FrameInterval(goal.rate).rateText }

        var ofWinner: String { [sizeReason, rateReason, formatReason].compactMap { $0 }.joined(separator: "; ") }

        // MARK: The winner

        private var sizeReason: String {
            let size = winner.size
            if winner.isSizeGuessed { return "the driver lists no sizes: \(size) is asked for, it may answer another" }
            if goal.isSizeFixed, size == goal.size { return "\(size) is what the source gives" }
            let offered = Set(entries.filter { $0.obstacle == nil }.map(\.size))
            if size == goal.size, goal.isSizeWished { return "\(size) as wished" }
            if offered.count == 1 { return "\(size) is the only size" }
            guard goal.isSizeWished else {
                let reaching = winner.reach == .missed ? "has the best rate" : "reaches \(rateText)"
                return size.area <= goal.size.area
                    ? "no size wished: \(size) is the largest up to \(goal.size) that \(reaching)"
                    : "no size wished: \(size) is the smallest that \(reaching)"
            }
            let missing = "\(goal.size) is not offered"
            if offered.allSatisfy({ goal.size.covers($0) }) {
                return "\(missing), all sizes are smaller: \(size) is the largest"
            }
            // A size that would be nearer, were it not for its rate.
            let distance = size.distance(to: goal.size)
            let isByRate = offered.contains { $0.distance(to: goal.size) < distance }
            return "\(missing): \(size) is the nearest" + (isByRate ? " with regard to its rate" : "")
        }

        private var rateReason: String {
            guard let rate = winner.mode.interval?.rateText else { return "the driver lists no rates: left to it" }
            if winner.rate.place == .exact { return goal.isRateWished ? "\(rate) as wished" : "\(rate) by default" }
            let aim = goal.isRateWished ? rateText : "the usual \(rateText)"
            switch winner.rate.place {
            case .above: return "\(aim) is not offered: \(rate) is the nearest above"
            case _ where winner.reach == .missed: return "\(aim) is not reached: \(rate) is the best there"
            default: return "\(rate) is the best not above \(aim)"
            }
        }

        private var formatReason: String? {
            let fourcc = winner.mode.fourcc
            let rivals = entries.filter { $0.obstacle == nil && $0.size == winner.size && $0.mode.fourcc != fourcc }
            guard !rivals.isEmpty else {
                let others = entries.contains { $0.mode.fourcc != fourcc }
                return others ? "\(fourcc) is the only decodable format there" : nil
            }
            let equal = names(rivals.filter { $0.rateRank == winner.rateRank })
            if !equal.isEmpty { return "\(fourcc) comes before \(equal) at equal size and rate" }
            return names(rivals, detail: bestOf)
        }

        /// The formats of `entries`, each once, with what `detail` says about it.
        private func names(_ entries: [Entry], detail: ((FourCC) -> String)? = nil) -> String {
            var seen: [FourCC] = []
            for entry in entries where !seen.contains(entry.mode.fourcc) { seen.append(entry.mode.fourcc) }
            let names = seen.map { detail?($0) ?? $0.description }
            guard detail == nil, let last = names.last, names.count > 1 else { return names.joined(separator: ", ") }
            return names.dropLast().joined(separator: ", ") + " and " + last
        }

        /// What a format that lost has instead, at the winner's size.
        private func bestOf(_ fourcc: FourCC) -> String {
            let own = entries.filter { $0.mode.fourcc == fourcc && $0.size == winner.size && $0.obstacle == nil }
            guard let best = own.max(by: { $0.isWorse(than: $1) }), let rate = best.mode.interval?.rateText else {
                return "\(fourcc) lists no rates there"
            }
            return best.reach == .missed ? "\(fourcc) stops at \(rate) there" : "\(fourcc) has \(rate) there"
        }

        // MARK: The others

        func of(_ entry: Entry) -> String {
            if let obstacle = entry.obstacle { return obstacle }
            if entry.sizeRank != winner.sizeRank { return ofOtherSize(entry) }
            if entry.rateRank != winner.rateRank { return ofOtherRate(entry) }
            if entry.mode.fourcc == winner.mode.fourcc {
                return entry.mode == winner.mode ? "listed twice" : "another way to say the same rate"
            }
            return entry.formatRank == winner.formatRank
                ? "equal, but \(winner.mode.fourcc) is listed first"
                : "\(winner.mode.fourcc) costs less at equal size and rate"
        }

        private func ofOtherSize(_ entry: Entry) -> String {
            if winner.size == goal.size { return goal.isSizeFixed ? "not the source's size" : "not the wished size" }
            if !goal.isSizeWished {
                if entry.reach == .missed, winner.reach != .missed { return "misses \(rateText)" }
                if entry.size.area > goal.size.area { return "more than \(goal.size)" }
                return winner.size.area > entry.size.area ? "\(winner.size) is larger" : "\(winner.size) serves better"
            }
            if goal.size.covers(entry.size), goal.size.covers(winner.size) { return "smaller than \(winner.size)" }
            return entry.size.distance(to: goal.size) < winner.size.distance(to: goal.size)
                ? "nearer than \(winner.size), but too slow" : "\(winner.size) is nearer to \(goal.size)"
        }

        private func ofOtherRate(_ entry: Entry) -> String {
            guard let rate = entry.mode.interval?.rateText else { return "lists no rate" }
            if entry.reach < winner.reach {
                let best = fastest[entry.place]?.mode.interval?.rateText ?? rate
                return "\(entry.mode.fourcc) stops at \(best) at this size"
            }
            switch entry.rate.place {
            case .above where winner.rate.place != .above: return "\(rate) is above \(rateText)"
            case .above: return "\(rate) is further above \(rateText)"
            default: return "\(rate) is further below \(rateText)"
            }
        }
    }
}
