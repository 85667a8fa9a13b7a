import EmisoraCapture
import Synchronization

/// Runs an application's blocking code (a capturer's `start` and `stop`), one call after another, on a thread made for
/// that: never on the network's.
final class CaptureControl: Sendable {
    private let thread = MediaThread()
    private let jobs = Mutex<[@Sendable () -> Void]>([])

    init() {}

    /// Runs `job` after those before it.
    func perform(_ job: @escaping @Sendable () -> Void) {
        jobs.withLock { $0.append(job) }
        _ = try? thread.start { [self] thread in
            repeat {
                while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
            } while thread.waitForWork()
            // What came after the last look still runs: a stop must not get lost.
            while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
        }
        thread.wake()
    }

    /// Waits for all jobs and ends the thread.
    func finish() {
        thread.stop()
    }
}
