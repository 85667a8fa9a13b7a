import EmisoraCore

/// The packets of a stream that may still be asked for again: a ring in order of sequence number.
///
/// An entry refers to the shared frame; nothing is copied for it.
struct PacketHistory: Sendable {
    struct Entry: Sendable {
        var sequenceNumber: UInt16
        var timestamp: UInt32
        var frame: PacketizedFrame
        var packetIndex: Int
        var payloadType: UInt8
        /// As they were sent: a repetition under the same number must be the same packet (RFC 3711 §9.1).
        var values: HeaderExtensionValues
        /// Whether it named its stream.
        var isIntroduction: Bool
        var sentAt: Instant
        /// When it last went out again, or was queued to.
        var retransmittedAt: Instant?
        /// It waits to go out again: to be asked for once more changes nothing.
        var isQueued = false
    }

    private let duration: Duration
    private let limit: Int
    private var slots: [Entry?] = []
    private var head = 0
    private(set) var count = 0

    init(duration: Duration, limit: Int) {
        self.duration = duration
        // Half the sequence space is the most in which a number names one packet.
        self.limit = max(1, min(limit, 0x4000))
    }

    /// Adds the packet after the newest, and forgets what is too old or too much.
    mutating func append(_ entry: Entry, now: Instant) {
        expire(now: now)
        if count == slots.count {
            if slots.count < limit { grow() } else { removeFirst() }
        }
        slots[(head + count) % slots.count] = entry
        count += 1
    }

    /// Forgets packets older than the duration, which also lets go of their frames.
    mutating func expire(now: Instant) {
        while count > 0, let oldest = slots[head], now - oldest.sentAt > duration { removeFirst() }
    }

    mutating func removeAll() {
        slots = []
        head = 0
        count = 0
    }

    /// The packet with this number, which the closure may change.
    mutating func withEntry<Result>(_ number: UInt16, _ body: (inout Entry) -> Result) -> Result? {
        guard count > 0, let oldest = slots[head] else { return nil }
        let distance = Int(number &- oldest.sequenceNumber)
        guard distance < count else { return nil }
        let index = (head + distance) % slots.count
        guard var entry = slots[index] else { return nil }
        let result = body(&entry)
        slots[index] = entry
        return result
    }

    private mutating func removeFirst() {
        slots[head] = nil
        head = (head + 1) % slots.count
        count -= 1
    }

    private mutating func grow() {
        var larger: [Entry?] = []
        let capacity = min(limit, max(64, slots.count * 2))
        larger.reserveCapacity(capacity)
        for index in 0..<count { larger.append(slots[(head + index) % slots.count]) }
        larger += repeatElement(nil, count: capacity - count)
        slots = larger
        head = 0
    }
}

/// How much may be sent again: a share of what was sent, so that a flood of NACKs cannot multiply the stream's rate.
struct RetransmissionBudget: Sendable {
    /// Bytes earned per byte sent: covers a loss of a third, its repeats included.
    private static let share = 0.5
    private static let ceiling = 256_000.0
    private var balance = 64_000.0

    mutating func earn(sentByteCount: Int) {
        balance = min(Self.ceiling, balance + Self.share * Double(sentByteCount))
    }

    /// Whether that many bytes may go out; they are taken off if so.
    mutating func spend(byteCount: Int) -> Bool {
        guard balance >= Double(byteCount) else { return false }
        balance -= Double(byteCount)
        return true
    }
}
