/// What waits between the reader and one output: packets, and marks where a pass through the file ended.
struct PacketQueue: Sendable {
    enum Item: Sendable {
        case packet(Packet)
        /// The file is over; what follows is its beginning again, `offset` nanoseconds after the first.
        case passEnded(offset: Int64)
        /// The file is over, and nothing follows.
        case ended
    }

    /// With this much waiting, in nanoseconds, more need not be read.
    private static let comfortableTime: Int64 = 1_000_000_000
    private static let fewestPackets = 4
    private static let comfortableCost = 16 << 20

    private var items: [Item] = []
    private var first = 0
    /// In bytes.
    private(set) var cost = 0
    private var time: Int64 = 0
    private var marks = 0

    var isEmpty: Bool { first == items.count }

    /// Whether the reader should go on for this output's sake.
    var isHungry: Bool {
        // Ends are few, and a loop of a very short file must not run ahead for ever.
        if marks >= Self.fewestPackets { return false }
        return items.count - first < Self.fewestPackets || time < Self.comfortableTime && cost < Self.comfortableCost
    }

    mutating func append(_ item: Item) {
        items.append(item)
        count(item, 1)
    }

    mutating func popFirst() -> Item? {
        guard !isEmpty else { return nil }
        let item = items[first]
        first += 1
        if first == items.count || first >= 256 {
            items.removeFirst(first)
            first = 0
        }
        count(item, -1)
        return item
    }

    private mutating func count(_ item: Item, _ sign: Int) {
        switch item {
        case .packet(let packet):
            cost += sign * packet.cost
            time += Int64(sign) * packet.duration
        case .passEnded, .ended: marks += sign
        }
    }
}
