import EmisoraOperations
import EmisoraSignalingProtocol

/// The server's options: the table from which its arguments, its help and its man page are made, and what was chosen.
///
/// A class, since the table's closures write into it.
final class ServerOptions {
    private var chosen = SignalingServer.Configuration()
    private var servers = ICEServerDescription(urls: [])
    private(set) var log = LogSettings()

    /// - Throws: Where options do not fit together.
    func configuration() throws(OptionError) -> SignalingServer.Configuration {
        guard (chosen.certificateFile == nil) == (chosen.keyFile == nil) else {
            throw OptionError(description: "--certificate and --key: TLS needs both.")
        }
        guard !servers.urls.isEmpty else { return chosen }
        let isRelay = servers.urls.contains { $0.lowercased().hasPrefix("turn") }
        let hasCredential = servers.username != nil && servers.credential != nil
        guard !isRelay || hasCredential || chosen.turnSecretFile != nil else {
            throw OptionError(
                description: "--ice-server: a TURN server needs --turn-secret-file FILE, or --ice-user NAME and "
                    + "--ice-credential PASSWORD.")
        }
        var configuration = chosen
        configuration.iceServers = [servers]
        return configuration
    }

    var table: [ProgramOption] { listening + access + resumption + iceServers + operations }

    // MARK: The table

    private func set<Value>(_ path: WritableKeyPath<SignalingServer.Configuration, Value>, _ value: Value?) -> Bool {
        guard let value else { return false }
        chosen[keyPath: path] = value
        return true
    }

