import EmisoraCore
import Glibc

/// The clock that capturers stamp their frames with.
public enum MonotonicTime {
    /// Now, on `CLOCK_MONOTONIC`, which camera drivers use too.
    public static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
