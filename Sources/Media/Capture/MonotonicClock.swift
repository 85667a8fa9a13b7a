import EmisoraCore
import Glibc

/// The clock that frames are stamped with.
public enum MonotonicClock {
    /// The present instant of `CLOCK_MONOTONIC`. About 25 ns; any thread.
    public static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}

extension Instant {
    /// This instant for C; instants before the clock's start become its start.
    var timespec: timespec {
        let nanoseconds = max(0, nanoseconds)
        return Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
