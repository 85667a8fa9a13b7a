import EmisoraCore

/// What ``CongestionControl`` answers.
package struct CongestionDecision: Equatable, Sendable {
    /// What the rate depends on at the moment, for statistics and logs.
    package enum Reason: String, Equatable, Sendable {
        /// Nothing is known yet.
        case start
        /// Nothing speaks against more.
        case increase
        case loss
        /// Packets wait longer and longer, or for long, in a queue on the way.
        case delay
        case receiverEstimate
        case temporaryMaximum
        /// The peer says nothing.
        case silence
        case ceiling
    }

    /// For all media together, with RTP headers, retransmissions included.
    package var targetBitrate: DataRate
    package var pacingRate: DataRate
    /// Bytes that may be on their way; `nil`: not bounded.
    package var congestionWindow: Int?
    package var reason: Reason

    package init(targetBitrate: DataRate, pacingRate: DataRate, congestionWindow: Int?, reason: Reason) {
        self.targetBitrate = targetBitrate
        self.pacingRate = pacingRate
        self.congestionWindow = congestionWindow
        self.reason = reason
    }
}

/// What a receiver's reports say since the ones before, over all our streams.
package struct LossReport: Equatable, Sendable {
    package var receivedAt: Instant
    /// Negative with duplicates.
    package var lost: Int
    /// Lost and received ones.
    package var expected: Int

    package init(receivedAt: Instant, lost: Int, expected: Int) {
        self.receivedAt = receivedAt
        self.lost = lost
        self.expected = expected
    }
}
