import EmisoraCore

/// How long what waits on a TCP connection has waited. Media behind more than a few hundred milliseconds would come too
/// late, and delay all that follows it: it is lost instead, as it would be on a full path over UDP, and congestion control
/// sees to the rest.
struct StreamBacklog {
    static let patience: Duration = .milliseconds(300)

    private var writes: [(end: UInt64, at: Instant)] = []
    private var written: UInt64 = 0

    /// - Parameter queuedByteCount: How many bytes of all that was written still wait, these included.
    mutating func didWrite(_ byteCount: Int, queuedByteCount: Int, now: Instant) {
        written &+= UInt64(max(0, byteCount))
        if queuedByteCount > 0 { writes.append((written, now)) }
        forgetSent(queuedByteCount)
    }

    /// Whether media that is written now comes in time.
    mutating func hasRoom(queuedByteCount: Int, now: Instant) -> Bool {
        forgetSent(queuedByteCount)
        return writes.first.map { now - $0.at < Self.patience } ?? true
    }

    private mutating func forgetSent(_ queuedByteCount: Int) {
        guard queuedByteCount > 0 else { return writes.removeAll(keepingCapacity: true) }
        let sent = written &- UInt64(queuedByteCount)
        if let first = writes.first, first.end <= sent {
            writes.removeFirst(writes.firstIndex { $0.end > sent } ?? writes.count)
        }
    }
}
