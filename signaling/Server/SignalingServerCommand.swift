import EmisoraSignalingProtocol
import Glibc

/// The programs `signaling-server` and `emisora serve`: options, signals, exit codes.
package enum SignalingServerCommand {
    package static func usage(program: String = "signaling-server") -> String {
        """
        Usage: \(program) [--host ADDRESS] [--port PORT] [--ice-server URL …] [--ice-user NAME] [--ice-credential PASSWORD]
          --host ADDRESS   address to listen at (default: $HOST or 127.0.0.1; 0.0.0.0 for every network)
          --port PORT      0 to 65535, 0 for any free port (default: $PORT or 8080)
          --ice-server URL           stun:HOST[:PORT] or turn:HOST[:PORT][?transport=tcp] or turns:HOST[:PORT], told to all
                                     who join; may be given several times
          --ice-user, --ice-credential   for the TURN servers; who joins can read them
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
        var servers = ICEServerDescription(urls: [])
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts.first ?? "")
            switch name {
            case "--help", "-h":
                return .help
            case "--host", "--port", "--ice-server", "--ice-user", "--ice-credential":
                guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                    return .wrong("\(name) needs a value: \(expected(name)).")
                }
                switch name {
                case "--port":
                    guard let port = UInt16(value) else { return .wrong("--port \(value): it must be 0 to 65535.") }
                    configuration.port = port
                case "--ice-server":
                    guard isICEServer(value) else {
                        return .wrong("--ice-server \(value): it must be \(expected(name)).")
                    }
                    servers.urls.append(value)
                default:
                    guard isText(value) else { return .wrong("\(name): it must be \(expected(name)).") }
                    if name == "--host" { configuration.host = value }
                    if name == "--ice-user" { servers.username = value }
                    if name == "--ice-credential" { servers.credential = value }
                }
            default:
                return .wrong(
                    "\(argument): unknown argument; allowed are --host ADDRESS, --port PORT, --ice-server URL, "
                        + "--ice-user NAME, --ice-credential PASSWORD and --help.")
            }
        }
        guard !servers.urls.isEmpty else { return .serve(configuration) }
        let isRelay = servers.urls.contains { $0.lowercased().hasPrefix("turn") }
        guard !isRelay || (servers.username != nil && servers.credential != nil) else {
            return .wrong("--ice-server: a TURN server needs --ice-user NAME and --ice-credential PASSWORD.")
        }
        configuration.iceServers = [servers]
        return .serve(configuration)
    }

    private static func expected(_ name: String) -> String {
        switch name {
        case "--host": "an address, such as 127.0.0.1"
        case "--port": "0 to 65535"
        case "--ice-server": "stun:HOST[:PORT], turn:HOST[:PORT][?transport=udp|tcp] or turns:HOST[:PORT]"
        default: "a text without control characters"
        }
    }

    /// What the browsers that get it would refuse anyway, and what would not fit into a header.
    private static func isICEServer(_ url: String) -> Bool {
        guard let colon = url.firstIndex(of: ":"), url.index(after: colon) < url.endIndex else { return false }
        return ["stun", "stuns", "turn", "turns"].contains(url[..<colon].lowercased())
            && url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && ![0x22, 0x3C, 0x3E].contains($0) }
    }

    private static func isText(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
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
