import Glibc
import Testing

@testable import Emisora

/// What of the machine is there for this process while something is measured: all of it but what others take.
///
/// What the process itself uses counts as there, however much that is, so that nothing is excused by its own load.
struct MachineShare {
    /// Of all processors, in seconds since the machine started.
    private struct Usage {
        var total: Double
        var idle: Double
        /// By this process.
        var own: Double

        init() throws {
            let file = try #require(fopen("/proc/stat", "r"))
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 512)
            try #require(fgets(&line, Int32(line.count), file) != nil)
            // cpu user nice system idle iowait irq softirq steal …; guests are in user already.
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let ticks = text.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
            try #require(ticks.count == 8)
            let rate = Double(sysconf(Int32(_SC_CLK_TCK)))
            total = ticks.reduce(0, +) / rate
            idle = (ticks[3] + ticks[4]) / rate
            var time = timespec()
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
            own = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
    }

    private let start: Usage

    init() throws {
        start = try Usage()
    }

    /// Since the beginning, from 0 to 1.
    func measure() throws -> Double {
        let now = try Usage()
        let total = now.total - start.total
        guard total > 0 else { return 1 }
        return min(1, max(0.01, (now.own - start.own + now.idle - start.idle) / total))
    }
}
