import EmisoraCore

/// What became of one packet.
package struct PacketResult: Equatable, Sendable {
    /// Counts all packets of the transport in the order in which they were sent.
    package var number: Int64
    package var sentAt: Instant
    package var byteCount: Int
    /// When it arrived, on the peer's clock, which has an origin of its own; `nil`: it did not.
    package var arrival: Duration?
    /// An earlier message said that it did not arrive.
    package var wasTakenForLost: Bool

    package init(number: Int64, sentAt: Instant, byteCount: Int, arrival: Duration?, wasTakenForLost: Bool = false) {
        self.number = number
        self.sentAt = sentAt
        self.byteCount = byteCount
        self.arrival = arrival
        self.wasTakenForLost = wasTakenForLost
    }
}

/// What one feedback message says, in the order of sending.
package struct TransportFeedback: Equatable, Sendable {
    package var receivedAt: Instant
    package var packets: [PacketResult]
    /// Bytes still on their way after it.
    package var inFlightByteCount: Int

    package init(receivedAt: Instant, packets: [PacketResult], inFlightByteCount: Int = 0) {
        self.receivedAt = receivedAt
        self.packets = packets
        self.inFlightByteCount = inFlightByteCount
    }
}
