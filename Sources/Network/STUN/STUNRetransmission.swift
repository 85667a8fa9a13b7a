import EmisoraCore

/// When a request over UDP is repeated (RFC 8489 §6.2.1): seven transmissions, each interval twice the last, then
/// 16 × RTO for the last one. RTO is 500 ms, the least that RFC 8445 §14.3 allows.
package enum STUNRetransmission {
    package static let maximumTransmissions = 7
    package static let initialTimeout: Duration = .milliseconds(500)
    /// How long a request waits over a stream, which repeats by itself (RFC 8489 §6.2.2).
    package static let streamTimeout: Duration = .milliseconds(39_500)

    package static func timeout(afterTransmission count: Int) -> Duration {
        if count >= maximumTransmissions { return initialTimeout * 16 }
        return initialTimeout * (1 << max(0, count - 1))
    }
}
