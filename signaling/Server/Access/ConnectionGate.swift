import EmisoraCore

/// Who may stay connected: bounds connections by address, and strangers by number and time.
///
/// A stranger is a connection that is neither in a room nor has a whole request of its own in work: one that only opened
/// a socket, dribbles bytes, or idles between two requests. Where there are too many of them the oldest go, so that
/// somebody new always gets a hearing.
///
/// ```
///            joined, or request complete
/// stranger ──────────────────────────────▶ known ──answered──▶ stranger
///    └──too many, too long──▶ to be closed
/// ```
struct ConnectionGate<ID: Hashable> {
    private struct Stranger {
        var address: IPAddress
        var since: Instant
        /// Of two that came at the same instant one is older.
        var number: UInt64
    }

    private let limits: ServerLimits
    private var addresses: [ID: IPAddress] = [:]
    private var countOfAddress: [IPAddress: Int] = [:]
    /// Few, whatever happens: what is looked for is looked for here.
    private var strangers: [ID: Stranger] = [:]
    private var strangersOfAddress: [IPAddress: Int] = [:]
    private var lastNumber: UInt64 = 0

    init(limits: ServerLimits) {
        self.limits = limits
    }

    var connectionCount: Int { addresses.count }
    var strangerCount: Int { strangers.count }

    /// Whether another connection from `address` may be taken at all.
    func admits(_ address: IPAddress) -> Bool {
        // When all places are taken a stranger gives way, if there is one.
        countOfAddress[Self.key(address), default: 0] < limits.connectionsPerAddress
            && (addresses.count < limits.connections || !strangers.isEmpty)
    }

    /// A new connection; gives those that have to go for it.
    mutating func opened(_ id: ID, from address: IPAddress, now: Instant) -> [ID] {
        let address = Self.key(address)
        addresses[id] = address
        countOfAddress[address, default: 0] += 1
        var ending: [ID] = []
        while strangers.count >= limits.strangers || addresses.count - ending.count > limits.connections {
            guard let oldest = oldest(where: { _ in true }) else { break }
            leave(oldest)
            ending.append(oldest)
        }
        enter(id, now: now)
        return ending
    }

    /// It is in a room now, or its request is there as a whole.
    mutating func became(known id: ID) {
        leave(id)
    }

    /// It was answered and may ask for something else, or has only begun to speak websocket.
    mutating func became(stranger id: ID, now: Instant) {
        leave(id)
        enter(id, now: now)
    }

    mutating func closed(_ id: ID) {
        leave(id)
        guard let address = addresses.removeValue(forKey: id) else { return }
        Self.decrease(&countOfAddress, address)
    }

    // MARK: Time

    var nextDeadline: Instant? {
        strangers.values.map { stranger in
            stranger.since + (isCrowded(stranger.address) ? limits.strangerGrace : limits.strangerTimeout)
        }.min()
    }

    /// Those that have to go because of the time.
    mutating func handleTimeout(now: Instant) -> [ID] {
        var ending = strangers.filter { now - $0.value.since >= limits.strangerTimeout }.map(\.key)
        for id in ending { leave(id) }
        while let oldest = oldest(where: { isCrowded($0.address) && now - $0.since >= limits.strangerGrace }) {
            leave(oldest)
            ending.append(oldest)
        }
        return ending
    }

    private func isCrowded(_ address: IPAddress) -> Bool {
        strangersOfAddress[address, default: 0] > limits.strangersPerAddress
    }

    // MARK: Strangers

    private mutating func enter(_ id: ID, now: Instant) {
        guard let address = addresses[id] else { return }
        lastNumber += 1
        strangers[id] = Stranger(address: address, since: now, number: lastNumber)
        strangersOfAddress[address, default: 0] += 1
    }

    private mutating func leave(_ id: ID) {
        guard let stranger = strangers.removeValue(forKey: id) else { return }
        Self.decrease(&strangersOfAddress, stranger.address)
    }

    private static func decrease(_ counts: inout [IPAddress: Int], _ address: IPAddress) {
        let count = counts[address, default: 1] - 1
        counts[address] = count > 0 ? count : nil
    }

    private func oldest(where isMeant: (Stranger) -> Bool) -> ID? {
        strangers.filter { isMeant($0.value) }.min { $0.value.number < $1.value.number }?.key
    }

    /// Who has one address of IPv6 has 2⁶⁴ of them.
    private static func key(_ address: IPAddress) -> IPAddress {
        guard address.family == .v6 else { return address }
        // ::ffff:a.b.c.d is IPv4 on a socket of both families.
        if address.high == 0, address.low >> 32 == 0xFFFF {
            return IPAddress(v4: UInt32(truncatingIfNeeded: address.low))
        }
        return address.isLoopback ? address : IPAddress(v6High: address.high, low: 0)
    }
}
