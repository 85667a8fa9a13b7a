import EmisoraCapture
import EmisoraCore
import Glibc

/// How long something may take. Counted in short waits, each as long as it was meant to be however long it really was:
/// on a machine that is busy the thread that is waited for and this one are late alike.
struct Patience: Sendable {
    private static let step = Duration.milliseconds(10)
    let limit: Duration

    init(_ limit: Duration) {
        self.limit = limit
    }

    /// Waits until `poll` gives a value; `nil` when patience ends.
    func wait<State, Result>(on monitor: Monitor<State>, poll: (inout State) -> Result?) -> Result? {
        var left = limit
        while left > .zero {
            let slice = min(Self.step, left)
            if let result = monitor.wait(until: MonotonicClock.now + slice, poll: poll) { return result }
            left -= slice
        }
        return nil
    }

    /// Looks again and again until `condition` holds, for what nobody gives notice of.
    func until(_ condition: () -> Bool) -> Bool {
        let nobody = Monitor(false)
        return wait(on: nobody) { _ in condition() ? true : nil } ?? condition()
    }
}

/// How many calls into a capturer have not returned.
final class CallsUnderWay: Sendable {
    private let count = Monitor(0)

    var isEmpty: Bool { count.withLock { $0 == 0 } }

    func perform<Success>(_ body: () -> Success) -> Success {
        count.withLock { $0 += 1 }
        defer { count.withLock { $0 -= 1 } }
        return body()
    }
}

/// A call into the capturer on a thread of its own, since it may never return.
final class GuardedCall<Success: Sendable>: Sendable {
    private let outcome = Monitor<Success?>(nil)
    private let caller = Monitor<UInt?>(nil)

    init(_ body: @escaping @Sendable () -> Success) throws(CaptureError) {
        let (outcome, caller) = (outcome, caller)
        try MediaThread().start { _ in
            caller.withLock { $0 = UInt(pthread_self()) }
            let success = body()
            outcome.withLock { $0 = success }
            outcome.notifyAll()
        }
    }

    /// What it returned; `nil` if it has not.
    func result(within patience: Patience) -> Success? {
        patience.wait(on: outcome) { $0 }
    }

    /// The thread that the call is made on, once it has begun.
    var thread: UInt? { caller.withLock { $0 } }
}
