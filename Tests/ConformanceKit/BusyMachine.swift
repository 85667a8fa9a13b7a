import EmisoraTesting
import Glibc

/// Whether others take this machine's processors at the moment: a thread that does not wait gets less than most of one.
func isMachineBusy() -> Bool {
    func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let (start, own) = (time(CLOCK_MONOTONIC), time(CLOCK_THREAD_CPUTIME_ID))
    while time(CLOCK_MONOTONIC) < start + 0.2 {}
    return time(CLOCK_THREAD_CPUTIME_ID) - own < 0.8 * (time(CLOCK_MONOTONIC) - start)
}

/// The report of a check that finds what is expected. Where it finds something else while the machine is busy with other
/// things, so that a capturer that spins gets no time to, or one without that fault none to draw, it is made again.
func reportOnAMachineWithRoom(
    finding expected: Set<ConformanceCheck>, _ check: () async throws -> ConformanceReport
) async throws -> ConformanceReport {
    for _ in 1..<3 {
        let report = try await check()
        if Set(report.findings.map(\.check)) == expected || !isMachineBusy() { return report }
    }
    return try await check()
}
