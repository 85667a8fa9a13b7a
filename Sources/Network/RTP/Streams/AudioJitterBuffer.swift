import EmisoraCore

/// Evens out the arrival of sound packets: the player pulls one packet at a time, at its own pace.
///
/// The delay is a target between `minimumDelay` and `maximumDelay` that follows how unevenly packets arrive. What has
/// piled up beyond it, after a burst or because the sender's clock is faster, is shortened a packet at a time.
///
/// ```swift
/// switch buffer.pop(now: now) {
/// case .packet(let bytes, let timestamp): decoder.decode(bytes)
/// case .lost(let next): next.map(decoder.decodeFEC) ?? decoder.conceal()
/// case .empty: break  // silence, or the decoder's concealment for a moment
/// }
/// ```
package struct AudioJitterBuffer: Sendable {
    package struct Configuration: Equatable, Sendable {
        package var minimumDelay: Duration = .milliseconds(20)
        package var maximumDelay: Duration = .milliseconds(60)
        /// What is kept at most; the oldest go first.
        package var packetLimit = 50
        /// A payload above this is no sound packet and not kept.
        package var payloadByteLimit = 4096

        package init() {}
    }

    package enum Output: Equatable, Sendable {
        case packet([UInt8], rtpTimestamp: UInt32)
        /// A packet is missing while later ones are there. If the very next one is there it comes with it, since it may
        /// carry forward error correction; it will be handed out itself at the next pull.
        case lost(nextPacketForFEC: [UInt8]?)
        /// Nothing to play: not begun, the sender is silent, or the network has run dry.
        case empty
    }

    package enum Insertion: Equatable, Sendable {
        case inserted
        case duplicate
        case late
    }

    private enum State: Equatable, Sendable {
        /// Collecting until the target delay is reached.
        case buffering
        /// `next` is the number that is to be played next.
        case playing(next: Int64)
    }

    private struct Packet: Sendable {
        var number: Int64
        var timestamp: UInt32
        var duration: UInt32
        var receivedAt: Instant
        var bytes: [UInt8]
    }

    /// A longer gap is skipped instead of being made up packet by packet.
    private static let concealmentLimit: Int64 = 10
    /// Pulls without a packet after which the target delay is collected anew.
    private static let emptyPullLimit = 5
    /// Pulls over which the delay must never fall to the target before it is shortened.
    private static let observedPulls = 50

    package let configuration: Configuration
    /// The delay that is aimed at.
    package private(set) var targetDelay: Duration
    package private(set) var concealmentEvents: UInt64 = 0
    package private(set) var packetsRemovedForAcceleration: UInt64 = 0
    /// Packets handed out, and how long they had waited, in seconds.
    package private(set) var emittedCount: UInt64 = 0
    package private(set) var totalDelay: Double = 0

    private let clock: RTPTimestampClock
    private var state: State = .buffering
    /// The lowest number that can still be played.
    private var floor: Int64?
    /// Ascending by number.
    private var packets: [Packet] = []
    private var emptyPulls = 0
    private var lateness = ArrivalLateness()
    private var smallestExcess: Int64 = .max
    private var pullsObserved = 0

    package init(clockRate: Int, configuration: Configuration = Configuration()) {
        clock = RTPTimestampClock(rate: clockRate, offset: 0)
        self.configuration = configuration
        targetDelay = configuration.minimumDelay
    }

    package var packetCount: Int { packets.count }

    /// How much sound waits.
    package var bufferedDuration: Duration {
        .nanoseconds(bufferedTicks * 1_000_000_000 / Int64(clock.rate))
    }

    /// - Parameter isRedundant: Carried once more by a later packet: where it brings nothing new its arrival says nothing
    ///   of the network, and where it does it tells which delay such a packet needs to be in time.
    package mutating func insert(
        number: Int64, timestamp: UInt32, payload: RawSpan, isRedundant: Bool = false, now: Instant
    ) -> Insertion {
        if let floor, number < floor {
            // It would have been in time with a longer delay.
            if !isRedundant { observe(timestamp: timestamp, now: now) }
            return .late
        }
        guard payload.byteCount > 0, payload.byteCount <= configuration.payloadByteLimit else { return .late }
        var position = packets.count
        while position > 0, packets[position - 1].number > number { position -= 1 }
        if position > 0, packets[position - 1].number == number { return .duplicate }
        observe(timestamp: timestamp, now: now)
        let packet = Packet(
            number: number, timestamp: timestamp,
            duration: OpusPacket.durationInTicks(of: payload) ?? UInt32(clamping: clock.rate / 50), receivedAt: now,
            bytes: [UInt8](copying: payload))
        packets.insert(packet, at: position)
        if packets.count > configuration.packetLimit { shortenToTarget() }
        return .inserted
    }

    /// What to play next. To be called when the sound of the call before comes to its end, as a rule every 20 ms.
    package mutating func pop(now: Instant) -> Output {
        switch state {
        case .buffering:
            guard let first = packets.first,
                bufferedTicks >= clock.ticks(in: targetDelay) || now - first.receivedAt >= targetDelay
            else { return .empty }
            state = .playing(next: first.number)
            return emitFirst(now: now)
        case .playing(let next):
            guard let first = packets.first else {
                emptyPulls += 1
                if emptyPulls >= Self.emptyPullLimit { state = .buffering }
                return .empty
            }
            emptyPulls = 0
            if first.number == next || first.number - next > Self.concealmentLimit {
                shortenIfTooLong()
                return emitFirst(now: now)
            }
            concealmentEvents += 1
            state = .playing(next: next + 1)
            floor = next + 1
            return .lost(nextPacketForFEC: first.number == next + 1 ? first.bytes : nil)
        }
    }

    /// Forgets everything, for a source that restarted.
    package mutating func reset() {
        packets.removeAll()
        state = .buffering
        floor = nil
        emptyPulls = 0
        lateness = ArrivalLateness()
        smallestExcess = .max
        pullsObserved = 0
    }

    // MARK: Inside

    private var bufferedTicks: Int64 {
        packets.reduce(0) { $0 + Int64($1.duration) }
    }

    private mutating func emitFirst(now: Instant) -> Output {
        guard !packets.isEmpty else { return .empty }
        let packet = packets.removeFirst()
        state = .playing(next: packet.number + 1)
        floor = packet.number + 1
        emittedCount += 1
        totalDelay += max(0, (now - packet.receivedAt).inSeconds)
        return .packet(packet.bytes, rtpTimestamp: packet.timestamp)
    }

    /// Leaves one packet out if over a whole second the buffer never came down to its target and a packet more.
    private mutating func shortenIfTooLong() {
        guard let first = packets.first else { return }
        smallestExcess = min(smallestExcess, bufferedTicks - clock.ticks(in: targetDelay) - Int64(first.duration))
        pullsObserved += 1
        guard pullsObserved >= Self.observedPulls else { return }
        if smallestExcess > 0, packets.count > 1 { removeFirst() }
        pullsObserved = 0
        smallestExcess = .max
    }

    private mutating func shortenToTarget() {
        while packets.count > 1, bufferedTicks > clock.ticks(in: targetDelay) { removeFirst() }
        // Long packets may all be above the target; the count holds whatever they claim.
        while packets.count > configuration.packetLimit { removeFirst() }
    }

    private mutating func removeFirst() {
        let packet = packets.removeFirst()
        packetsRemovedForAcceleration += 1
        floor = packet.number + 1
        if case .playing = state, let first = packets.first { state = .playing(next: first.number) }
    }

    private mutating func observe(timestamp: UInt32, now: Instant) {
        let ticks = Int64(Int32(bitPattern: clock.timestamp(at: now) &- timestamp))
        let late = lateness.observe(transit: ticks, clockRate: Int64(clock.rate))
        targetDelay = max(
            configuration.minimumDelay,
            min(configuration.maximumDelay, .nanoseconds(late * 1_000_000_000 / Int64(clock.rate))))
    }
}

/// How much later than the fastest packets the slow ones come: a peak that decays over some ten seconds.
private struct ArrivalLateness: Sendable {
    /// The transit of the fastest packet, in ticks of the RTP clock, relaxed a little so that it follows a drifting clock.
    private var fastest: Int64?
    private var peak: Int64 = 0
    private var packetCount = 0

    /// The lateness to provide for, in ticks.
    mutating func observe(transit: Int64, clockRate: Int64) -> Int64 {
        // Half a minute away is another timeline, not a late packet.
        guard let before = fastest, (transit - before).magnitude < UInt64(clockRate * 30) else {
            fastest = transit
            peak = 0
            return 0
        }
        packetCount += 1
        let drift: Int64 = packetCount % 16 == 0 ? 4 : 0
        let base = min(before + drift, transit)
        fastest = base
        peak = max(transit - base, peak - peak / 512 - (peak > 0 ? 1 : 0))
        return peak
    }
}
