import EmisoraCore

/// Generic NACK: packets that a receiver misses (RFC 4585 §6.2.1).
package struct GenericNACK: Equatable, Sendable {
    /// What one feedback message may ask for here; a message that asks for more is read up to it.
    package static let sequenceNumberLimit = 2048

    package var senderSSRC: UInt32
    package var mediaSSRC: UInt32
    /// In the order of the message; written in pairs of a number and a bitmask of the sixteen after it, wrapping.
    package var sequenceNumbers: [UInt16]

    package init(senderSSRC: UInt32, mediaSSRC: UInt32, sequenceNumbers: [UInt16]) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.sequenceNumbers = sequenceNumbers
    }

    /// One PID with its BLP.
    struct Item {
        var packetID: UInt16
        var lostPackets: UInt16 = 0
    }

    /// The fewest items for numbers that ascend, wrapping. Descending numbers only cost more items.
    var items: [Item] {
        var items: [Item] = []
        for number in sequenceNumbers {
            if let last = items.last {
                let distance = number &- last.packetID
                if distance == 0 { continue }
                if distance <= 16 {
                    items[items.count - 1].lostPackets |= 1 << (distance - 1)
                    continue
                }
            }
            items.append(Item(packetID: number))
        }
        return items
    }
}

/// PLI: the receiver cannot go on without a key frame (RFC 4585 §6.3.1).
package struct PictureLossIndication: Equatable, Sendable {
    package var senderSSRC: UInt32
    package var mediaSSRC: UInt32

    package init(senderSSRC: UInt32, mediaSSRC: UInt32) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }
}

/// FIR: a command to send a key frame (RFC 5104 §4.3.1).
package struct FullIntraRequest: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        /// The media sender that is asked.
        package var ssrc: UInt32
        /// Grows with each new command; the same number again repeats the command.
        package var sequenceNumber: UInt8

        package init(ssrc: UInt32, sequenceNumber: UInt8) {
            self.ssrc = ssrc
            self.sequenceNumber = sequenceNumber
        }
    }

    package var senderSSRC: UInt32
    package var entries: [Entry]

    package init(senderSSRC: UInt32, entries: [Entry]) {
        self.senderSSRC = senderSSRC
        self.entries = entries
    }
}

/// REMB: the rate that a receiver believes its path can carry (draft-alvestrand-rmcat-remb-03 §2.2).
package struct ReceiverEstimatedMaximumBitrate: Equatable, Sendable {
    package var senderSSRC: UInt32
    /// For all of `sources` together. The message holds 18 significant bits; writing rounds down.
    package var bitrate: DataRate
    package var sources: [UInt32]

    package init(senderSSRC: UInt32, bitrate: DataRate, sources: [UInt32]) {
        self.senderSSRC = senderSSRC
        self.bitrate = bitrate
        self.sources = sources
    }
}
