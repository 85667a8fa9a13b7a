import EmisoraSignalingProtocol
import Glibc

/// The programs `signaling-server` and `emisora serve`: options, signals, exit codes.
package enum SignalingServerCommand {
    package static func usage(program: String = "signaling-server") -> String {
        """
        Usage: \(program) [options]
          --host ADDRESS   address to listen at (default: $HOST or 127.0.0.1; 0.0.0.0 for every network). Without
                           --secret-file it is loopback, whatever is given here
          --port PORT      0 to 65535, 0 for any free port (default: $PORT or 8080)
          --secret-file FILE         who joins needs a token signed with this secret, of 32 bytes at least
                                     (`openssl rand -hex 32 > FILE`); `emisora token` makes tokens
          --insecure-open            listen at ADDRESS without a secret: everybody who reaches it may join
          --certificate FILE.pem --key FILE.pem   https: and wss: in place of http: and ws:; read anew when they change
          --allow-origin ORIGIN      web pages that may connect beside the server's own, such as https://example.org;
                                     may be given several times; * for all
          --limit NAME=N             another figure than PROTOCOL.md's; may be given several times. Behind a proxy all
                                     clients have one address. NAME is one of
                                     \(limits)
          --grace SECONDS            how long somebody who lost its connection is taken for being there (10)
          --resume-key-file FILE     without --secret-file: the key by which sessions survive a restart of the server;
                                     made when it is not there
          --redis URL                share the rooms with all servers at the same Redis server:
                                     redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE] or unix:PATH (default:
                                     $EMISORA_REDIS_URL, which other users of the machine cannot read)
          --ice-server URL           stun:HOST[:PORT] or turn:HOST[:PORT][?transport=tcp] or turns:HOST[:PORT], told to all
                                     who join; may be given several times
          --ice-user, --ice-credential   for the TURN servers; who joins can read them
          --turn-secret-file FILE    in place of these: coturn's static-auth-secret; who joins gets credentials of its own
                                     for \(Int(ICEServerList.lifetime / 3600)) hours
        """
    }

    private static var limits: String {
        ServerLimits.adjustable.map(\.name).joined(separator: ", ")
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
        for name in ["HOST", "PORT", "EMISORA_REDIS_URL"] {
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
        if let text = environment["EMISORA_REDIS_URL"], !text.isEmpty {
            do {
                configuration.redis = try RedisURL(text)
            } catch {
                return .wrong("EMISORA_REDIS_URL in the environment: \(error.description)")
            }
        }
        var servers = ICEServerDescription(urls: [])
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts.first ?? "")
            switch name {
            case "--help", "-h":
                return .help
            case "--insecure-open":
                guard parts.count == 1 else { return .wrong("\(name): it takes no value.") }
                configuration.isInsecurelyOpen = true
            case "--test-echo" where parts.count == 1:
                // For `scripts/autobahn`; in no list of what there is.
                configuration.echoes = true
            default:
                guard let expected = expected[name] else {
                    let known = (expected.keys + ["--help", "--insecure-open"]).sorted().joined(separator: ", ")
                    return .wrong("\(argument): unknown argument; allowed are \(known).")
                }
                guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                    return .wrong("\(name) needs a value: \(expected).")
                }
                if name == "--redis" {
                    do {
                        configuration.redis = try RedisURL(value)
                    } catch {
                        return .wrong(error.description)
                    }
                    continue
                }
                guard take(value, for: name, into: &configuration, &servers) else {
                    return .wrong("\(name) \(shown(value, for: name)): it must be \(expected).")
                }
            }
        }
        guard (configuration.certificateFile == nil) == (configuration.keyFile == nil) else {
            return .wrong("--certificate and --key: TLS needs both.")
        }
        guard !servers.urls.isEmpty else { return .serve(configuration) }
        let isRelay = servers.urls.contains { $0.lowercased().hasPrefix("turn") }
        let hasCredential = servers.username != nil && servers.credential != nil
        guard !isRelay || hasCredential || configuration.turnSecretFile != nil else {
            return .wrong(
                "--ice-server: a TURN server needs --turn-secret-file FILE, or --ice-user NAME and --ice-credential "
                    + "PASSWORD.")
        }
        configuration.iceServers = [servers]
        return .serve(configuration)
    }

    /// What each option with a value may be.
    static let expected = [
        "--host": "an address, such as 127.0.0.1",
        "--port": "0 to 65535",
        "--secret-file": "the path of a file", "--turn-secret-file": "the path of a file",
        "--certificate": "the path of a PEM file", "--key": "the path of a PEM file",
        "--grace": "0 to 3600 seconds", "--resume-key-file": "the path of a file",
        "--allow-origin": "an origin, such as https://example.org, or *",
        "--ice-server": "stun:HOST[:PORT], turn:HOST[:PORT][?transport=udp|tcp] or turns:HOST[:PORT]",
        "--redis": "redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE] or unix:PATH",
        "--limit": "NAME=N with a NAME of \(limits)",
        "--ice-user": "a text without control characters", "--ice-credential": "a text without control characters",
    ]

    /// Values that may be secret, and such as would break the line, are not repeated.
    private static func shown(_ value: String, for name: String) -> String {
        name == "--ice-credential" || !isText(value) ? "VALUE" : value
    }

    private static func take(
        _ value: String, for name: String, into configuration: inout SignalingServer.Configuration,
        _ servers: inout ICEServerDescription
    ) -> Bool {
        guard isText(value) else { return false }
        switch name {
        case "--port":
            guard let port = UInt16(value) else { return false }
            configuration.port = port
        case "--ice-server":
            guard isICEServer(value) else { return false }
            servers.urls.append(value)
        case "--allow-origin":
            guard OriginPolicy.isOrigin(value) else { return false }
            configuration.allowedOrigins.insert(value)
        case "--limit": return configuration.limits.take(value)
        case "--grace":
            guard let seconds = Double(value), (0...3600).contains(seconds) else { return false }
            configuration.limits.resumeGrace = .nanoseconds(Int64(seconds * 1e9))
        case "--resume-key-file": configuration.resumeKeyFile = value
        case "--host": configuration.host = value
        case "--secret-file": configuration.secretFile = value
        case "--turn-secret-file": configuration.turnSecretFile = value
        case "--certificate": configuration.certificateFile = value
        case "--key": configuration.keyFile = value
        case "--ice-user": servers.username = value
        case "--ice-credential": servers.credential = value
        default: return false
        }
        return true
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
        let server = SignalingServer(configuration, onNotice: complain)
        do {
            try server.start()
            complain("Signaling server at \(server.url ?? "")")
        } catch {
            complain("\(program): \(error.description)")
            exit(1)
        }
        var signal: Int32 = 0
        sigwait(&signals, &signal)
        server.stop()
        exit(0)
    }

    @Sendable private static func complain(_ line: String) {
        let text = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, text, text.count)
    }
}
