import EmisoraCore

/// Transport-wide congestion control feedback: when each packet arrived, by the number that all streams of a transport
/// share (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
///
/// ``TransportFeedbackReceiver`` makes such messages; a sender matches them to what it sent.
package struct TransportWideFeedback: Equatable, Sendable {
    package enum Status: Equatable, Sendable {
        case notReceived
        /// The time since the received packet before, or since the reference time, in units of 250 µs.
        case received(delta: Int16)
        /// The reserved symbol: neither received nor lost, to be ignored.
        case unknown
    }

    /// Resolution of the deltas.
    package static let tick: Duration = .microseconds(250)
    /// Unit of the reference time: 256 ticks.
    package static let referenceTimeTicks: Int64 = 256
    /// Packets one message may tell of here. A run of 8191 costs a sender two bytes, so that without a bound a datagram
    /// could claim millions.
    package static let packetLimit = 0x4000

    package var senderSSRC: UInt32
    package var mediaSSRC: UInt32
    /// The transport-wide number of the first packet; those after it count up, wrapping.
    package var baseSequenceNumber: UInt16
    /// In units of 64 ms on the receiver's clock, modulo 2^24.
    package var referenceTime: UInt32
    /// Counts the messages, wrapping, so that lost ones are noticed.
    package var messageCount: UInt8
    package var packets: [Status]

    package init(
        senderSSRC: UInt32, mediaSSRC: UInt32, baseSequenceNumber: UInt16, referenceTime: UInt32, messageCount: UInt8,
        packets: [Status]
    ) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.baseSequenceNumber = baseSequenceNumber
        self.referenceTime = referenceTime
        self.messageCount = messageCount
        self.packets = packets
    }

    // MARK: Reading

    /// `nil` when the message claims more packets than `limit` or none.
    @_lifetime(reader: copy reader)
    static func parse(
        _ reader: inout ByteReader, limit: Int = packetLimit
    ) throws(ByteError) -> TransportWideFeedback? {
        var message = TransportWideFeedback(
            senderSSRC: try reader.readInteger(), mediaSSRC: try reader.readInteger(),
            baseSequenceNumber: try reader.readInteger(), referenceTime: 0, messageCount: 0, packets: [])
        let count = Int(try reader.readInteger(UInt16.self))
        message.referenceTime = try reader.readUInt24()
        message.messageCount = try reader.readInteger()
        guard count > 0, count <= min(limit, packetLimit) else { return nil }
        // First come all the chunks with a symbol for each packet, then the deltas of those that were received.
        var symbols: [UInt16] = []
        symbols.reserveCapacity(count)
        while symbols.count < count {
            append(chunk: try reader.readInteger(), to: &symbols, limit: count)
        }
        message.packets.reserveCapacity(count)
        for symbol in symbols {
            switch symbol {
            case 0: message.packets.append(.notReceived)
            case 1: message.packets.append(.received(delta: Int16(try reader.readInteger(UInt8.self))))
            case 2: message.packets.append(.received(delta: try reader.readInteger()))
            default: message.packets.append(.unknown)
            }
        }
        return message
    }

    private static func append(chunk: UInt16, to symbols: inout [UInt16], limit: Int) {
        let room = limit - symbols.count
        if chunk & 0x8000 == 0 {
            symbols.append(contentsOf: repeatElement(chunk >> 13 & 3, count: min(Int(chunk & 0x1FFF), room)))
        } else if chunk & 0x4000 == 0 {
            for bit in 0..<min(14, room) { symbols.append(chunk >> (13 - bit) & 1) }
        } else {
            for pair in 0..<min(7, room) { symbols.append(chunk >> (12 - 2 * pair) & 3) }
        }
    }
}

extension TransportWideFeedback: RTCPMessage {
    package var packetType: RTCPPacketType { .transportFeedback }
    package var format: UInt8 { 15 }

    package func bodyWordCount() throws(RTPError) -> Int {
        guard (1...Self.packetLimit).contains(packets.count), referenceTime < 1 << 24 else {
            throw .valueOutOfRange(field: "transport-wide feedback's packet count or reference time")
        }
        var byteCount = 16
        forEachChunk { _ in byteCount += 2 }
        for case .received(let delta) in packets { byteCount += Self.isSmall(delta) ? 1 : 2 }
        return (byteCount + 3) / 4
    }

    @_lifetime(writer: copy writer)
    package func writeBody(to writer: inout ByteWriter) throws(ByteError) {
        let start = writer.count
        try writer.writeInteger(senderSSRC)
        try writer.writeInteger(mediaSSRC)
        try writer.writeInteger(baseSequenceNumber)
        try writer.writeInteger(UInt16(packets.count))
        try writer.writeUInt24(referenceTime)
        try writer.writeInteger(messageCount)
        var chunks: [UInt16] = []
        forEachChunk { chunks.append($0) }
        for chunk in chunks { try writer.writeInteger(chunk) }
        for case .received(let delta) in packets {
            if Self.isSmall(delta) {
                try writer.writeInteger(UInt8(delta))
            } else {
                try writer.writeInteger(delta)
            }
        }
        try writer.writeZeros((4 - (writer.count - start) % 4) % 4)
    }

    private static func isSmall(_ delta: Int16) -> Bool { (0...255).contains(delta) }

    private func symbol(at index: Int) -> UInt16 {
        switch packets[index] {
        case .notReceived: 0
        case .received(let delta): Self.isSmall(delta) ? 1 : 2
        case .unknown: 3
        }
    }

    /// The chunks, greedily: a run where it is at least as short as a vector, else the vector that takes the most.
    private func forEachChunk(_ body: (UInt16) -> Void) {
        var position = 0
        while position < packets.count {
            let remaining = packets.count - position
            let first = symbol(at: position)
            var run = 1
            while run < min(remaining, 0x1FFF), symbol(at: position + run) == first { run += 1 }
            var isOneBit = true
            for offset in 0..<min(14, remaining) where symbol(at: position + offset) > 1 { isOneBit = false }
            let capacity = isOneBit ? 14 : 7
            if run >= min(capacity, remaining) {
                body(first << 13 | UInt16(run))
                position += run
                continue
            }
            var chunk: UInt16 = isOneBit ? 0x8000 : 0xC000
            let taken = min(capacity, remaining)
            for offset in 0..<taken {
                chunk |= symbol(at: position + offset) << (isOneBit ? 13 - offset : 12 - 2 * offset)
            }
            body(chunk)
            position += taken
        }
    }
}
