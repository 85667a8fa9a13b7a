import EmisoraCore
import EmisoraEventLoop
import Glibc
import Testing

/// A loop that is shut down however the test ends.
func withLoop<Result>(_ body: (EventLoop) async throws -> Result) async throws -> Result {
    let loop = try EventLoop(name: "loop-test")
    defer { loop.shutdown() }
    return try await body(loop)
}

extension EventLoop {
    /// Runs `body` on the loop's thread and gives what it answers.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            execute { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}

/// State that only the loop's thread touches.
final class Confined<Value>: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: used on the loop's thread alone.
    var value: Value
    init(_ value: Value) { self.value = value }
}

let loopback = SocketAddress(ip: .loopbackV4, port: 0)

/// The names of this process's threads.
func threadNames() -> [String] {
    entries(of: "/proc/self/task").compactMap { id in
        guard let file = fopen("/proc/self/task/\(id)/comm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 32)
        guard fgets(&line, 32, file) != nil else { return nil }
        return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

private func entries(of directory: String) -> [String] {
    guard let handle = opendir(directory) else { return [] }
    defer { closedir(handle) }
    var names: [String] = []
    while let entry = readdir(handle) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}
