import EmisoraCore

/// How long packets wait in the path's queue at the least: the smallest delay of the last half second, less the smallest
/// that is remembered.
///
/// ``DelayTrend`` sees a queue grow; this one sees a queue that stays. Least values are not moved by jitter.
struct StandingQueue: Sendable {
    private static let recent: Duration = .milliseconds(250)

    private var recentLeast = WindowedMinimum(span: recent)
    private var base: WindowedMinimum

    /// - Parameter memory: How long the least delay is remembered, once to twice. The delay between two clocks drifts, a
    ///   round trip does not.
    init(memory: Duration) {
        base = WindowedMinimum(span: memory)
    }

    /// Zero while nothing is known.
    var delay: Duration {
        guard let recent = recentLeast.value, let base = base.value else { return .zero }
        return max(.zero, recent - base)
    }

    /// Takes a delay whose origin is arbitrary but the same for all.
    mutating func handle(delay: Duration, now: Instant) {
        recentLeast.add(delay, now: now)
        base.add(delay, now: now)
    }

    mutating func handle(_ feedback: TransportFeedback) {
        for packet in feedback.packets {
            guard let arrival = packet.arrival else { continue }
            handle(delay: arrival - .nanoseconds(packet.sentAt.nanoseconds), now: packet.sentAt)
        }
    }
}

/// The least of the values of the last one to two spans.
private struct WindowedMinimum: Sendable {
    let span: Duration
    private var current: Duration?
    private var before: Duration?
    private var begunAt: Instant?

    init(span: Duration) {
        self.span = span
    }

    var value: Duration? {
        guard let current else { return before }
        return min(current, before ?? current)
    }

    mutating func add(_ value: Duration, now: Instant) {
        let begin = begunAt ?? now
        if now - begin >= span {
            before = now - begin >= span * 2 ? nil : current
            current = nil
            begunAt = now
        } else {
            begunAt = begin
        }
        current = min(current ?? value, value)
    }
}
