/// Why an encoded frame was not sent to a subscriber. Raw values are the names in statistics.
public enum NotSentReason: String, CaseIterable, Hashable, Sendable {
    /// The subscriber's transport is not connected yet, or lost its consent.
    case notConnected
    /// The subscriber does not receive this kind of media.
    case notNegotiated
    /// The subscriber cannot decode before the next key frame.
    case awaitingKeyFrame
    /// The queue between encoder and network overflowed.
    case queueFull
    /// The path to this subscriber has no room at the present rate.
    case congestion
    /// The subscriber does not want this track now.
    case paused
    /// The subscriber left before it was sent.
    case closed
    /// The operating system refused to send.
    case sendFailed
    /// The subscriber can decode no pictures of this size or rate, or none that lie like this one.
    case unsuitable

    var index: Int {
        switch self {
        case .notConnected: 0
        case .awaitingKeyFrame: 1
        case .queueFull: 2
        case .congestion: 3
        case .paused: 4
        case .closed: 5
        case .sendFailed: 6
        case .notNegotiated: 7
        case .unsuitable: 8
        }
    }
}

/// What became of the encoded frames of one encoding on their way to one subscriber:
///
///     encoded = sent + Σ notSent by reason + inFlight
///
/// Counting starts when the subscriber joins.
public struct DeliveryLedger: Hashable, Sendable {
    /// Frames the encoder made since the subscriber joined.
    public private(set) var encoded = 0
    /// Frames whose last packet went out.
    public private(set) var sent = 0
    private var missed = [Int](repeating: 0, count: NotSentReason.allCases.count)

    public init() {}

    /// Encoded, and neither sent nor given up yet.
    public var inFlight: Int { encoded - sent - notSent }
    /// Frames not sent for `reason`.
    public func notSent(_ reason: NotSentReason) -> Int { missed[reason.index] }
    /// Frames not sent, for all reasons together.
    public var notSent: Int { missed.reduce(0, +) }

    /// The reasons that occurred, with their counts.
    public var notSentByReason: [NotSentReason: Int] {
        var counts: [NotSentReason: Int] = [:]
        for reason in NotSentReason.allCases where notSent(reason) > 0 { counts[reason] = notSent(reason) }
        return counts
    }

    /// Whether no frame has more than one fate. False only by a mistake in this library.
    public var isBalanced: Bool { inFlight >= 0 }

    package mutating func recordEncoded() { encoded += 1 }
    package mutating func recordSent() { sent += 1 }
    package mutating func recordNotSent(_ reason: NotSentReason, count: Int = 1) { missed[reason.index] += count }

    /// Takes another subscriber's counts into these.
    package mutating func add(_ other: DeliveryLedger) {
        encoded += other.encoded
        sent += other.sent
        for index in missed.indices { missed[index] += other.missed[index] }
    }
}
