import EmisoraCrypto
import EmisoraOperations
import EmisoraSignalingProtocol
import Glibc

/// What follows from a configuration before anything is listened at: files read, addresses resolved, and where the server
/// may be reached from.
struct ServerSetup: Sendable {
    let address: ListenAddress
    let settings: ServerLoop.Core.Settings
    let certificateFiles: CertificateFiles?

    init(
        _ configuration: SignalingServer.Configuration, log: Log
    ) throws(SignalingServerError) {
        let secret = try Self.secret(configuration.secretFile, atLeast: TokenKey.minimumByteCount, log)
        // TURN's secret is as long as its operator made it.
        let turnSecret = try Self.secret(configuration.turnSecretFile, atLeast: 1, log)
        address = try Self.address(configuration, hasSecret: secret != nil, log)
        switch (configuration.certificateFile, configuration.keyFile) {
        case (nil, nil): certificateFiles = nil
        case (let certificate?, let key?): certificateFiles = CertificateFiles(certificate: certificate, key: key)
        default: throw .certificate("TLS needs both: --certificate FILE and --key FILE.")
        }
        var settings = ServerLoop.Core.Settings()
        settings.answerTimeout = configuration.answerTimeout
        settings.limits = configuration.limits
        settings.echoes = configuration.echoes
        settings.access = AccessPolicy(
            key: secret.map(TokenKey.init), resumptionKey: try Self.resumptionKey(configuration, secret, log),
            unixTime: UnixClock.now)
        settings.iceServers = ICEServerList(configuration.iceServers, secret: turnSecret, unixTime: UnixClock.now)
        settings.origins = OriginPolicy(
            listed: configuration.allowedOrigins,
            own: secret == nil && address.isLoopback ? .loopback : .server(isTLS: certificateFiles != nil))
        if secret == nil {
            settings.hosts = HostPolicy(
                own: [configuration.host] + Self.machineNames(), origins: configuration.allowedOrigins)
        }
        if case .at = configuration.metrics { settings.publishesMetrics = true }
        self.settings = settings
    }

    func url(port: UInt16) -> String {
        let host = address.host.contains(":") ? "[\(address.host)]" : address.host
        return "\(certificateFiles == nil ? "http" : "https")://\(host):\(port)/"
    }

    private static func secret(
        _ path: String?, atLeast minimum: Int, _ log: Log
    ) throws(SignalingServerError) -> SecretFile? {
        guard let path else { return nil }
        let secret = try SecretFile(path: path, atLeast: minimum)
        warn(of: secret, at: path, log)
        return secret
    }

    private static func warn(of secret: SecretFile, at path: String, _ log: Log) {
        guard secret.isReadableByOthers else { return }
        log.record(
            .warning, "secret.readableByOthers", "\(path) may be read by others: chmod 600 \(path)",
            ["file": .text(path)])
    }

    /// A secret that was made while everybody might do everything opens nothing once tokens are asked for: these keys
    /// are never the same.
    private static func resumptionKey(
        _ configuration: SignalingServer.Configuration, _ secret: SecretFile?, _ log: Log
    ) throws(SignalingServerError) -> TokenKey? {
        if let secret {
            guard configuration.resumeKeyFile == nil else {
                throw .failed("--resume-key-file is for a server without --secret-file, which makes its key of that")
            }
            return TokenKey(derivedFrom: secret, for: "emisora: resumption of sessions with tokens")
        }
        var random = SecureRandom()
        func make() -> [UInt8] { Array(SignalingProtocol.makeIdentifier(using: &random).utf8) }
        guard let path = configuration.resumeKeyFile else {
            return TokenKey(derivedFrom: SecretFile(make()), for: "emisora: resumption of sessions")
        }
        let key = try SecretFile.kept(at: path, make: { make() + make() })
        warn(of: key, at: path, log)
        return TokenKey(derivedFrom: key, for: "emisora: resumption of sessions")
    }

    private static func address(
        _ configuration: SignalingServer.Configuration, hasSecret: Bool, _ log: Log
    ) throws(SignalingServerError) -> ListenAddress {
        let wanted = try ListenAddress(host: configuration.host, port: configuration.port)
        guard !hasSecret else { return wanted }
        if wanted.isLoopback {
            log.record(
                .info, "access.thisMachine",
                "Without --secret-file the server is for this machine alone, where everybody may join.")
            return wanted
        }
        if configuration.isInsecurelyOpen {
            log.record(
                .warning, "access.everybody",
                "WARNING: whoever reaches \(wanted.host) may publish and watch in every room, since --insecure-open is "
                    + "given and --secret-file is not.")
            return wanted
        }
        let loopback = try ListenAddress(host: wanted.isIPv6 ? "::1" : "127.0.0.1", port: configuration.port)
        log.record(
            .warning, "access.thisMachine",
            "Without --secret-file the server is for this machine alone: it listens at \(loopback.host), not at "
                + "\(wanted.host). To be reached from elsewhere it needs --secret-file FILE (`openssl rand -hex 32 > FILE`; "
                + "`emisora token` makes tokens), or --insecure-open, with which everybody may join.")
        return loopback
    }

    /// What this machine is called by itself, and by others by multicast DNS.
    private static func machineNames() -> [String] {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return [] }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.isEmpty ? [] : [text, text + ".local"]
    }
}
