import Emisora
import EmisoraOperations
import EmisoraSignalingServer

/// The options that `publish` and `watch` have in common: how to reach the other side.
struct NetworkArguments {
    private var urls: [String] = []
    private var username: String?
    private var credential: String?
    private var isRelayOnly = false
    private var interfaces: [String] = []
    private var ports: ClosedRange<UInt16>?
    private var usesTCPCandidates = true
    private var natAddresses: [IPAddress] = []
    private var certificateAuthorities: String?
    private var certificateFile: String?
    private var token: String?
    private var tokenFile: String?
    private var janus = JanusArguments()
    private var maxAutoRetry: Int?
    private var autoRetryDelay: Duration = .milliseconds(250)

    /// The options' table; each value goes through `change`.
    static func options(_ change: @escaping ((inout NetworkArguments) -> Void) -> Void) -> [Arguments.Option] {
        [
            .init(
                name: "ice-server", values: "stun:HOST[:PORT]|turn:HOST[:PORT][?transport=udp|tcp]|turns:HOST[:PORT]",
                help: "helps through NATs; may be given several times", isRepeatable: true
            ) { url in
                guard (try? ICEServer(urls: [url], username: "-", credential: "-").validate()) != nil else {
                    return false
                }
                change { $0.urls.append(url) }
                return true
            },
            .init(name: "ice-user", values: "NAME", help: "user name for TURN servers") { name in
                change { $0.username = name }
                return !name.isEmpty
            },
            .init(name: "ice-credential", values: "PASSWORD", help: "password for TURN servers", isSecret: true) {
                password in
                change { $0.credential = password }
                return true
            },
            .init(
                name: "ca", values: "FILE.pem",
                help: "who vouches for wss: and turns: servers (the system's authorities)"
            ) {
                file in
                change { $0.certificateAuthorities = file }
                return !file.isEmpty
            },
            .init(name: "ice-ca", values: "FILE.pem", help: "the same as --ca", sameAs: "ca") { file in
                change { $0.certificateAuthorities = file }
                return !file.isEmpty
            },
            .init(
                name: "token-file", values: "FILE",
                help: "the access token, if the server asks for one ($EMISORA_TOKEN)", sameAs: "token"
            ) { file in
                change { $0.tokenFile = file }
                return !file.isEmpty
            },
            .init(
                name: "token", values: "TOKEN", help: "the same; other users of the machine can read it here",
                isSecret: true
            ) { text in
                change { $0.token = text }
                return isToken(text)
            },
            .init(
                name: "certificate", values: "FILE.pem",
                help: "the certificate by which peers know this side again; made when it is not there"
            ) { file in
                change { $0.certificateFile = file }
                return !file.isEmpty
            },
            .init(
                name: "max-auto-retry", values: "0 or more",
                help: "attempts in a row to come back after the server was lost, before it ends (for ever)"
            ) { text in
                guard let count = Int(text), (0...1_000_000).contains(count) else { return false }
                change { $0.maxAutoRetry = count }
                return true
            },
            .init(
                name: "auto-retry-delay", values: "SECONDS, 0 to 5",
                help: "the longest pause before the first; it doubles up to eightfold, 5 s at the most (0.25)"
            ) { text in
                guard let seconds = Double(text), (0...5).contains(seconds) else { return false }
                change { $0.autoRetryDelay = .nanoseconds(Int64(seconds * 1e9)) }
                return true
            },
            .init(name: "relay-only", values: "", help: "only by TURN servers: nobody learns this machine's addresses")
            {
                _ in
                change { $0.isRelayOnly = true }
                return true
            },
            .init(
                name: "interface", values: "NAME", help: "only this network interface; may be given several times",
                isRepeatable: true
            ) { name in
                change { $0.interfaces.append(name) }
                return !name.isEmpty
            },
            .init(name: "ports", values: "FIRST-LAST, 1-65535", help: "only these ports of this machine, UDP and TCP") {
                text in
                guard let range = portRange(text) else { return false }
                change { $0.ports = range }
                return true
            },
            .init(
                name: "no-tcp", values: "",
                help: "no connections over TCP with viewers that UDP does not get through to"
            ) {
                _ in
                change { $0.usesTCPCandidates = false }
                return true
            },
            .init(
                name: "nat-address", values: "IP",
                help: "the address outside of a 1:1 NAT (cloud, container); may be given several times",
                isRepeatable: true
            ) { text in
                guard let ip = IPAddress(text) else { return false }
                change { $0.natAddresses.append(ip) }
                return true
            },
        ] + JanusArguments.options { inner in change { inner(&$0.janus) } }
    }

    /// What can be sent in a header: no JWT has anything else.
    private static func isToken(_ text: String) -> Bool {
        (1...4096).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static func portRange(_ text: String) -> ClosedRange<UInt16>? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard parts.count == 2, let first = parts[0], let last = parts[1], first > 0, first <= last else { return nil }
        return first...last
    }

    /// - Throws: `Arguments.Usage` where options do not fit together.
    func sessionOptions(for url: String) throws -> Session.Options {
        let isRelay = urls.contains { $0.lowercased().hasPrefix("turn") }
        guard !isRelay || (username != nil && credential != nil) else {
            throw Arguments.Usage(
                description: "--ice-server: a TURN server needs --ice-user NAME and --ice-credential PASSWORD")
        }
        return Session.Options(
            addresses: interfaces.isEmpty ? .automatic : .interfaces(interfaces),
            iceServers: urls.isEmpty ? [] : [ICEServer(urls: urls, username: username, credential: credential)],
            iceTransportPolicy: isRelayOnly ? .relay : .all, ports: ports, usesTCPCandidates: usesTCPCandidates,
            natAddresses: natAddresses, certificateAuthorities: certificateAuthorities,
            certificateFile: certificateFile, token: try accessToken(), maxAutoRetry: maxAutoRetry,
            autoRetryDelay: autoRetryDelay, janus: try janus.options(for: url))
    }

    /// Of the two, the token itself counts where one source gives both.
    private func accessToken() throws -> String? {
        if let token { return token }
        return try tokenFile.map { try Self.secret(in: $0, option: "token-file") }
    }

    static func secret(in path: String, option: String) throws -> String {
        do throws(SignalingServerError) {
            let secret = String(decoding: try SecretFile(path: path, atLeast: 1).bytes, as: UTF8.self)
            guard isToken(secret) else { throw .secretFile(path: path, reason: "it holds no token") }
            return secret
        } catch {
            throw Arguments.Usage(description: "--\(option): \(error)")
        }
    }
}
