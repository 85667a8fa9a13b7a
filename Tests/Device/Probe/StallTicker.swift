import EmisoraCapture
import EmisoraCore
import Glibc

/// `camera-probe stalls`: tells when this processor of the machine stood still. Nothing in the machine may keep this
/// program from running, so that what does is the host, which runs the machine's processors as programs among others.
///
/// To be started once on each processor (`taskset`). A line on standard output for each stall: when it began and ended,
/// in seconds of the monotonic clock. Ends by a signal.
enum StallTicker {
    /// Half of the four milliseconds for which a host that is busy lets another program run at the least: a shorter stall is
    /// not seen, and would not be taken off.
    private static let tick = Duration.milliseconds(2)

    static func run() throws {
        var priority = sched_param()
        priority.sched_priority = 50
        // Before every thread of ordinary priority: a busy program under test makes no stalls, whatever it does.
        guard sched_setscheduler(0, SCHED_FIFO, &priority) == 0 else {
            throw CaptureError.system(operation: "have real-time priority", code: errno)
        }
        var due = MonotonicClock.now
        while true {
            due = due + tick
            var time = timespec(
                tv_sec: Int(due.nanoseconds / 1_000_000_000), tv_nsec: Int(due.nanoseconds % 1_000_000_000))
            while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
            let now = MonotonicClock.now
            guard now - due >= tick else { continue }
            var line = "\(due.seconds) \(now.seconds)\n"
            line.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            due = now
        }
    }
}
