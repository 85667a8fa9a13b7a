import EmisoraCore
import EmisoraRTP

/// Which of several receivers' limits bind their sender (RFC 5104 §3.5.4.2).
///
/// A limit of bitrate `B` with `O` bytes of headers on each packet leaves `B - 8·O·p` for the payload at `p` packets a
/// second. A limit binds if there is a packet rate at which it leaves the least of all, without being negative: a high
/// bitrate with much overhead may bind beside a low one with little.
package enum BoundingSet {
    package typealias Limit = TemporaryMaximumBitrate.Entry

    /// Those that bind, by bitrate. Of equal ones the one with the lowest SSRC stands for all.
    package static func of(_ limits: [Limit]) -> [Limit] {
        let sorted = limits.sorted { ($0.bitrate.bitsPerSecond, $0.ssrc) < ($1.bitrate.bitsPerSecond, $1.ssrc) }
        var distinct: [Limit] = []
        for limit in sorted where !distinct.contains(where: { isEqual($0, limit) }) { distinct.append(limit) }
        return distinct.filter { limit in
            binds(limit, beside: distinct.filter { !isEqual($0, limit) })
        }
    }

    /// Whether a limit would bind beside others. One that is equal to another one adds nothing to it.
    package static func binds(_ limit: Limit, beside others: [Limit]) -> Bool {
        if others.contains(where: { isEqual($0, limit) }) { return false }
        let bitrate = Double(limit.bitrate.bitsPerSecond)
        let overhead = Double(limit.overhead) * 8
        // At no packet rate at all, where nothing may be sent, it can be undercut by none.
        guard bitrate > 0 else { return !others.contains { $0.bitrate.bitsPerSecond <= 0 } }
        // The packet rates at which it leaves less than each of the others.
        var least = 0.0
        var most = overhead > 0 ? bitrate / overhead : .infinity
        for other in others {
            let room = Double(other.bitrate.bitsPerSecond) - bitrate
            let difference = Double(other.overhead) * 8 - overhead
            if difference == 0 {
                guard room > 0 else { return false }
            } else if difference > 0 {
                most = min(most, room / difference)
            } else {
                least = max(least, room / difference)
            }
        }
        return least < most
    }

    private static func isEqual(_ one: Limit, _ other: Limit) -> Bool {
        // Nothing at all is the same with whatever overhead.
        one.bitrate == other.bitrate && (one.overhead == other.overhead || one.bitrate.bitsPerSecond <= 0)
    }
}
