import EmisoraCore

/// Decides when the next packet leaves, and of which kind: sound at once, then retransmissions, then new media.
///
/// A leaky bucket without packets and without timers: the streams keep their packets in order, the pacer says which of
/// them is next. Media leaves in bursts that the pacing rate carries within 5 ms (a timer for each packet would cost more
/// than sending it); sound never waits, but counts.
///
/// ```swift
/// while let kind = pacer.next(of: waiting, inFlightByteCount: adapter.inFlightByteCount, now: now) {
///     let byteCount = streams.send(kind)
///     pacer.didSend(byteCount: byteCount, now: now)
/// }
/// // Wait until pacer.nextDeadline(for: waiting, …).
/// ```
package struct Pacer: Sendable {
    /// What has packets that wait.
    package struct Waiting: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let audio = Waiting(rawValue: 1)
        package static let retransmission = Waiting(rawValue: 2)
        package static let media = Waiting(rawValue: 4)
    }

    package enum Kind: Equatable, Sendable {
        case audio
        case retransmission
        case media
    }

    /// What one burst may take of the path's time.
    package static let burst: Duration = .milliseconds(5)
    /// What a packet is taken for before its size is known.
    private static let packetByteCount = 1_200

    package private(set) var rate: DataRate
    package private(set) var congestionWindow: Int?
    /// When the path will have carried what was sent.
    private var freeAt: Instant = .zero

    package init(rate: DataRate) {
        self.rate = rate
    }

    /// Follows a decision. What was sent before is kept in mind at its own rate.
    package mutating func update(rate: DataRate, congestionWindow: Int?) {
        self.rate = rate
        self.congestionWindow = congestionWindow
    }

    /// What is to leave now; `nil`: nothing, or not yet.
    package func next(of waiting: Waiting, inFlightByteCount: Int, now: Instant) -> Kind? {
        if waiting.contains(.audio) { return .audio }
        guard !waiting.isEmpty, !isBlocked(inFlightByteCount), hasRoom(now: now) else { return nil }
        return waiting.contains(.retransmission) ? .retransmission : .media
    }

    package mutating func didSend(byteCount: Int, now: Instant) {
        freeAt = max(freeAt, now) + duration(of: byteCount)
    }

    /// When ``next(of:inFlightByteCount:now:)`` will say something; `nil` if nothing waits, or only for feedback that
    /// opens the window.
    package func nextDeadline(for waiting: Waiting, inFlightByteCount: Int, now: Instant) -> Instant? {
        if waiting.contains(.audio) { return now }
        guard !waiting.isEmpty, !isBlocked(inFlightByteCount) else { return nil }
        // A whole burst at once rather than each packet as soon as it could.
        return hasRoom(now: now) ? now : freeAt
    }

    private func isBlocked(_ inFlightByteCount: Int) -> Bool {
        congestionWindow.map { inFlightByteCount >= $0 } ?? false
    }

    /// Whether the path is free, or a further packet still fits into the burst.
    private func hasRoom(now: Instant) -> Bool {
        freeAt <= now || (freeAt - now) + duration(of: Self.packetByteCount) <= Self.burst
    }

    private func duration(of byteCount: Int) -> Duration {
        // A rate of zero, as a TMMBR may ask for, lets a packet go every ten seconds.
        let seconds = min(10, Double(max(0, byteCount)) * 8 / Double(max(1, rate.bitsPerSecond)))
        return .nanoseconds(Int64(seconds * 1e9))
    }
}
