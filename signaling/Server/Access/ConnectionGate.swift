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
    private let limits: ServerLimits
    private var addresses: [ID: IPAddress] = [:]
    private var countOfAddress: [IPAddress: Int] = [:]
    /// Few, whatever happens: what is looked for is looked for here.
    private var strangers = Strangers<ID>()

    init(limits: ServerLimits) {
        self.limits = limits
    }

    var connectionCount: Int { addresses.count }
    var strangerCount: Int { strangers.count }

    /// Where a connection comes from: see ``IPAddress/site``.
    func address(of id: ID) -> IPAddress? { addresses[id] }

    /// Whether another connection from `address` may be taken at all.
    func admits(_ address: IPAddress) -> Bool {
        // When all places are taken a stranger gives way, if there is one.
        countOfAddress[address.site, default: 0] < limits.connectionsPerAddress
            && (addresses.count < limits.connections || !strangers.isEmpty)
    }

    /// A new connection; gives those that have to go for it.
    mutating func opened(_ id: ID, from address: IPAddress, now: Instant) -> [ID] {
        let address = address.site
        addresses[id] = address
        countOfAddress[address, default: 0] += 1
        var ending: [ID] = []
        while strangers.count >= limits.strangers || addresses.count - ending.count > limits.connections {
            guard let oldest = strangers.oldest() else { break }
            strangers.leave(oldest)
            ending.append(oldest)
        }
        enter(id, now: now)
        return ending
    }

    /// It is in a room now, or its request is there as a whole.
    mutating func became(known id: ID) {
        strangers.leave(id)
    }

    /// It was answered and may ask for something else, or has only begun to speak websocket.
    mutating func became(stranger id: ID, now: Instant) {
        enter(id, now: now)
    }

    mutating func closed(_ id: ID) {
        strangers.leave(id)
        guard let address = addresses.removeValue(forKey: id) else { return }
        let count = countOfAddress[address, default: 1] - 1
        countOfAddress[address] = count > 0 ? count : nil
    }

    // MARK: Time

    var nextDeadline: Instant? {
        strangers.all.lazy.map(\.value).map { stranger in
            stranger.since + (isCrowded(stranger.site) ? limits.strangerGrace : limits.strangerTimeout)
        }.min()
    }

    /// Those that have to go because of the time.
    mutating func handleTimeout(now: Instant) -> [ID] {
        var ending = strangers.all.filter { now - $0.value.since >= limits.strangerTimeout }.map(\.key)
        for id in ending { strangers.leave(id) }
        while let oldest = strangers.oldest(where: { isCrowded($0.site) && now - $0.since >= limits.strangerGrace }) {
            strangers.leave(oldest)
            ending.append(oldest)
        }
        return ending
    }

    private func isCrowded(_ address: IPAddress) -> Bool {
        strangers.count(from: address) > limits.strangersPerAddress
    }

    private mutating func enter(_ id: ID, now: Instant) {
        guard let address = addresses[id] else { return }
        strangers.enter(id, from: address, now: now)
    }
}