    private static func text(_ text: String) -> String? {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } ? text : nil
    }

    private func file(
        _ name: String, _ values: String, _ path: WritableKeyPath<SignalingServer.Configuration, String?>,
        _ help: String
    ) -> ProgramOption {
        ProgramOption(name: name, values: values, help: help) { value in
            guard let file = Self.text(value) else { return false }
            self.chosen[keyPath: path] = file
            return true
        }
    }

    private var listening: [ProgramOption] {
        [
            ProgramOption(
                name: "host", values: "ADDRESS",
                help:
                    "address to listen at (127.0.0.1); 0.0.0.0 for every network. Without --secret-file it is loopback, "
                    + "whatever is given here",
                otherVariables: ["HOST"]
            ) { self.set(\.host, Self.text($0)) },
            ProgramOption(
                name: "port", values: "0-65535", help: "port to listen at (8080); 0 for any free one",
                otherVariables: ["PORT"]
            ) { self.set(\.port, UInt16($0)) },
            file(
                "certificate", "FILE.pem", \.certificateFile,
                "with --key: https: and wss: in place of http: and ws:; read anew when the files change"),
            file("key", "FILE.pem", \.keyFile, "the private key of --certificate"),
            ProcessOptions.file,
        ]
    }

    private var access: [ProgramOption] {
        [
            file(
                "secret-file", "FILE", \.secretFile,
                "who joins needs a token signed with this secret, of 32 bytes at least (openssl rand -hex 32 > FILE); "
                    + "emisora token makes tokens"),
            ProgramOption(
                name: "insecure-open", values: "",
                help: "listen at ADDRESS without a secret: everybody who reaches it may join"
            ) { _ in self.set(\.isInsecurelyOpen, true) },
            ProgramOption(
                name: "allow-origin", values: "ORIGIN|*",
                help: "web pages that may connect beside the server's own, such as https://example.org; may be given "
                    + "several times; * for all",
                isRepeatable: true
            ) { origin in
                guard Self.text(origin) != nil, OriginPolicy.isOrigin(origin) else { return false }
                self.chosen.allowedOrigins.insert(origin)
                return true
            },
            ProgramOption(
                name: "limit", values: "NAME=N",
                help:
                    "another figure than PROTOCOL.md's; may be given several times. Behind a proxy all clients have one "
                    + "address. NAME is one of " + ServerLimits.adjustable.map(\.name).joined(separator: ", "),
                isRepeatable: true
            ) { self.chosen.limits.take($0) },
        ]
    }

    private var resumption: [ProgramOption] {
        [
            ProgramOption(
                name: "grace", values: "SECONDS, 0-3600",
                help: "how long somebody who lost its connection is taken for being there (10)"
            ) { text in
                guard let seconds = Double(text), (0...3600).contains(seconds) else { return false }
                return self.set(\.limits.resumeGrace, .nanoseconds(Int64(seconds * 1e9)))
            },
            file(
                "resume-key-file", "FILE", \.resumeKeyFile,
                "without --secret-file: the key by which sessions survive a restart of the server; made when it is not "
                    + "there"),
        ]
    }

    private var iceServers: [ProgramOption] {
        [
            ProgramOption(
                name: "ice-server", values: "stun:HOST[:PORT]|turn:HOST[:PORT][?transport=udp|tcp]|turns:HOST[:PORT]",
                help: "told to all who join; may be given several times", isRepeatable: true
            ) { url in
                guard Self.isICEServer(url) else { return false }
                self.servers.urls.append(url)
                return true
            },
            ProgramOption(name: "ice-user", values: "NAME", help: "for the TURN servers; who joins can read it") {
                name in
                self.servers.username = Self.text(name)
                return self.servers.username != nil
            },
            ProgramOption(
                name: "ice-credential", values: "PASSWORD", help: "for the TURN servers; who joins can read it",
                isSecret: true
            ) { password in
                self.servers.credential = Self.text(password)
                return self.servers.credential != nil
            },
            file(
                "turn-secret-file", "FILE", \.turnSecretFile,
                "in place of these: coturn's static-auth-secret; who joins gets credentials of its own for "
                    + "\(Int(ICEServerList.lifetime / 3600)) hours"),
        ]
    }

    private var operations: [ProgramOption] {
        [
            ProgramOption(
                name: "metrics", values: "HOST:PORT|off",
                help:
                    "where Prometheus reads /metrics, for all who reach it (on the server's own port, for programs of "
                    + "this machine alone)"
            ) { text in
                if text == "off" { return self.set(\.metrics, .off) }
                return self.set(\.metrics, MetricsAddress(text).map { .at($0) })
            },
            ProgramOption(
                name: "drain", values: "SECONDS, 0-3600",
                help: "how long clients have to leave after SIGTERM (5); a second signal ends at once"
            ) { text in
                let digits = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
                guard digits, let seconds = Int(text), seconds <= 3600 else { return false }
                return self.set(\.drainTime, .seconds(seconds))
            },
            // For `scripts/autobahn`.
            ProgramOption(name: "test-echo", values: "", help: "sends messages back", isHidden: true) { _ in
                self.set(\.echoes, true)
            },
        ] + LogSettings.options { change in change(&self.log) }
    }

    /// What the browsers that get it would refuse anyway, and what would not fit into a header.
    private static func isICEServer(_ url: String) -> Bool {
        guard let colon = url.firstIndex(of: ":"), url.index(after: colon) < url.endIndex else { return false }
        return ["stun", "stuns", "turn", "turns"].contains(url[..<colon].lowercased())
            && url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && ![0x22, 0x3C, 0x3E].contains($0) }
    }
}

extension SignalingServerCommand {
    package static func manual(program: String = "signaling-server") -> ProgramManual {
        var manual = ProgramManual(
            program: program, purpose: "signaling server with rooms, WHIP, WHEP and a viewer page",
            synopses: ["[options]"], options: ServerOptions().table)
        manual.isConfigurable = true
        manual.notes = [
            "SIGTERM drains: nobody new is taken (503, and /readyz says so), those that are there have the time of --drain "
                + "to leave, then their connections are closed with 1001, upon which clients connect anew. Media goes from "
                + "peer to peer and notices nothing. SIGINT ends at once.",
            "On the server's port are /healthz (200 as long as it works), /readyz (200 while it takes somebody new, else "
                + "503) and, for programs of this machine that ask directly, /metrics.",
        ]
        manual.exitCodes = [
            (0, "it was asked to end"), (1, "it could not start"), (2, "wrong arguments; the line says which"),
        ]
        manual.examples = [
            "\(program) --host 0.0.0.0 --port 443 --secret-file secret --certificate chain.pem --key key.pem",
            "\(program) --config /etc/emisora/signaling.conf --log json --metrics 127.0.0.1:9464",
        ]
        manual.seeAlso = ["emisora", "emisora-publish", "emisora-watch", "emisora-token"]
        return manual
    }
}
