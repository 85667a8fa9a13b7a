/// Connections that have not shown yet whose they are, and where they come from. Which of them has to go is for the owner
/// to say; the oldest is found here, so that somebody new always gets a hearing.
package struct Strangers<ID: Hashable> {
    package struct Stranger: Sendable {
        /// Where it comes from: see ``IPAddress/site``.
        package var site: IPAddress
        package var since: Instant
        /// Of two that came at the same instant one is older.
        fileprivate var number: UInt64
    }

    private var strangers: [ID: Stranger] = [:]
    private var countOfSite: [IPAddress: Int] = [:]
    private var lastNumber: UInt64 = 0

    package init() {}

    package var count: Int { strangers.count }
    package var isEmpty: Bool { strangers.isEmpty }
    package var all: some Collection<(key: ID, value: Stranger)> { strangers }

    /// How many come from the same site as `address`.
    package func count(from address: IPAddress) -> Int { countOfSite[address.site, default: 0] }

    package mutating func enter(_ id: ID, from address: IPAddress, now: Instant) {
        leave(id)
        lastNumber += 1
        let site = address.site
        strangers[id] = Stranger(site: site, since: now, number: lastNumber)
        countOfSite[site, default: 0] += 1
    }

    /// It is known now, or gone.
    package mutating func leave(_ id: ID) {
        guard let stranger = strangers.removeValue(forKey: id) else { return }
        let count = countOfSite[stranger.site, default: 1] - 1
        countOfSite[stranger.site] = count > 0 ? count : nil
    }

    package func oldest(where isMeant: (Stranger) -> Bool = { _ in true }) -> ID? {
        strangers.filter { isMeant($0.value) }.min { $0.value.number < $1.value.number }?.key
    }

    /// The oldest of the site that has the most: who hoards gives way first.
    package var oldestOfTheMostCrowded: ID? {
        let most = countOfSite.values.max() ?? 0
        return oldest { countOfSite[$0.site] == most }
    }
}

extension Strangers: Sendable where ID: Sendable {}
