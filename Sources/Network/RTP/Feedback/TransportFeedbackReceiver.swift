import EmisoraCore

/// The receiving side of transport-wide feedback: notes when packets arrive and tells the sender of them, 10 to 20 times
/// a second (draft-holmer-rmcat-transport-wide-cc-extensions-01).
///
/// A message begins where the last one ended; a packet that came late is told of again with all that followed it.
///
/// ```swift
/// receiver.handle(sequenceNumber: number, mediaSSRC: header.ssrc, byteCount: packet.byteCount, now: now)
/// while let feedback = receiver.pollFeedback(senderSSRC: ours, now: now) { try writer.write(feedback) }
/// ```
package struct TransportFeedbackReceiver: Sendable {
    /// How long arrivals are kept to be told of again.
    private static let memory: Duration = .milliseconds(500)
    private static let arrivalLimit = 2_048
    /// So that a message, at worst two bytes of delta for each, stays within a datagram.
    private static let receivedLimit = 400
    /// A stretch longer than this without an arrival is given up rather than reported lost packet by packet.
    private static let gapLimit: Int64 = 0x2000

    private struct Arrival: Sendable {
        var number: Int64
        var at: Instant
    }

    private var unwrapper = SequenceUnwrapper()
    /// Ascending by number.
    private var arrivals: [Arrival] = []
    /// The first number that no message told of.
    private var next: Int64?
    private var interval = FeedbackInterval()
    private var mediaSSRC: UInt32 = 0
    private var messageCount: UInt8 = 0

    package init() {}

    /// Takes an authenticated packet's transport-wide number.
    package mutating func handle(sequenceNumber: UInt16, mediaSSRC: UInt32, byteCount: Int, now: Instant) {
        interval.measure(byteCount, now: now)
        let number = unwrapper.unwrap(sequenceNumber)
        self.mediaSSRC = mediaSSRC
        var position = arrivals.count
        while position > 0, arrivals[position - 1].number >= number { position -= 1 }
        // The first arrival counts.
        if position < arrivals.count, arrivals[position].number == number { return }
        if let next, number < next {
            // Older than what is remembered: the sender has long given it up.
            guard let oldest = arrivals.first, number > oldest.number else { return }
            self.next = number
        } else if let next, number - next > Self.gapLimit {
            self.next = number
        } else if next == nil {
            next = number
        }
        arrivals.insert(Arrival(number: number, at: now), at: position)
        if arrivals.count > Self.arrivalLimit { arrivals.removeFirst() }
        interval.noteArrival(now: now)
    }

    /// When ``pollFeedback(senderSSRC:now:)`` has something to tell; `nil` while nothing arrived.
    package var nextDeadline: Instant? { interval.deadline }

    /// The message that is due, `nil` without one; call until it is `nil`, since one may not hold all.
    package mutating func pollFeedback(senderSSRC: UInt32, now: Instant) -> TransportWideFeedback? {
        guard let deadline = nextDeadline, deadline <= now, let oldest = next,
            let first = arrivals.firstIndex(where: { $0.number >= oldest })
        else { return nil }
        let base = max(oldest, arrivals[first].number - Self.gapLimit)
        let tick = TransportWideFeedback.tick.nanoseconds
        let ticks = arrivals[first].at.nanoseconds / tick
        let reference = ticks / TransportWideFeedback.referenceTimeTicks
        var message = TransportWideFeedback(
            senderSSRC: senderSSRC, mediaSSRC: mediaSSRC,
            baseSequenceNumber: UInt16(truncatingIfNeeded: base),
            referenceTime: UInt32(truncatingIfNeeded: reference) & 0xFF_FFFF, messageCount: messageCount, packets: [])
        var previous = reference * TransportWideFeedback.referenceTimeTicks
        var number = base
        var index = first
        while index < arrivals.count, index - first < Self.receivedLimit {
            let arrival = arrivals[index]
            let at = arrival.at.nanoseconds / tick
            guard let delta = Int16(exactly: at - previous), arrival.number - base <= Self.gapLimit else { break }
            message.packets.append(contentsOf: repeatElement(.notReceived, count: Int(arrival.number - number)))
            message.packets.append(.received(delta: delta))
            previous = at
            number = arrival.number + 1
            index += 1
        }
        messageCount &+= 1
        next = number
        // What is left over goes into the next message at once; a deadline that has passed stays passed.
        if index == arrivals.count {
            interval.didReport(now: now)
            arrivals.removeAll { now - $0.at > Self.memory }
        }
        return message
    }
}
