import EmisoraCore
import EmisoraRTP

/// The bounds that receivers set themselves: REMB's estimates and TMMBR's requests.
///
/// A REMB holds until the next one, TMMBR until it is changed or its receiver has not been heard of for 25 s
/// (RFC 5104 §4.2.1.2 lets it go with its receiver).
package struct ReceiverLimits: Sendable {
    private static let requesterLimit = 64
    /// Five of the longest usual report intervals (RFC 3550 §6.3.5).
    private static let silence: Duration = .seconds(25)

    private struct Request: Sendable {
        var entry: TemporaryMaximumBitrate.Entry
        var heardAt: Instant
    }

    private var requests: [UInt32: Request] = [:]
    /// Whom the last request was for: the source that has to say what became of it.
    private var askedSSRC: UInt32 = 0

    /// `nil` before the first one.
    package private(set) var receiverEstimate: DataRate?
    /// The least of the requests that hold; `nil` without one.
    package private(set) var temporaryMaximum: DataRate?

    package init() {}

    package mutating func handle(_ estimate: ReceiverEstimatedMaximumBitrate) {
        receiverEstimate = estimate.bitrate
    }

    /// Takes a TMMBR, of which entries for other SSRCs than `ours` are ignored, and answers the TMMBN that is to go out:
    /// it names the receivers whose bounds hold (RFC 5104 §4.2.2.2). `nil` if nothing in it was for us.
    package mutating func handle(
        _ request: TemporaryMaximumBitrate, ours: [UInt32], now: Instant
    ) -> TemporaryMaximumBitrate? {
        guard request.kind == .request else { return nil }
        // Of one receiver's bounds for our streams the lowest is taken for the whole path.
        let lowest = request.entries.filter { ours.contains($0.ssrc) }.min { $0.bitrate < $1.bitrate }
        guard var entry = lowest else { return nil }
        askedSSRC = entry.ssrc
        entry.ssrc = request.senderSSRC
        if requests.count < Self.requesterLimit || requests[request.senderSSRC] != nil {
            requests[request.senderSSRC] = Request(entry: entry, heardAt: now)
        }
        refresh(now: now)
        return TemporaryMaximumBitrate(.notification, senderSSRC: askedSSRC, entries: boundingSet)
    }

    /// A receiver was heard of, by whatever report; its request stays.
    package mutating func heard(from ssrc: UInt32, now: Instant) {
        requests[ssrc]?.heardAt = now
    }

    /// A receiver said goodbye. Answers the TMMBN that tells the others, where its bound held.
    package mutating func remove(_ ssrc: UInt32, now: Instant) -> TemporaryMaximumBitrate? {
        notificationOfChange {
            $0.requests[ssrc] = nil
            $0.refresh(now: now)
        }
    }

    /// Lets go of receivers that have long been silent. Answers the TMMBN that tells the others, where one's bound held.
    package mutating func expire(now: Instant) -> TemporaryMaximumBitrate? {
        notificationOfChange { $0.refresh(now: now) }
    }

    package mutating func refresh(now: Instant) {
        requests = requests.filter { now - $0.value.heardAt <= Self.silence }
        temporaryMaximum = requests.values.map(\.entry.bitrate).min()
    }

    private var boundingSet: [TemporaryMaximumBitrate.Entry] { BoundingSet.of(requests.values.map(\.entry)) }

    private mutating func notificationOfChange(_ change: (inout ReceiverLimits) -> Void) -> TemporaryMaximumBitrate? {
        guard !requests.isEmpty else { return nil }
        let before = boundingSet
        change(&self)
        let now = boundingSet
        return now == before ? nil : TemporaryMaximumBitrate(.notification, senderSSRC: askedSSRC, entries: now)
    }
}
