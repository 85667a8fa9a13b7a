import EmisoraCore

/// When a request over UDP is repeated (RFC 8489 §6.2.1): seven transmissions, each interval twice the last, then
/// 16 × RTO for the last one.
package enum STUNRetransmission {
    package static let maximumTransmissions = 7
    /// RFC 8445 §14.3: never less, however short the round trip is.
    package static let leastTimeout: Duration = .milliseconds(500)
    /// Beyond this a request that was lost would hardly be repeated while anybody waits.
    package static let greatestTimeout: Duration = .seconds(3)
    /// How long a request waits over a stream, which repeats by itself (RFC 8489 §6.2.2).
    package static let streamTimeout: Duration = .milliseconds(39_500)

    /// How long to wait after that transmission, RTO being that of the first.
    package static func interval(afterTransmission count: Int, timeout: Duration) -> Duration {
        if count >= maximumTransmissions { return timeout * 16 }
        return timeout * (1 << max(0, count - 1))
    }

    static func clamp(_ timeout: Duration) -> Duration { min(max(timeout, leastTimeout), greatestTimeout) }
}

/// The RTO of one path, or of the way to one server, from the round trips that were seen on it (RFC 8489 §6.2.1, RFC 6298
/// §2), without rounding.
package struct STUNRoundTrip: Sendable {
    private var smoothed: Duration?
    private var variation: Duration = .zero

    package init() {}

    /// Takes the time from a request to its answer. Karn's algorithm: not where the request was repeated, since the answer
    /// may be to any of its copies.
    package mutating func add(_ measured: Duration) {
        guard let known = smoothed else {
            smoothed = measured
            variation = measured / 2
            return
        }
        let deviation = known > measured ? known - measured : measured - known
        variation = (variation * 3 + deviation) / 4
        smoothed = (known * 7 + measured) / 8
    }

    /// `nil`: nothing was measured yet. At least the 500 ms of RFC 8445 §14.3, so that on most paths the first answer
    /// brings the timeout down to these.
    package var timeout: Duration? {
        smoothed.map { STUNRetransmission.clamp($0 + variation * 4) }
    }
}
