import EmisoraCore

/// What was sent and lost over the last reports, and how that compares with TCP (RFC 8083 §4.3).
struct ReportWindow: Sendable {
    /// Between one report and the one before.
    struct Report: Sendable {
        var packets = 0
        var byteCount = 0
        var seconds = 0.0
        /// By the receiver's counters.
        var expected = 0.0
        var lost = 0.0
        var roundTrip = 0.0
    }

    struct Comparison {
        var sent: DataRate
        /// Very large without loss.
        var tcp: DataRate

        /// Not more than a congestion control may overshoot for a while.
        var isWithinReach: Bool { sent.bitsPerSecond / Int(ReportWindow.factor) <= tcp.bitsPerSecond }
        var trip: CircuitBreaker.Trip { .congestion(sent: sent, tcp: tcp) }
    }

    /// Ten times what TCP would get is no congestion control's doing.
    static let factor = 10.0
    /// More than CB_INTERVAL ever is with reports a second apart.
    private static let limit = 64

    private var reports: [Report] = []

    mutating func append(_ report: Report) {
        if reports.count == Self.limit { reports.removeFirst() }
        reports.append(report)
    }

    /// Averages over the last so many reports; `nil` before there are as many.
    func compare(last count: Int) -> Comparison? {
        let count = min(count, Self.limit)
        guard count > 0, reports.count >= count else { return nil }
        var sum = Report()
        for report in reports.suffix(count) {
            sum.packets = sum.packets.addingReportingOverflow(report.packets).partialValue
            sum.byteCount = sum.byteCount.addingReportingOverflow(report.byteCount).partialValue
            sum.seconds += report.seconds
            sum.expected += report.expected
            sum.lost += report.lost
            sum.roundTrip += report.roundTrip
        }
        let bits = Double(max(0, sum.byteCount)) * 8
        let loss = sum.expected > 0 ? min(1, max(0, sum.lost / sum.expected)) : 0
        let packet = bits / Double(max(1, sum.packets))
        return Comparison(
            sent: Self.rate(bits / max(0.001, sum.seconds)),
            tcp: Self.rate(Self.throughput(packet: packet, roundTrip: sum.roundTrip / Double(count), loss: loss)))
    }

    /// The simple form of TCP's throughput, s / (Tr · √(2 · b · p / 3)) with one packet acknowledged at a time (b = 1).
    private static func throughput(packet bits: Double, roundTrip: Double, loss: Double) -> Double {
        loss > 0 ? bits / (max(0.001, roundTrip) * (2 * loss / 3).squareRoot()) : .infinity
    }

    private static func rate(_ bitsPerSecond: Double) -> DataRate { .bitsPerSecond(Int(min(bitsPerSecond, 1e15))) }
}
