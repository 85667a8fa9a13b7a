import EmisoraOperations
import EmisoraSignalingProtocol
import Synchronization

/// The signaling server as a library: rooms over websocket, WHIP, WHEP, the viewer page, on one port and one thread.
///
/// ```swift
/// let server = SignalingServer()
/// let port = try server.start()  // throws a SignalingServerError that says what to do
/// …
/// server.stop()
/// ```
///
/// `start()` and `stop()` may be called from any thread; a stopped server can be started again.
package final class SignalingServer: Sendable {
    /// Where `/metrics` is.
    package enum MetricsAccess: Equatable, Sendable {
        case off
        /// On the server's own port, for programs of the same machine that ask it directly.
        case thisMachine
        /// On an address of its own, for all who reach it.
        case at(MetricsAddress)
    }

    package struct Configuration: Equatable, Sendable {
        /// A numeric address or a name of this machine; `0.0.0.0` and `::` take connections from everywhere. Without a
        /// secret only loopback is listened at, unless `isInsecurelyOpen`.
        package var host = "127.0.0.1"
        /// 0 takes any free port; `start()` returns it.
        package var port: UInt16 = 8080
        /// How long a WHIP or WHEP client waits for the other side's answer before it gets 504.
        package var answerTimeout: Duration = .seconds(10)
        /// STUN and TURN servers for all who join: W3C `RTCConfiguration.iceServers`.
        package var iceServers: [ICEServerDescription] = []
        /// The path of a file with the secret that access tokens are signed with; `nil`: everybody may join.
        package var secretFile: String?
        /// The path of a file with the key by which sessions are resumed after a restart of the server, made when it is
        /// not there; `nil`: made of the tokens' secret, or, without one, anew at each start.
        package var resumeKeyFile: String?
        /// The path of a file with the secret shared with the TURN servers (coturn's `static-auth-secret`): who joins
        /// gets credentials of its own for them.
        package var turnSecretFile: String?
        /// The paths of the PEM files of the certificate and its key; both or none. With them the server speaks TLS only.
        package var certificateFile: String?
        package var keyFile: String?
        /// Origins of web pages, beside the server's own, that may connect; `*`: all.
        package var allowedOrigins: Set<String> = []
        /// Listen where `host` says although everybody may join.
        package var isInsecurelyOpen = false
        /// The Redis server through which this one and others share their rooms; `nil`: it stands alone.
        package var redis: RedisURL?
        package var limits = ServerLimits()
        package var metrics = MetricsAccess.thisMachine
        /// How long clients have to leave when the server is asked to end, before they are told to.
        package var drainTime: Duration = .seconds(5)
        /// Offer a subprotocol that sends every message back: for tests of the websocket layer, never for service.
        package var echoes = false

        package init(
            host: String = "127.0.0.1", port: UInt16 = 8080, answerTimeout: Duration = .seconds(10),
            iceServers: [ICEServerDescription] = []
        ) {
            self.host = host
            self.port = port
            self.answerTimeout = answerTimeout
            self.iceServers = iceServers
        }
    }

    private struct Running {
        var thread: ServerThread<ServerLoop>
        var backplane: ServerThread<RedisBackplane>?
        var url: String
        var metrics: ServerMetrics
        var endpoint: MetricsEndpoint?
        /// Of the metrics' endpoint.
        var metricsURL: String?
    }

    private let configuration: Configuration
    private let log: Log
    private let running = Mutex<Running?>(nil)

    /// - Parameter log: Gets what the operator should know, on any thread; no secret is ever in it.
    package init(_ configuration: Configuration = Configuration(), log: Log) {
        self.configuration = configuration
        self.log = log
    }

    /// - Parameter onNotice: Gets sentences for the operator, on any thread; no secret is ever in them.
    package convenience init(
        _ configuration: Configuration = Configuration(), onNotice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.init(configuration, log: Log(unixTime: { 0 }, write: onNotice))
    }

    deinit {
        stop()
    }

    /// Where a running server is, such as `http://127.0.0.1:8080/`.
    package var url: String? { running.withLock { $0?.url } }

    /// Where the metrics of a running server are, if they are on an address of their own.
    package var metricsURL: String? { running.withLock { $0?.metricsURL } }

    /// Binds and serves until `stop()`. Returns the port; at once when running already.
    @discardableResult
    package func start() throws(SignalingServerError) -> UInt16 {
        try running.withLock { running throws(SignalingServerError) in
            if let running { return running.thread.body.port }
            let setup = try ServerSetup(configuration, log: log)
            let metrics = ServerMetrics()
            // Before all else, so that whoever looks sees a server that starts.
            let (endpoint, metricsURL) = try startEndpoint(for: metrics)
            try setup.address.checkFree()
            let loop = try ServerLoop(
                address: setup.address, settings: setup.settings, certificateFiles: setup.certificateFiles, log: log,
                metrics: metrics, pages: pages(for: metrics))
            let port = loop.port
            let backplane = try share(loop, setup, metrics)
            let thread: ServerThread<ServerLoop>
            do throws(SignalingServerError) {
                thread = try ServerThread(running: loop)
            } catch {
                Self.end(backplane)
                throw error
            }
            metrics.readiness = .ready
            running = Running(
                thread: thread, backplane: backplane, url: setup.url(port: port), metrics: metrics, endpoint: endpoint,
                metricsURL: metricsURL)
            return port
        }
    }

    private func startEndpoint(
        for metrics: ServerMetrics
    ) throws(SignalingServerError) -> (MetricsEndpoint?, url: String?) {
        guard case .at(let address) = configuration.metrics else { return (nil, nil) }
        let endpoint = MetricsEndpoint(
            exposition: metrics.exposition, readiness: { metrics.readiness }, isShared: { metrics.isShared })
        let port = try endpoint.start(at: address)
        return (endpoint, "http://\(address.urlHost):\(port)/metrics")
    }

    private func pages(for metrics: ServerMetrics) -> OperationsPages {
        OperationsPages(
            readers: configuration.metrics == .thisMachine ? .thisMachine : .nobody, exposition: metrics.exposition,
            readiness: { metrics.readiness }, isShared: { metrics.isShared })
    }

    /// Closes every connection and waits for the thread; the port is free afterwards.
    package func stop() {
        guard let ended = take() else { return }
        ended.thread.body.requestStop()
        Self.finish(ended)
    }

    /// Takes nobody new, gives those that are there `Configuration.drainTime` to leave, and closes (1001) the connections
    /// of who has not. Returns when that is done.
    package func drain() {
        guard let ended = take() else { return }
        ended.thread.body.requestDrain(configuration.drainTime)
        Self.finish(ended)
    }

    /// Waits for what was asked to end.
    private static func finish(_ ended: Running) {
        ended.thread.join()
        // Afterwards, so that it carries the loop's last words.
        end(ended.backplane)
        ended.endpoint?.stop()
    }

    /// Returns when what was sent has gone out.
    private static func end(_ backplane: ServerThread<RedisBackplane>?) {
        backplane?.body.requestStop()
        backplane?.join()
    }

    private func take() -> Running? {
        running.withLock { running in
            defer { running = nil }
            return running
        }
    }

    private func share(
        _ loop: ServerLoop, _ setup: ServerSetup, _ metrics: ServerMetrics
    ) throws(SignalingServerError) -> ServerThread<RedisBackplane>? {
        guard let redis = configuration.redis, let node = setup.settings.node else { return nil }
        metrics.isShared = false
        let backplane = try RedisBackplane(url: redis, node: node, log: log) { [weak loop] event in
            switch event {
            case .connected: metrics.isShared = true
            case .disconnected: metrics.isShared = false
            case .received, .claimed: break
            }
            return loop?.take(event) ?? false
        }
        loop.share(through: backplane)
        do throws(SignalingServerError) {
            return try ServerThread(running: backplane)
        } catch {
            loop.discard()
            throw error
        }
    }
}
