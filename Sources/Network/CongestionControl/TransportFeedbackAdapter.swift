import EmisoraCore
import EmisoraRTP

/// The sending side of transport feedback: numbers packets as they leave, and turns the peer's messages into what became
/// of each of them.
///
/// It understands transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01) and, for packets whose
/// SSRC and sequence number it was told, RFC 8888.
///
/// ```swift
/// values.transportSequenceNumber = adapter.packetSent(byteCount: size, ssrc: ssrc, sequenceNumber: number, now: now)
/// …
/// control.handle(adapter.handle(feedback, now: now), now: now)
/// ```
package struct TransportFeedbackAdapter: Sendable {
    /// Packets without feedback are forgotten after that time: whatever is said of them then is of no use.
    private static let memory: Duration = .seconds(10)
    /// A quarter of the numbers, so that a number names one packet.
    private static let packetLimit = 0x4000
    /// What is older and without feedback no longer counts as being on its way, so that a peer that falls silent does not
    /// block the sender for ever.
    private static let flightLimit: Duration = .seconds(1)

    private enum Fate: Sendable {
        case inFlight
        case lost
        case received
    }

    private struct Record: Sendable {
        var sentAt: Instant
        var byteCount: Int
        var key: UInt64
        var fate = Fate.inFlight
    }

    /// Of consecutive numbers, the first is `base`.
    private var records: [Record] = []
    private var base: Int64 = 0
    /// Records before this index no longer count as in flight.
    private var flightStart = 0
    private var numbersByKey: [UInt64: Int64] = [:]
    /// The peer's reference time without wrapping, in units of 64 ms.
    private var referenceTime: Int64?
    /// The peer's NTP time of an RFC 8888 report without wrapping, in 1/65536 s.
    private var reportTime: Int64?
    private var nextMessageCount: UInt8?

    /// Bytes that were sent and not yet told of, of the last second.
    package private(set) var inFlightByteCount = 0
    /// Feedback messages that the path lost, as their counter tells.
    package private(set) var messagesLost: UInt64 = 0

    package init() {}

    /// The number that the next packet will get, for those who have to write it before they know the packet's size.
    package var nextNumber: UInt16 { UInt16(truncatingIfNeeded: base + Int64(records.count)) }

    /// Notes a packet that leaves now and gives the number to write into it.
    ///
    /// - Parameter byteCount: What it takes of the path, as ``CongestionControl`` is to count it: the whole RTP packet.
    @discardableResult
    package mutating func packetSent(byteCount: Int, ssrc: UInt32, sequenceNumber: UInt16, now: Instant) -> UInt16 {
        expire(now: now)
        let number = base + Int64(records.count)
        let key = UInt64(ssrc) << 16 | UInt64(sequenceNumber)
        records.append(Record(sentAt: now, byteCount: max(0, byteCount), key: key))
        numbersByKey[key] = number
        inFlightByteCount += max(0, byteCount)
        return UInt16(truncatingIfNeeded: number)
    }

    /// What a transport-wide message says of packets that nothing was known of, or that were taken for lost.
    package mutating func handle(_ feedback: TransportWideFeedback, now: Instant) -> TransportFeedback {
        expire(now: now)
        if let expected = nextMessageCount { messagesLost += UInt64(feedback.messageCount &- expected) % 128 }
        nextMessageCount = feedback.messageCount &+ 1
        let reference = unwrapReferenceTime(feedback.referenceTime)
        var result = TransportFeedback(receivedAt: now, packets: [])
        // The number is the one nearest to the newest that was sent; what would lie beyond it was never sent.
        let newest = base + Int64(records.count) - 1
        var number =
            newest &+ Int64(Int16(bitPattern: feedback.baseSequenceNumber &- UInt16(truncatingIfNeeded: newest)))
        var ticks = reference &* TransportWideFeedback.referenceTimeTicks
        for status in feedback.packets {
            switch status {
            case .received(let delta):
                ticks &+= Int64(delta)
                settle(number, arrival: .nanoseconds(ticks &* TransportWideFeedback.tick.nanoseconds), &result)
            case .notReceived: settle(number, arrival: nil, &result)
            case .unknown: break
            }
            number += 1
        }
        result.inFlightByteCount = inFlightByteCount
        return result
    }

    /// What an RFC 8888 message says of packets that nothing was known of, or that were taken for lost.
    package mutating func handle(_ feedback: CongestionControlFeedback, now: Instant) -> TransportFeedback {
        expire(now: now)
        let last = reportTime ?? Int64(feedback.timestamp)
        let time = last + Int64(Int32(bitPattern: feedback.timestamp &- UInt32(truncatingIfNeeded: last)))
        reportTime = max(last, time)
        let sentByPeerAt = Duration.nanoseconds((time &* 1_000_000_000) >> 16)
        var result = TransportFeedback(receivedAt: now, packets: [])
        for block in feedback.blocks {
            var sequenceNumber = block.beginSequenceNumber
            for packet in block.packets {
                let key = UInt64(block.ssrc) << 16 | UInt64(sequenceNumber)
                sequenceNumber &+= 1
                guard let number = numbersByKey[key] else { continue }
                if let packet {
                    // Without a time it did arrive, but says nothing of the delay.
                    guard let age = packet.age else { continue }
                    settle(number, arrival: sentByPeerAt - age, &result)
                } else {
                    settle(number, arrival: nil, &result)
                }
            }
        }
        // Packets of several streams come in one order to the estimator: that in which they were sent.
        result.packets.sort { $0.number < $1.number }
        result.inFlightByteCount = inFlightByteCount
        return result
    }

    // MARK: Inside

    private mutating func settle(_ number: Int64, arrival: Duration?, _ result: inout TransportFeedback) {
        let index = Int(clamping: number - base)
        guard records.indices.contains(index), records[index].fate != .received else { return }
        let before = records[index].fate
        if arrival == nil && before == .lost { return }
        records[index].fate = arrival == nil ? .lost : .received
        if before == .inFlight && index >= flightStart { inFlightByteCount -= records[index].byteCount }
        result.packets.append(
            PacketResult(
                number: number, sentAt: records[index].sentAt, byteCount: records[index].byteCount, arrival: arrival,
                wasTakenForLost: before == .lost))
    }

    private mutating func unwrapReferenceTime(_ value: UInt32) -> Int64 {
        guard let last = referenceTime else {
            referenceTime = Int64(value)
            return Int64(value)
        }
        // Signed distance in 24 bits: shifted up and back down to carry the sign.
        let distance = Int32(bitPattern: (value &- UInt32(truncatingIfNeeded: last)) << 8) >> 8
        let unwrapped = last + Int64(distance)
        referenceTime = max(last, unwrapped)
        return unwrapped
    }

    private mutating func expire(now: Instant) {
        while flightStart < records.count, now - records[flightStart].sentAt > Self.flightLimit {
            if records[flightStart].fate == .inFlight { inFlightByteCount -= records[flightStart].byteCount }
            flightStart += 1
        }
        // In bulk, since removing from the front moves all the rest.
        var expired = 0
        while expired < flightStart,
            now - records[expired].sentAt > Self.memory || records.count - expired > Self.packetLimit
        {
            expired += 1
        }
        // The limit holds also where so much is sent within a second.
        let isFull = records.count >= 2 * Self.packetLimit - 1
        if isFull { expired = max(expired, records.count - Self.packetLimit) }
        guard expired >= 256 || isFull else { return }
        for index in 0..<expired {
            if index >= flightStart, records[index].fate == .inFlight { inFlightByteCount -= records[index].byteCount }
            let key = records[index].key
            if numbersByKey[key] == base + Int64(index) { numbersByKey[key] = nil }
        }
        records.removeFirst(expired)
        base += Int64(expired)
        flightStart = max(0, flightStart - expired)
    }
}
