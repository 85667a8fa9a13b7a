import EmisoraCore

/// When a receiver tells of what arrived: 100 ms after the last message, or after 50 ms once there are three packets to
/// tell of. Where so little arrives that the messages would take more than a twentieth of it, as with sound alone, they
/// come more rarely, down to four a second.
struct FeedbackInterval: Sendable {
    private static let longest: Duration = .milliseconds(100)
    private static let shortest: Duration = .milliseconds(50)
    private static let rarest: Duration = .milliseconds(250)
    private static let packetsWorthAMessage = 3
    private static let share = 0.05
    /// A message of the size that media of some hundred kbit/s makes, with its authentication, IP and UDP.
    private static let messageByteCount = 100.0

    private var unreported = 0
    private var lastMessageAt: Instant?
    private var firstUnreportedAt: Instant?
    /// What arrived since `rateBegunAt`, and the rate of the stretch before.
    private var byteCount = 0
    private var rateBegunAt: Instant?
    private var bytesPerSecond: Double?

    /// Counts a packet for the rate.
    mutating func measure(_ added: Int, now: Instant) {
        let begun = rateBegunAt ?? now
        rateBegunAt = begun
        byteCount = byteCount.addingReportingOverflow(max(0, added)).partialValue
        guard now - begun >= .seconds(1) else { return }
        bytesPerSecond = Double(byteCount) / (now - begun).inSeconds
        byteCount = 0
        rateBegunAt = now
    }

    /// There is a further packet to tell of.
    mutating func noteArrival(now: Instant) {
        unreported += 1
        if firstUnreportedAt == nil { firstUnreportedAt = now }
    }

    /// All that arrived has been told of.
    mutating func didReport(now: Instant) {
        lastMessageAt = now
        firstUnreportedAt = nil
        unreported = 0
    }

    /// `nil` while nothing arrived.
    var deadline: Instant? {
        guard let firstUnreportedAt else { return nil }
        guard let lastMessageAt else { return firstUnreportedAt + Self.shortest }
        let isWorthwhile = unreported >= Self.packetsWorthAMessage
        return lastMessageAt + max(affordable, isWorthwhile ? Self.shortest : Self.longest)
    }

    private var affordable: Duration {
        guard let bytesPerSecond else { return .zero }
        let seconds = Self.messageByteCount / max(1, bytesPerSecond * Self.share)
        return min(Self.rarest, .nanoseconds(Int64(min(1, seconds) * 1e9)))
    }
}
