import EmisoraCore

/// One direction of a simulated path: what it does to datagrams, decided by a seeded generator.
package struct SimulatedLink: Sendable {
    package struct Conditions: Sendable {
        package var delay: Duration = .milliseconds(10)
        /// Added uniformly between zero and this; datagrams overtake each other when it exceeds their spacing.
        package var jitter: Duration = .zero
        /// Share of datagrams that are lost, 0…1, in the good state.
        package var loss = 0.0
        /// Gilbert–Elliott: chance to enter and to leave the bad state for each datagram; in it all are lost.
        package var burstStart = 0.0
        package var burstEnd = 1.0
        package var duplication = 0.0
        /// Share of datagrams that are held back by another `delay`.
        package var reordering = 0.0
        /// Bits a second; `nil`: without limit.
        package var rate: DataRate?
        /// Bytes that may wait when `rate` limits; more are lost.
        package var queueByteCount = 64_000
        package var maximumTransmissionUnit = 1_500

        package init() {}
    }

    package var conditions: Conditions
    package private(set) var delivered = 0
    package private(set) var lost = 0
    private var random: SeededRandom
    private var isInBurst = false
    private var busyUntil = Instant.zero

    package init(_ conditions: Conditions, seed: UInt64) {
        self.conditions = conditions
        random = SeededRandom(seed)
    }

    /// When copies of a datagram arrive that is sent now: none, one or two times.
    mutating func arrivals(byteCount: Int, now: Instant) -> [Instant] {
        isInBurst =
            isInBurst ? random.nextUnit() >= conditions.burstEnd : random.nextUnit() < conditions.burstStart
        // Every draw is made each time, so that one datagram's fate does not shift the next one's.
        let isLost = random.nextUnit() < conditions.loss
        let isDuplicated = random.nextUnit() < conditions.duplication
        let isHeldBack = random.nextUnit() < conditions.reordering
        let jitter = conditions.jitter * random.nextUnit()
        guard !isLost, !isInBurst, byteCount <= conditions.maximumTransmissionUnit, let sent = transmit(byteCount, now)
        else {
            lost += 1
            return []
        }
        delivered += 1
        let arrival = sent + conditions.delay + jitter + (isHeldBack ? conditions.delay : .zero)
        return isDuplicated ? [arrival, arrival + .microseconds(100)] : [arrival]
    }

    /// When the last bit has left; `nil` when the queue is full.
    private mutating func transmit(_ byteCount: Int, _ now: Instant) -> Instant? {
        guard let rate = conditions.rate else { return now }
        let start = max(now, busyUntil)
        let queued = (start - now).inSeconds * Double(rate.bitsPerSecond) / 8
        guard queued <= Double(conditions.queueByteCount) else { return nil }
        busyUntil = start + .nanoseconds(Int64(byteCount) * 8 * 1_000_000_000 / Int64(max(1, rate.bitsPerSecond)))
        return busyUntil
    }
}
