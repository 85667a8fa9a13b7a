import EmisoraCore

/// What was sent, or arrived, in the last second or two.
package struct SentRate: Sendable {
    private static let span: Duration = .seconds(1)

    private var begunAt: Instant?
    private var byteCount = 0
    private var byteCountBefore = 0
    private var beginBefore: Instant?
    private var lastAt: Instant?

    package init() {}

    package mutating func add(byteCount added: Int, now: Instant) {
        let begin = begunAt ?? now
        if now - begin >= Self.span {
            byteCountBefore = byteCount
            beginBefore = begin
            byteCount = 0
            begunAt = now
        } else {
            begunAt = begin
        }
        byteCount = byteCount.addingReportingOverflow(max(0, added)).partialValue
        lastAt = now
    }

    func isSending(now: Instant) -> Bool { lastAt.map { now - $0 < .seconds(2) } ?? false }

    /// `nil` until a span is full.
    package func bitsPerSecond(now: Instant) -> Double? {
        guard let beginBefore, now > beginBefore else { return nil }
        return Double(byteCount + byteCountBefore) * 8 / (now - beginBefore).inSeconds
    }
}
