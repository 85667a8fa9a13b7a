import EmisoraCore
import Glibc

/// The two clocks of the system, read at the edge and handed down as values.
package enum SystemClock {
    package static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// What turns monotonic instants into wall-clock time.
    package static func wallClock() -> WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let unix = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        return WallClock(unixNanosecondsAtZero: unix - now().nanoseconds)
    }
}
