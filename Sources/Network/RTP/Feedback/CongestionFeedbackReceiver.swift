import EmisoraCore

/// The receiving side of RFC 8888: notes when packets of each source arrive and tells the sender of them, 10 to 20 times
/// a second.
///
/// Each message tells of the packets since the last one and of as many before, since messages get lost, too.
///
/// ```swift
/// receiver.handle(ssrc: header.ssrc, sequenceNumber: header.sequenceNumber, byteCount: packet.byteCount, now: now)
/// if let feedback = receiver.pollFeedback(senderSSRC: ours, wallClock: wallClock, now: now) { try writer.write(feedback) }
/// ```
package struct CongestionFeedbackReceiver: Sendable {
    /// Media, its retransmissions and its parity packets, of sound and pictures, with as many again after a change.
    private static let sourceLimit = 12
    /// Of one source in one message, so that all of them stay within a datagram.
    fileprivate static let packetLimit: Int64 = 192
    private static let messagePacketLimit = 480
    /// One that is silent for that long is told of no more.
    private static let sourceTimeout: Duration = .seconds(5)

    /// What is further behind is a source that began anew under its old number.
    fileprivate static let restartDistance: Int64 = 3_000

    fileprivate struct Source: Sendable {
        var ssrc: UInt32
        var unwrapper = SequenceUnwrapper()
        var arrivals: [Int64: Instant] = [:]
        var highest: Int64?
        /// Where the last message began, and the number behind its last one.
        var toldFrom: Int64?
        var told: Int64?
        var lastArrivalAt: Instant
    }

    private var sources: [Source] = []
    private var interval = FeedbackInterval()

    package init() {}

    /// Takes an authenticated packet.
    package mutating func handle(ssrc: UInt32, sequenceNumber: UInt16, byteCount: Int, now: Instant) {
        interval.measure(byteCount, now: now)
        guard let index = index(of: ssrc, now: now) else { return }
        if sources[index].note(sequenceNumber, now: now) { interval.noteArrival(now: now) }
    }

    /// When ``pollFeedback(senderSSRC:wallClock:now:)`` has something to tell; `nil` while nothing arrived.
    package var nextDeadline: Instant? { interval.deadline }

    /// The message that is due, `nil` without one.
    package mutating func pollFeedback(
        senderSSRC: UInt32, wallClock: WallClock, now: Instant
    ) -> CongestionControlFeedback? {
        guard let deadline = interval.deadline, deadline <= now else { return nil }
        interval.didReport(now: now)
        var message = CongestionControlFeedback(
            senderSSRC: senderSSRC, blocks: [], timestamp: wallClock.ntp(at: now).middle32)
        var room = Self.messagePacketLimit
        for index in sources.indices {
            guard let block = sources[index].block(limit: min(Self.packetLimit, Int64(room)), now: now) else {
                continue
            }
            room -= block.packets.count
            message.blocks.append(block)
        }
        return message.blocks.isEmpty ? nil : message
    }

    private mutating func index(of ssrc: UInt32, now: Instant) -> Int? {
        if let index = sources.firstIndex(where: { $0.ssrc == ssrc }) { return index }
        sources.removeAll { now - $0.lastArrivalAt > Self.sourceTimeout }
        guard sources.count < Self.sourceLimit else { return nil }
        sources.append(Source(ssrc: ssrc, lastArrivalAt: now))
        return sources.count - 1
    }
}

extension CongestionFeedbackReceiver.Source {
    /// Whether there is something new to tell: the first arrival of a packet counts, and what is older than a message
    /// goes back has long been given up.
    fileprivate mutating func note(_ sequenceNumber: UInt16, now: Instant) -> Bool {
        var number = unwrapper.unwrap(sequenceNumber)
        if let highest, number < highest - CongestionFeedbackReceiver.restartDistance {
            self = Self(ssrc: ssrc, lastArrivalAt: now)
            number = unwrapper.unwrap(sequenceNumber)
        }
        lastArrivalAt = now
        let newest = max(highest ?? number, number)
        let floor = newest - CongestionFeedbackReceiver.packetLimit
        guard arrivals[number] == nil, number > floor else { return false }
        arrivals[number] = now
        highest = newest
        if arrivals.count > 2 * Int(CongestionFeedbackReceiver.packetLimit) {
            arrivals = arrivals.filter { $0.key > floor }
        }
        return true
    }

    /// From where the message before the last ended to the newest; `nil` when nothing came since.
    fileprivate mutating func block(limit: Int64, now: Instant) -> CongestionControlFeedback.Block? {
        guard let oldest = arrivals.keys.min(), let highest, limit > 0 else { return nil }
        let end = highest + 1
        if let told, told == end, toldFrom == told { return nil }
        let begin = max(toldFrom ?? oldest, end - limit)
        guard begin < end else { return nil }
        let packets = (begin..<end).map { number in
            arrivals[number].map { CongestionControlFeedback.Arrival(ecn: 0, timeOffset: Self.offset(now - $0)) }
        }
        toldFrom = told ?? begin
        told = end
        arrivals = arrivals.filter { $0.key >= begin }
        return CongestionControlFeedback.Block(
            ssrc: ssrc, beginSequenceNumber: UInt16(truncatingIfNeeded: begin), packets: packets)
    }

    /// In 1/1024 s; 0x1FFE stands for all that is longer.
    private static func offset(_ age: Duration) -> UInt16 {
        UInt16(clamping: min(0x1FFE, max(0, age.nanoseconds * 1_024 / 1_000_000_000)))
    }
}
