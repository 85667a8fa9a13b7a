import EmisoraCore

/// The rate at which packets arrive at the peer, over its last half second.
struct AcknowledgedRate: Sendable {
    private static let window: Duration = .milliseconds(500)
    private static let leastSpan: Duration = .milliseconds(200)
    private static let limit = 4_096

    /// In order of coming in, which is nearly that of arrival.
    private var arrivals: [(at: Duration, byteCount: Int)] = []
    private var newest: Duration?

    /// Bits a second; `nil` until there is enough to tell.
    private(set) var bitsPerSecond: Double?

    mutating func handle(_ feedback: TransportFeedback) {
        for packet in feedback.packets {
            guard let arrival = packet.arrival else { continue }
            arrivals.append((arrival, packet.byteCount))
            newest = max(newest ?? arrival, arrival)
        }
        guard let newest else { return }
        arrivals.removeAll { newest - $0.at >= Self.window }
        if arrivals.count > Self.limit { arrivals.removeFirst(arrivals.count - Self.limit) }
        guard let oldest = arrivals.map(\.at).min(), newest - oldest >= Self.leastSpan, arrivals.count > 2 else {
            return
        }
        let byteCount = arrivals.reduce(0.0) { $0 + Double($1.byteCount) }
        // Once a whole window is filled its length counts, so that pauses between frames count too.
        let span = newest - oldest >= Self.window * 4 / 5 ? Self.window : newest - oldest
        bitsPerSecond = byteCount * 8 / span.inSeconds
    }
}
