import CEmisoraLinux
import EmisoraCore
import Glibc

/// Waits with `poll` on a device, an `eventfd` and the folder of device nodes.
final class LinuxV4L2Poller: V4L2Poller {
    private let waker: Int32
    /// -1 if the system has no watch to give: cameras are then found by looking.
    private let watch: Int32

    init(folder: String) throws(V4L2Error) {
        waker = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard waker >= 0 else { throw V4L2Error("eventfd", code: errno) }
        watch = emisora_watch_folder(folder)
    }

    deinit {
        close(waker)
        if watch >= 0 { close(watch) }
    }

    func wake() {
        var one: UInt64 = 1
        _ = write(waker, &one, MemoryLayout.size(ofValue: one))
    }

    func wait(for device: (any V4L2Device)?, until deadline: Instant) -> V4L2Readiness {
        let camera = (device as? LinuxV4L2Device)?.descriptor ?? -1
        // While a camera runs, other nodes are of no interest: they would wake the thread for nothing.
        let folder = camera >= 0 ? -1 : watch
        while true {
            var ready = V4L2Readiness()
            let failed = Int16(POLLERR | POLLHUP | POLLNVAL)
            let found = withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 3) { polled -> Int32 in
                polled.initializeElement(at: 0, to: pollfd(fd: waker, events: Int16(POLLIN), revents: 0))
                polled.initializeElement(at: 1, to: pollfd(fd: folder, events: Int16(POLLIN), revents: 0))
                polled.initializeElement(at: 2, to: pollfd(fd: camera, events: Int16(POLLIN | POLLPRI), revents: 0))
                let result = poll(polled.baseAddress, 3, milliseconds(until: deadline))
                if polled[0].revents != 0 { ready.insert(.woken) }
                if polled[1].revents != 0 { ready.insert(.nodesChanged) }
                if polled[2].revents & Int16(POLLIN) != 0 { ready.insert(.frame) }
                if polled[2].revents & Int16(POLLPRI) != 0 { ready.insert(.event) }
                if polled[2].revents & failed != 0 { ready.insert(.failure) }
                return result
            }
            if ready.contains(.woken) { drain(waker) }
            if ready.contains(.nodesChanged) { drain(watch) }
            if found > 0 || MonotonicClock.now >= deadline { return ready }
        }
    }

    /// Rounded up, so that a deadline has passed when it is handled.
    private func milliseconds(until deadline: Instant) -> Int32 {
        let wait = (deadline - MonotonicClock.now).nanoseconds
        return wait <= 0 ? 0 : Int32(clamping: min(wait, 60_000_000_000 - 1_000_000) / 1_000_000 + 1)
    }

    private func drain(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { bytes in
            while read(descriptor, bytes.baseAddress, bytes.count) > 0 {}
        }
    }
}
