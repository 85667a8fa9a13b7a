import EmisoraCore

/// RTCP congestion control feedback: arrival and ECN mark of each packet, by SSRC and sequence number (RFC 8888 §3.1).
package struct CongestionControlFeedback: Equatable, Sendable {
    /// One packet, or `nil` in a block's list for one that did not arrive.
    package struct Arrival: Equatable, Sendable {
        /// Of the IP header: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE.
        package var ecn: UInt8
        /// How long before the report's timestamp the packet arrived, in 1/1024 s: up to 8189. 0x1FFE: longer ago;
        /// 0x1FFF: not known.
        package var timeOffset: UInt16

        package init(ecn: UInt8, timeOffset: UInt16) {
            self.ecn = ecn
            self.timeOffset = timeOffset
        }

        /// How long before the report's timestamp, `nil` where the message does not say.
        package var age: Duration? {
            timeOffset >= 0x1FFE ? nil : .nanoseconds(Int64(timeOffset) * 1_000_000_000 / 1024)
        }
    }

    package struct Block: Equatable, Sendable {
        package var ssrc: UInt32
        package var beginSequenceNumber: UInt16
        /// Of the packets from there on, wrapping.
        package var packets: [Arrival?]

        package init(ssrc: UInt32, beginSequenceNumber: UInt16, packets: [Arrival?]) {
            self.ssrc = ssrc
            self.beginSequenceNumber = beginSequenceNumber
            self.packets = packets
        }
    }

    /// What a block may tell of (§3.1: at most 16384 reports).
    package static let packetLimit = 0x4000

    package var senderSSRC: UInt32
    package var blocks: [Block]
    /// The middle 32 bits of the receiver's NTP time when it sent this.
    package var timestamp: UInt32

    package init(senderSSRC: UInt32, blocks: [Block], timestamp: UInt32) {
        self.senderSSRC = senderSSRC
        self.blocks = blocks
        self.timestamp = timestamp
    }

    /// Each packet costs two bytes of the datagram, so that the datagram itself bounds what is kept. `nil` when a block
    /// claims more than the RFC allows.
    @_lifetime(reader: copy reader)
    static func parse(_ reader: inout ByteReader) throws(ByteError) -> CongestionControlFeedback? {
        var message = CongestionControlFeedback(senderSSRC: try reader.readInteger(), blocks: [], timestamp: 0)
        while reader.remaining >= 12 {
            let ssrc: UInt32 = try reader.readInteger()
            let begin: UInt16 = try reader.readInteger()
            let count = Int(try reader.readInteger(UInt16.self))
            guard count <= packetLimit else { return nil }
            // The timestamp is still to come after the last block.
            let padded = count + count % 2
            guard reader.remaining >= 2 * padded + 4 else {
                throw .truncated(needed: 2 * padded + 4, available: reader.remaining)
            }
            var packets: [Arrival?] = []
            packets.reserveCapacity(count)
            for _ in 0..<count {
                let field: UInt16 = try reader.readInteger()
                let isReceived = field & 0x8000 != 0
                packets.append(
                    isReceived ? Arrival(ecn: UInt8(field >> 13 & 3), timeOffset: field & 0x1FFF) : nil)
            }
            try reader.skip(2 * (padded - count))
            message.blocks.append(Block(ssrc: ssrc, beginSequenceNumber: begin, packets: packets))
        }
        message.timestamp = try reader.readInteger()
        return message
    }
}

extension CongestionControlFeedback: RTCPMessage {
    package var packetType: RTCPPacketType { .transportFeedback }
    package var format: UInt8 { 11 }

    package func bodyWordCount() throws(RTPError) -> Int {
        guard blocks.allSatisfy({ $0.packets.count <= Self.packetLimit }) else {
            throw .valueOutOfRange(field: "congestion control feedback's block")
        }
        return 2 + blocks.reduce(0) { $0 + 2 + ($1.packets.count + 1) / 2 }
    }

    @_lifetime(writer: copy writer)
    package func writeBody(to writer: inout ByteWriter) throws(ByteError) {
        try writer.writeInteger(senderSSRC)
        for block in blocks {
            try writer.writeInteger(block.ssrc)
            try writer.writeInteger(block.beginSequenceNumber)
            try writer.writeInteger(UInt16(block.packets.count))
            for packet in block.packets {
                let field = packet.map { 0x8000 | UInt16($0.ecn & 3) << 13 | min($0.timeOffset, 0x1FFF) }
                try writer.writeInteger(field ?? 0)
            }
            try writer.writeZeros(block.packets.count % 2 * 2)
        }
        try writer.writeInteger(timestamp)
    }
}
