import CEmisoraWebsockets
import EmisoraCore
import EmisoraCrypto
import EmisoraSignalingProtocol
import Glibc
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

    /// `@unchecked Sendable` handle: the loop's own invariants make it safe, the thread is joined once.
    private struct Running: @unchecked Sendable {
        let loop: ServerLoop
        let thread: pthread_t
        let backplane: (RedisBackplane, thread: pthread_t)?
        let url: String
    }

    private let configuration: Configuration
    private let onNotice: @Sendable (String) -> Void
    private let running = Mutex<Running?>(nil)

    /// - Parameter onNotice: Gets sentences for the operator, on any thread; no secret is ever in them.
    package init(
        _ configuration: Configuration = Configuration(), onNotice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.onNotice = onNotice
    }

    deinit {
        stop()
    }

    /// Where a running server is, such as `http://127.0.0.1:8080/`.
    package var url: String? { running.withLock { $0?.url } }

    /// Binds and serves until `stop()`. Returns the port; at once when running already.
    @discardableResult
    package func start() throws(SignalingServerError) -> UInt16 {
        try running.withLock { running throws(SignalingServerError) in
            if let running { return running.loop.port }
            let setup = try ServerSetup(configuration, onNotice: onNotice)
            try setup.address.checkFree()
            let loop = try ServerLoop(
                address: setup.address, settings: setup.settings, certificateFiles: setup.certificateFiles,
                onNotice: onNotice)
            let backplane = try share(loop, setup)
            var thread = pthread_t()
            let argument = Unmanaged.passRetained(loop)
            guard pthread_create(&thread, nil, runServerLoop, argument.toOpaque()) == 0 else {
                argument.release()
                loop.discard()
                if let backplane { Self.end(backplane) }
                throw .failed("no thread could be started")
            }
            running = Running(loop: loop, thread: thread, backplane: backplane, url: setup.url(port: loop.port))
            return loop.port
        }
    }

    /// Closes every connection and waits for the thread; the port is free afterwards.
    package func stop() {
        let ended = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let ended else { return }
        ended.loop.requestStop()
        pthread_join(ended.thread, nil)
        // Afterwards, so that it carries the loop's last words.
        if let backplane = ended.backplane { Self.end(backplane) }
    }

    private func share(
        _ loop: ServerLoop, _ setup: ServerSetup
    ) throws(SignalingServerError) -> (RedisBackplane, thread: pthread_t)? {
        guard let redis = configuration.redis, let node = setup.settings.node else { return nil }
        let backplane = try RedisBackplane(
            url: redis, node: node, onEvent: { [weak loop] in loop?.take($0) ?? false }, onNotice: onNotice)
        loop.share(through: backplane)
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(backplane)
        guard pthread_create(&thread, nil, runBackplane, argument.toOpaque()) == 0 else {
            argument.release()
            loop.discard()
            throw .failed("no thread could be started")
        }
        return (backplane, thread)
    }

    private static func end(_ backplane: (RedisBackplane, thread: pthread_t)) {
        backplane.0.requestStop()
        pthread_join(backplane.thread, nil)
    }
}

private func runBackplane(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<RedisBackplane>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}

/// Outside any type and any `main.swift`: a thread's entry must not inherit an actor.
private func runServerLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<ServerLoop>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
