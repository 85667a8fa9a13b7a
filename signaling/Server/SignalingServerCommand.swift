import Glibc

/// The programs `signaling-server` and `emisora serve`: options, signals, exit codes.
package enum SignalingServerCommand {
    package static func usage(program: String = "signaling-server") -> String {
        """
        Usage: \(program) [--host ADDRESS] [--port PORT]
          --host ADDRESS   address to listen at (default: $HOST or 127.0.0.1; 0.0.0.0 for every network)
          --port PORT      0 to 65535, 0 for any free port (default: $PORT or 8080)
        """
    }

    enum Parsed: Equatable {
        case serve(SignalingServer.Configuration)
        case help
        /// One line that names the argument and what it may be.
        case wrong(String)
    }

    /// Serves until SIGINT or SIGTERM, then ends with 0; with 2 for wrong arguments, with 1 when it could not start.
    package static func main(
        arguments: [String] = Array(CommandLine.arguments.dropFirst()), program: String = "signaling-server"
    ) -> Never {
        var environment: [String: String] = [:]
        for name in ["HOST", "PORT"] {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        switch parse(arguments, environment: environment) {
        case .help:
            print(usage(program: program))
            exit(0)
        case .wrong(let line):
            complain("\(program): \(line)")
            exit(2)
        case .serve(let configuration):
            serve(configuration, program: program)
        }
    }

    static func parse(_ arguments: [String], environment: [String: String]) -> Parsed {
        var configuration = SignalingServer.Configuration()
        if let host = environment["HOST"], !host.isEmpty { configuration.host = host }
        if let text = environment["PORT"], !text.isEmpty {
            guard let port = UInt16(text) else {
                return .wrong("PORT=\(text) in the environment: it must be 0 to 65535.")
            }
            configuration.port = port
        }
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts.first ?? "")
            switch name {
            case "--help", "-h":
                return .help
            case "--host", "--port":
                guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                    return .wrong("\(name) needs a value: " + (name == "--port" ? "0 to 65535." : "an address."))
                }
                if name == "--host" {
                    guard !value.isEmpty else { return .wrong("--host: it must be an address, such as 127.0.0.1.") }
                    configuration.host = value
                } else {
                    guard let port = UInt16(value) else { return .wrong("--port \(value): it must be 0 to 65535.") }
                    configuration.port = port
                }
            default:
                return .wrong("\(argument): unknown argument; allowed are --host ADDRESS, --port PORT and --help.")
            }
        }
        return .serve(configuration)
    }

    private static func serve(_ configuration: SignalingServer.Configuration, program: String) -> Never {
        // Blocked before the server's thread exists, so that it inherits the mask and only `sigwait` takes them.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let server = SignalingServer(configuration)
        do {
            let port = try server.start()
            let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
            complain("Signaling server at http://\(host):\(port)/")
        } catch {
            complain("\(program): \(error.description)")
            exit(1)
        }
        var signal: Int32 = 0
        sigwait(&signals, &signal)
        server.stop()
        exit(0)
    }

    private static func complain(_ line: String) {
        let text = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, text, text.count)
    }
}
