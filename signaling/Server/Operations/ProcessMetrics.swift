import EmisoraOperations
import Glibc

/// What every Prometheus client tells of its process, under the names that they all use.
///
/// ```swift
/// ProcessMetrics.read().write(to: &text)
/// ```
package struct ProcessMetrics: Sendable {
    var cpuSeconds: Double?
    var residentBytes: Double?
    var openDescriptors: Double?
    var threads: Double?
    var startTime: Double?

    /// Of this process, now; from any thread. What the system does not tell stays out.
    package static func read() -> Self {
        var metrics = Self()
        var usage = rusage()
        if getrusage(Int32(RUSAGE_SELF.rawValue), &usage) == 0 {
            metrics.cpuSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
        }
        let page = Double(sysconf(Int32(_SC_PAGESIZE)))
        metrics.residentBytes = fields(of: "/proc/self/statm").dropFirst().first.flatMap(Double.init).map { $0 * page }
        metrics.openDescriptors = descriptorCount()
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        // proc(5): the name, which may hold anything, stands in parentheses; what follows is counted from the third.
        let afterName = fields(of: "/proc/self/stat", after: ")")
        if afterName.count > 19 {
            metrics.threads = Double(afterName[17])
            let boot = fields(of: "/proc/stat").drop { $0 != "btime" }.dropFirst().first.flatMap(Double.init)
            if let boot, let sinceBoot = Double(afterName[19]), ticks > 0 {
                metrics.startTime = boot + sinceBoot / ticks
            }
        }
        return metrics
    }

    package func write(to text: inout PrometheusText) {
        if let cpuSeconds {
            text.family("process_cpu_seconds_total", .counter, "User and system time in seconds.", cpuSeconds)
        }
        if let residentBytes {
            text.family("process_resident_memory_bytes", .gauge, "Memory in use in bytes.", residentBytes)
        }
        if let openDescriptors {
            text.family("process_open_fds", .gauge, "Open file descriptors.", openDescriptors)
        }
        if let threads { text.family("process_threads", .gauge, "Threads.", threads) }
        if let startTime {
            text.family(
                "process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.", startTime)
        }
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    private static func descriptorCount() -> Double? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0.0
        while let entry = readdir(folder) {
            if withUnsafeBytes(of: entry.pointee.d_name, { $0.first }) != UInt8(ascii: ".") { count += 1 }
        }
        // Less the one that it is counted with.
        return max(0, count - 1)
    }

    private static func fields(of path: String, after mark: Character? = nil) -> [String] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var content = [UInt8]()
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while content.count < 1 << 20 {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            content += chunk.prefix(count)
        }
        var text = String(decoding: content, as: UTF8.self)[...]
        if let mark, let end = text.lastIndex(of: mark) { text = text[text.index(after: end)...] }
        return text.split { $0 == " " || $0 == "\n" }.map(String.init)
    }
}
