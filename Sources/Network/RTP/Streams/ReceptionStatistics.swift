import EmisoraCore

/// What a receiver keeps of one source for its reports: validity, loss and jitter (RFC 3550 appendices A.1, A.3, A.8).
package struct ReceptionStatistics: Equatable, Sendable {
    /// How a packet stands to those before it.
    package enum Arrival: Equatable, Sendable {
        /// The first, or newer than all before it.
        case inOrder
        /// Older than the newest: reordered, repeated, or sent again.
        case misordered
        /// So far away that it is either stray or the first after a restart: to be ignored.
        case jumped
        /// The second in a row after a jump: the source restarted, everything before is past.
        case restarted
    }

    /// A source is valid after that many packets in sequence.
    private static let minimumSequential = 2
    private static let maximumDropout = 3000
    /// Larger than the appendix's 100: retransmissions on the media SSRC come that late and must not look like a
    /// restart.
    private static let maximumMisorder = 3000

    /// Five of the longest intervals between reports (RFC 3550 §6.3.5).
    static let sourceTimeout: Duration = .milliseconds(7_500)

    package let ssrc: UInt32
    /// The source has proved itself with packets in sequence.
    package var isValid: Bool { probation == 0 && highest != nil }
    /// Packets counted, duplicates and late ones included.
    package private(set) var packetsReceived: Int64 = 0
    /// Interarrival jitter, in ticks of the RTP clock.
    package var jitterInTicks: UInt32 { UInt32(clamping: scaledJitter >> 4) }
    /// Interarrival jitter, in seconds.
    package var jitter: Double { Double(scaledJitter) / 16 / Double(clock.rate) }

    private let clock: RTPTimestampClock
    private var probation = minimumSequential - 1
    private var base: Int64 = 0
    /// Extended by cycles, never wraps.
    private var highest: Int64?
    private var restartCandidate: UInt16?
    private var transit: Int32?
    private var scaledJitter: Int64 = 0
    private var expectedBefore: Int64 = 0
    private var receivedBefore: Int64 = 0

    package init(ssrc: UInt32, clockRate: Int) {
        self.ssrc = ssrc
        clock = RTPTimestampClock(rate: clockRate, offset: 0)
    }

    /// Packets that should have come since the first.
    package var packetsExpected: Int64 { highest.map { $0 - base + 1 } ?? 0 }
    /// Expected less received; negative with duplicates.
    package var packetsLost: Int64 { packetsExpected - packetsReceived }

    /// Takes a packet that came on the media SSRC.
    package mutating func handle(sequenceNumber: UInt16, timestamp: UInt32, now: Instant) -> Arrival {
        guard let highest else {
            start(at: sequenceNumber)
            updateJitter(timestamp: timestamp, now: now)
            return .inOrder
        }
        let distance = Int(sequenceNumber &- UInt16(truncatingIfNeeded: highest))
        if probation > 0 {
            if distance == 1 {
                probation -= 1
            } else {
                // Not in sequence yet: begin to count again from here, if it is newer.
                probation = Self.minimumSequential - 1
                if distance < 0x8000, distance > 0 { start(at: sequenceNumber) } else { packetsReceived += 1 }
                return distance < 0x8000 && distance > 0 ? .inOrder : .misordered
            }
        }
        switch distance {
        case 1..<Self.maximumDropout:
            self.highest = highest + Int64(distance)
            restartCandidate = nil
            packetsReceived += 1
            updateJitter(timestamp: timestamp, now: now)
            return .inOrder
        case 0, (0x1_0000 - Self.maximumMisorder)...:
            packetsReceived += 1
            return .misordered
        default:
            guard restartCandidate == sequenceNumber else {
                restartCandidate = sequenceNumber &+ 1
                return .jumped
            }
            start(at: sequenceNumber)
            expectedBefore = 0
            receivedBefore = 0
            transit = nil
            updateJitter(timestamp: timestamp, now: now)
            return .restarted
        }
    }

    /// The block for the next report, and begins a new interval. The fraction lost is of the interval since the last.
    package mutating func reportBlock(senderClock: SenderClock, now: Instant) -> ReportBlock {
        let expectedNow = packetsExpected - expectedBefore
        let lostNow = expectedNow - (packetsReceived - receivedBefore)
        expectedBefore = packetsExpected
        receivedBefore = packetsReceived
        let fraction = expectedNow > 0 && lostNow > 0 ? min(255, lostNow * 256 / expectedNow) : 0
        return ReportBlock(
            ssrc: ssrc, fractionLost: UInt8(fraction),
            cumulativeLost: Int32(max(-0x80_0000, min(0x7F_FFFF, packetsLost))),
            extendedHighestSequenceNumber: UInt32(truncatingIfNeeded: highest ?? 0), jitter: jitterInTicks,
            lastSenderReport: senderClock.lastSenderReport,
            delaySinceLastSenderReport: senderClock.delaySinceLastSenderReport(now: now))
    }

    private mutating func start(at sequenceNumber: UInt16) {
        base = Int64(sequenceNumber)
        highest = base
        packetsReceived = 1
        restartCandidate = nil
    }

    private mutating func updateJitter(timestamp: UInt32, now: Instant) {
        let arrival = clock.timestamp(at: now)
        let current = Int32(bitPattern: arrival &- timestamp)
        defer { transit = current }
        guard let transit else { return }
        let difference = Int64((current &- transit).magnitude)
        scaledJitter += difference - ((scaledJitter + 8) >> 4)
    }
}
