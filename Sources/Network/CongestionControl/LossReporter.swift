import EmisoraCore
import EmisoraRTP

/// Makes ``LossReport``s of report blocks, whose counters run since the start of a stream (RFC 3550 §6.4.4).
///
/// The differences of the counters are exact; the blocks' own fraction is of 1/256 and misses lost reports.
package struct LossReporter: Sendable {
    private struct Counters: Sendable {
        var highest: UInt32
        var lost: Int32
    }

    private static let sourceLimit = 64
    private var last: [UInt32: Counters] = [:]

    package init() {}

    /// What the block says since the one before of its stream; `nil` for the first one of a stream, one that says nothing
    /// new, and one whose counters jump.
    package mutating func handle(_ block: ReportBlock, now: Instant) -> LossReport? {
        guard last.count < Self.sourceLimit || last[block.ssrc] != nil else { return nil }
        let before = last.updateValue(
            Counters(highest: block.extendedHighestSequenceNumber, lost: block.cumulativeLost), forKey: block.ssrc)
        guard let before else { return nil }
        let expected = Int32(bitPattern: block.extendedHighestSequenceNumber &- before.highest)
        guard expected > 0, expected < 0x8000 else { return nil }
        let lost = Int(block.cumulativeLost) - Int(before.lost)
        return LossReport(receivedAt: now, lost: min(Int(expected), max(-Int(expected), lost)), expected: Int(expected))
    }
}
