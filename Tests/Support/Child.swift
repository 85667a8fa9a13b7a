import Glibc

/// A program that runs beside the test and ends with this object.
package final class Child {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        init(_ what: String, _ code: Int32) {
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    package let pid: pid_t
    private let output: Int32
    private var hasEnded = false

    package init(_ path: String, _ arguments: [String], display: String? = nil) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure("No pipe", errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // The threads that tests run on block all signals, and a child that inherits this cannot be ended.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let environment = [
            ("DISPLAY", display), ("PATH", getenv("PATH").map { String(cString: $0) }), ("HOME", "/tmp"),
        ]
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        var variables = environment.compactMap { name, value in value.map { strdup("\(name)=\($0)") } } + [nil]
        defer { for word in words + variables { free(word) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, path, &actions, &attributes, &words, &variables)
        close(ends[1])
        output = ends[0]
        self.pid = pid
        hasEnded = code != 0
        guard code == 0 else { throw Failure("\(path) cannot be run", code) }
    }

    /// What it writes, up to and without a line's end, or all if `wholly`.
    package func read(wholly: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: wholly ? 65_536 : 1)
        while true {
            let count = Glibc.read(output, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            if !wholly, buffer[0] == UInt8(ascii: "\n") { return bytes }
            bytes += buffer[..<count]
        }
    }

    package func signal(_ number: Int32) {
        if !hasEnded { kill(pid, number) }
    }

    /// Ends it, also when it was halted, and waits for its end.
    package func end() {
        guard !hasEnded else { return }
        signal(SIGTERM)
        signal(SIGCONT)
        wait()
    }

    package func wait() {
        guard !hasEnded else { return }
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
        hasEnded = true
    }

    deinit {
        end()
        close(output)
    }
}
