import EmisoraCore

/// Notes which packets are missing and when to ask for them (again), until they come or are too old to be of use.
///
/// Numbers are unwrapped (``SequenceUnwrapper``). A packet counts as missing once it is a little late, not at the first
/// sight of a gap, since packets also overtake each other.
package struct NackGenerator: Equatable, Sendable {
    package struct Configuration: Equatable, Sendable {
        /// A gap is asked for after this time …
        package var reorderingDelay: Duration = .milliseconds(10)
        /// … or once so many later packets have come.
        package var reorderingPackets = 3
        /// Packets missing for longer are given up.
        package var giveUpAfter: Duration = .seconds(1)
        package var requestLimit = 10
        /// More missing packets than this are not worth asking for: a key frame is cheaper.
        package var missingLimit = 1000

        package init() {}
    }

    private struct Missing: Equatable, Sendable {
        var number: Int64
        var noticedAt: Instant
        var requestAt: Instant
        var requests = 0

        func isHopeless(_ configuration: Configuration, now: Instant) -> Bool {
            if now - noticedAt >= configuration.giveUpAfter { return true }
            // After the last request it still has one round trip to come.
            return requests >= configuration.requestLimit && requestAt <= now
        }
    }

    package let configuration: Configuration
    /// Paces repeats; until it is known, an assumption.
    package var roundTripTime: Duration = .milliseconds(100)
    private var highest: Int64?
    /// The lowest number seen: what it overtook at the start of the stream is missing too.
    private var lowest: Int64 = 0
    private var floor: Int64 = .min
    /// Ascending.
    private var missing: [Missing] = []

    package init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
    }

    package var missingCount: Int { missing.count }

    /// Takes a packet that came, by whatever way. `false`: so much is missing that only a key frame helps; the list was
    /// cleared.
    package mutating func handle(_ number: Int64, now: Instant) -> Bool {
        guard let before = highest else {
            highest = number
            lowest = number
            return true
        }
        if number <= before {
            if let index = index(of: number) { missing.remove(at: index) }
            noteOvertakenStart(number, now: now)
            return true
        }
        highest = number
        guard number - before - 1 <= configuration.missingLimit - missing.count else {
            missing.removeAll(keepingCapacity: true)
            return false
        }
        for gap in before + 1..<number {
            missing.append(Missing(number: gap, noticedAt: now, requestAt: now + configuration.reorderingDelay))
        }
        let overtaken = number - Int64(configuration.reorderingPackets)
        var index = missing.count
        while index > 0, missing[index - 1].requests == 0 {
            index -= 1
            let isOvertaken = missing[index].number <= overtaken
            if isOvertaken, missing[index].requestAt > now { missing[index].requestAt = now }
        }
        return true
    }

    /// Stops asking for packets before `number`: a key frame made them useless, or they are past.
    package mutating func discard(before number: Int64) {
        floor = max(floor, number)
        missing.removeAll { $0.number < number }
    }

    /// Stops asking for all that is missing now.
    package mutating func giveUp() {
        if let highest { discard(before: highest) }
    }

    /// Forgets everything, for a source that restarted.
    package mutating func reset() {
        highest = nil
        floor = .min
        missing.removeAll(keepingCapacity: true)
    }

    /// The numbers to put into a NACK now, ascending, at most `limit`.
    package mutating func pollNack(now: Instant, limit: Int = 256) -> [UInt16] {
        guard !missing.isEmpty else { return [] }
        let configuration = configuration
        missing.removeAll { $0.isHopeless(configuration, now: now) }
        var numbers: [UInt16] = []
        for index in missing.indices where numbers.count < limit && missing[index].requestAt <= now {
            missing[index].requests += 1
            missing[index].requestAt = now + max(roundTripTime, .milliseconds(20))
            numbers.append(UInt16(truncatingIfNeeded: missing[index].number))
        }
        return numbers
    }

    /// When ``pollNack(now:limit:)`` has something to do; `nil` if nothing is missing.
    package var nextDeadline: Instant? {
        missing.lazy.map { min($0.requestAt, $0.noticedAt + configuration.giveUpAfter) }.min()
    }

    /// The stream began earlier than the first packet to arrive: what lies between is missing as well.
    private mutating func noteOvertakenStart(_ number: Int64, now: Instant) {
        guard number < lowest, number >= floor else { return }
        if lowest - number - 1 <= configuration.missingLimit - missing.count {
            let gap = (number + 1..<lowest).map {
                Missing(number: $0, noticedAt: now, requestAt: now + configuration.reorderingDelay)
            }
            missing.insert(contentsOf: gap, at: 0)
        }
        lowest = number
    }

    private func index(of number: Int64) -> Int? {
        var low = 0
        var high = missing.count
        while low < high {
            let middle = (low + high) / 2
            if missing[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < missing.count && missing[low].number == number ? low : nil
    }
}
