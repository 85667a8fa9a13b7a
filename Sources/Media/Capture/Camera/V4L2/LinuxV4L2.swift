import EmisoraCore
import Glibc

/// The kernel's Video4Linux.
package struct LinuxV4L2: V4L2System {
    private static let folder = "/dev"

    package init() {}

    package var now: Instant { MonotonicClock.now }

    package func open(_ path: String, converting: Bool) throws(V4L2Error) -> any V4L2Device {
        try LinuxV4L2Device(path: path, converting: converting)
    }

    package func makePoller() throws(V4L2Error) -> any V4L2Poller {
        try LinuxV4L2Poller(folder: Self.folder)
    }

    package func nodes() -> [String] {
        names(in: Self.folder)
            .compactMap { $0.hasPrefix("video") ? Int($0.dropFirst("video".count)) : nil }
            .sorted()
            .map { "\(Self.folder)/video\($0)" }
    }

    package func access(to path: String) -> V4L2Access? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let group = Self.name(ofGroup: status.st_gid) ?? "\(status.st_gid)"
        return V4L2Access(
            isPermitted: Glibc.access(path, R_OK | W_OK) == 0, group: group, holders: holders(of: status.st_rdev))
    }

    private static func name(ofGroup id: gid_t) -> String? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 4_096)
        guard getgrgid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return String(cString: entry.gr_name)
    }

    /// The processes with a descriptor for this character device. Those of other users cannot be seen without rights.
    private func holders(of device: dev_t) -> [Int32] {
        let own = getpid()
        return names(in: "/proc").compactMap { Int32($0) }.sorted().filter { process in
            guard process != own else { return false }
            let folder = "/proc/\(process)/fd"
            return names(in: folder).contains { name in
                var status = stat()
                return stat("\(folder)/\(name)", &status) == 0
                    && status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == device
            }
        }
    }

    private func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
