import EmisoraCore
import EmisoraRTP

/// A receiver's side of TMMBR: asks a sender to keep to a limit until it has heard so, follows the limit as it changes,
/// and lets the sender go (RFC 5104 §4.2.1, §4.2.2).
///
/// ```
///            limit          TMMBN names us, or others whose limits are stricter
///   free ───────────▶ asked ───────────────────────────────────────────────▶ settled
///     ▲                 ▲          another limit, or a TMMBN without us           │
///     │                 └─────────────────────────────────────────────────────────┤
///     └── TMMBN ──────── asked for more than any session's ◀──────────── no limit ┘
/// ```
///
/// The first request goes at once, and one for notably less; all others and repetitions wait for a regular report
/// (§4.2.1.3).
///
/// ```swift
/// requester.follow(limit, of: mediaSSRC)
/// if let entry = requester.pollEntry(isRegular: true, ours: ssrc) { … write a TMMBR … }
/// requester.handle(notification, ours: ssrc)
/// ```
package struct TemporaryMaximumRequester: Sendable {
    package typealias Limit = BoundingSet.Limit

    /// More than any stream has, in few bits: what a receiver asks for that has no limit any more.
    package static let release: DataRate = .bitsPerSecond(1 << 29)
    private static let notableDrop = 0.97
    private static let notableRise = 1.03
    private static let notableOverhead = 4

    /// The limit as it is now; its SSRC is the sender's.
    private var wanted: Limit?
    /// What was asked for last.
    private var asked: Limit?
    private var isAnswered = false
    /// The limits that bind the sender as far as it said so, by who asked for them.
    private var known: [Limit] = []

    package init() {}

    /// A limit was asked for, and not let go of since.
    package var isLimiting: Bool { asked.map { $0.bitrate < Self.release } ?? false }

    /// Takes what the sender is to keep to from now on; `nil`: nothing.
    ///
    /// - Parameter overhead: bytes of headers on each packet, as `bitrate` counts them.
    package mutating func follow(_ bitrate: DataRate?, overhead: Int, of mediaSSRC: UInt32) {
        // Limits are of a source: another one has none yet.
        if let asked, asked.ssrc != mediaSSRC { self = TemporaryMaximumRequester() }
        let isBound = bitrate.map { $0 < Self.release } ?? false
        guard isBound || asked != nil else {
            wanted = nil
            return
        }
        let limit = Limit(
            ssrc: mediaSSRC, bitrate: max(.bitsPerSecond(0), min(Self.release, bitrate ?? Self.release)),
            overhead: UInt16(clamping: min(0x1FF, max(0, overhead))))
        // As it arrives, since that is what it is compared with.
        wanted = limit.asWritten
    }

    /// Takes the sender's word on whose limits bind it.
    package mutating func handle(_ notification: TemporaryMaximumBitrate, ours: UInt32) {
        guard notification.kind == .notification, let asked, asked.ssrc == notification.senderSSRC else { return }
        known = notification.entries
        let own = known.first { $0.ssrc == ours }
        // Named with another limit, it is the answer to a request before.
        // Who asked for more than any stream has need not be named.
        let isReleased = asked.bitrate >= Self.release
        isAnswered =
            own.map { $0.bitrate == asked.bitrate && $0.overhead == asked.overhead }
            ?? (isReleased || !binds(asked, ours))
        if isAnswered, isReleased {
            self.asked = nil
            wanted = nil
        }
    }

    /// Whether a request cannot wait for the next regular report.
    package func isUrgent(ours: UInt32) -> Bool {
        guard let wanted, needsToAsk(ours: ours) else { return false }
        guard let asked else { return true }
        return Double(wanted.bitrate.bitsPerSecond) < Double(asked.bitrate.bitsPerSecond) * Self.notableDrop
    }

    /// The request that is to go out now, if one is.
    ///
    /// - Parameter isRegular: it would go with a regular report.
    package mutating func pollEntry(isRegular: Bool, ours: UInt32) -> Limit? {
        guard isRegular ? needsToAsk(ours: ours) : isUrgent(ours: ours), let wanted else { return nil }
        asked = wanted
        isAnswered = false
        return wanted
    }

    private func needsToAsk(ours: UInt32) -> Bool {
        guard let wanted else { return false }
        guard let asked else { return binds(wanted, ours) }
        guard isAnswered, !differs(wanted, from: asked) else {
            // Who is bound by others' limits alone has nothing to say; who is named has to say what changed.
            return known.contains { $0.ssrc == ours } || binds(wanted, ours)
        }
        return false
    }

    private func differs(_ limit: Limit, from other: Limit) -> Bool {
        let before = Double(other.bitrate.bitsPerSecond)
        let now = Double(limit.bitrate.bitsPerSecond)
        return now < before * Self.notableDrop || now > before * Self.notableRise
            || abs(Int(limit.overhead) - Int(other.overhead)) >= Self.notableOverhead
    }

    private func binds(_ limit: Limit, _ ours: UInt32) -> Bool {
        BoundingSet.binds(limit, beside: known.filter { $0.ssrc != ours })
    }
}
