import CEmisoraWebsockets
import EmisoraCore
import EmisoraCrypto
import EmisoraOperations
import EmisoraSignalingProtocol
import EmisoraTLS
import Glibc
import Synchronization

/// The server's thread: carries bytes between libwebsockets and `ServerCore`.
///
/// libwebsockets 4.1.6 lets a second request on one connection, with `Upgrade:` of something unknown, use freed
/// memory. Therefore every upgrade but `websocket` is refused in `LWS_CALLBACK_HTTP_CONFIRM_UPGRADE`, by a copy of the
/// header and without a look at the callback's argument; and `Content-Length` is checked here, since the library takes
/// −1 for a very large number.
///
/// `@unchecked Sendable`: `stopping` is atomic, `shared`, `happened` and `backplane` are mutexes, `port` fixed after `init`; all else is touched by the
/// thread that makes the loop and, once that has started it, by the loop's own thread only.
final class ServerLoop: ThreadBody, @unchecked Sendable {
    typealias Core = ServerCore<SecureRandom>

    private(set) var port: UInt16 = 0
    let limits: ServerLimits
    let origins: OriginPolicy
    let hosts: HostPolicy
    let log: Log
    let pages: OperationsPages
    let metrics: ServerMetrics
    private let stopping = Atomic(false)
    private let wantedDrain = Mutex<Duration?>(nil)
    private let shared = Mutex<ServiceContext?>(nil)
    private let happened = Mutex(WaitingEvents())
    private let backplane = Mutex<RedisBackplane?>(nil)
    private var context: OpaquePointer?
    private let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 4)
    private let names: [UnsafeMutablePointer<CChar>?]
    private let interface: UnsafeMutablePointer<CChar>?
    /// No HTTP/2: this version of libwebsockets is asked for what is tested alone.
    private let alpn = strdup("http/1.1")
    private let keepalive = UnsafeMutablePointer<lws_retry_bo_t>.allocate(capacity: 1)
    private let timer = UnsafeMutablePointer<emisora_lws_timer>.allocate(capacity: 1)
    private let hangUpTimer = UnsafeMutablePointer<emisora_lws_timer>.allocate(capacity: 1)
    private let metricsTimer = UnsafeMutablePointer<emisora_lws_timer>.allocate(capacity: 1)
    private let certificateTimer = UnsafeMutablePointer<emisora_lws_timer>.allocate(capacity: 1)
    private let certificate: TLSServerCertificate?
    private var certificateFiles: CertificateFiles?

    // Touched by the extensions, too: one for websocket, one for HTTP.
    var core: Core
    var gate: ConnectionGate<OpaquePointer>
    var sockets: [OpaquePointer: Socket] = [:]
    var socketOfConnection: [Core.ConnectionID: OpaquePointer] = [:]
    var exchanges: [OpaquePointer: Exchange] = [:]
    var exchangeOfRequest: [HTTPRequestID: OpaquePointer] = [:]
    var lastRequest: UInt64 = 0
    var upgrades: [OpaquePointer: Upgrade] = [:]
    var traffic = ServerMetrics.Traffic()
    /// Connections that have had a response.
    var answered: Set<OpaquePointer> = []
    var drainState: Drain?

    /// Listens from here on; `run()` serves.
    ///
    /// - Parameter pages: For those who run the server.
    init(
        address: ListenAddress, settings: Core.Settings, certificateFiles: CertificateFiles?, log: Log,
        metrics: ServerMetrics = ServerMetrics(), pages: OperationsPages
    ) throws(SignalingServerError) {
        emisora_lws_silence()
        limits = settings.limits.within(descriptors: sysconf(Int32(_SC_OPEN_MAX)))
        origins = settings.origins
        hosts = settings.hosts
        self.log = log
        self.metrics = metrics
        self.pages = pages
        core = Core(random: SecureRandom(), settings: settings)
        gate = ConnectionGate(limits: limits)
        certificate = try Self.read(certificateFiles)
        self.certificateFiles = certificateFiles
        _ = self.certificateFiles?.haveChanged()
        interface = address.isWildcard ? nil : strdup(address.numeric)
        let names = ["http", SignalingProtocol.subprotocol] + (settings.echoes ? [Self.echoProtocol] : [])
        self.names = names.map { strdup($0) }
        protocols.initialize(repeating: lws_protocols(), count: 4)
        for (index, name) in self.names.enumerated() {
            protocols[index].name = name.map { UnsafePointer($0) }
            protocols[index].callback = serverCallback
            protocols[index].rx_buffer_size = 16_384
        }
        keepalive.initialize(to: lws_retry_bo_t())
        keepalive.pointee.secs_since_valid_ping = 2
        keepalive.pointee.secs_since_valid_hangup = 4
        arm(timer) { ServerLoop.of($0)?.timeout() }
        arm(hangUpTimer) { ServerLoop.of($0)?.lookForHangUps() }
        arm(metricsTimer) { ServerLoop.of($0)?.tickMetrics() }
        arm(certificateTimer) { ServerLoop.of($0)?.lookForCertificate() }
        context = try listen(at: address)
        shared.withLock { $0 = context.map(ServiceContext.init) }
        if certificate != nil { scheduleCertificateCheck() }
        if settings.publishesMetrics { tickMetrics() }
    }

    private static func read(_ files: CertificateFiles?) throws(SignalingServerError) -> TLSServerCertificate? {
        guard let files else { return nil }
        do throws(TLSError) {
            return try TLSServerCertificate(certificate: files.certificate, key: files.key)
        } catch {
            throw .certificate(error.description)
        }
    }

    private func listen(at address: ListenAddress) throws(SignalingServerError) -> OpaquePointer {
        var info = lws_context_creation_info()
        info.port = Int32(address.port)
        info.iface = interface.map { UnsafePointer($0) }
        info.protocols = UnsafePointer(protocols)
        info.retry_and_idle_policy = UnsafePointer(keepalive)
        // The gate is stricter; these are for what it does not see.
        info.timeout_secs = 10
        info.keepalive_timeout = 10
        // Room for a token beside what browsers send.
        info.max_http_header_data = 8192
        info.user = Unmanaged.passUnretained(self).toOpaque()
        info.options = UInt64(LWS_SERVER_OPTION_VALIDATE_UTF8) | UInt64(LWS_SERVER_OPTION_EXPLICIT_VHOSTS)
        if !address.isIPv6 { info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_IPV6) }
        if certificate != nil {
            // The certificate comes by LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS, so that it can be exchanged.
            info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
            info.options |= UInt64(LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX)
            info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS)
        }
        info.alpn = alpn.map { UnsafePointer($0) }
        guard let context = lws_create_context(&info) else { throw .failed("libwebsockets could not be set up") }
        guard let vhost = lws_create_vhost(context, &info),
            let listening = UInt16(exactly: lws_get_vhost_listen_port(vhost)), listening != 0
        else {
            lws_context_destroy(context)
            throw .portTaken(host: address.host, port: address.port)
        }
        port = listening
        return context
    }

    private func arm(
        _ timer: UnsafeMutablePointer<emisora_lws_timer>, _ fire: @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        timer.initialize(to: emisora_lws_timer())
        timer.pointee.user = Unmanaged.passUnretained(self).toOpaque()
        timer.pointee.fire = fire
    }

    private static func of(_ user: UnsafeMutableRawPointer?) -> ServerLoop? {
        user.map { Unmanaged<ServerLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    deinit {
        protocols.deallocate()
        keepalive.deallocate()
        timer.deallocate()
        hangUpTimer.deallocate()
        certificateTimer.deallocate()
        metricsTimer.deallocate()
        for name in names + [interface, alpn] { free(name) }
    }

    /// Ends `run()`; from any thread.
    func requestStop() {
        stopping.store(true, ordering: .releasing)
        shared.withLock { $0?.wake() }
    }

    /// Ends `run()` when all clients have left, `time` from now at the latest; from any thread.
    func requestDrain(_ time: Duration) {
        wantedDrain.withLock { $0 = time }
        shared.withLock { $0?.wake() }
    }

    /// Lets go of the port of a loop that never ran.
    func discard() {
        guard let context else { return }
        shared.withLock { $0 = nil }
        lws_context_destroy(context)
        self.context = nil
    }

    // MARK: Other nodes

    /// Between `init` and `run()`.
    func share(through backplane: RedisBackplane) {
        self.backplane.withLock { $0 = backplane }
    }

    /// From any thread; `false`: so much waits already that it is better said again later.
    func take(_ event: BackplaneEvent) -> Bool {
        let isTaken = happened.withLock { waiting in
            // A break, and what follows it, is never left out.
            if case .received(let bytes) = event {
                guard waiting.events.count < 100_000, waiting.byteCount < 64 << 20 else { return false }
                waiting.byteCount += bytes.count
            }
            waiting.events.append(event)
            return true
        }
        shared.withLock { $0?.wake() }
        return isTaken
    }

    private func takeEvents() {
        let events = happened.withLock { waiting in
            defer { waiting = WaitingEvents() }
            return waiting.events
        }
        for event in events { core.happened(event, now: .monotonic) }
    }

    // MARK: The loop's thread

    func run() {
        while !stopping.load(ordering: .acquiring) {
            if lws_service(context, 0) < 0 { break }
            if let time = wantedDrain.withLock({ $0 }) { beginDrain(time) }
            continueDrain()
            if isDrained { break }
        }
        core.ends()
        drain()
        emisora_lws_timer_cancel(timer)
        emisora_lws_timer_cancel(hangUpTimer)
        emisora_lws_timer_cancel(certificateTimer)
        emisora_lws_timer_cancel(metricsTimer)
        discard()
    }

    fileprivate func handle(
        _ socket: OpaquePointer, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
        _ data: UnsafeMutableRawPointer?, _ length: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
            guard let user, let certificate else { return -1 }
            return (try? certificate.attach(to: user)) == nil ? -1 : 0
        case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
            // `data` is the descriptor; there is no connection of the library's yet.
            let isAdmitted = gate.admits(peer(of: Int32(truncatingIfNeeded: Int(bitPattern: data))))
            if !isAdmitted { count(refusal: .limit) }
            return isAdmitted ? 0 : 1
        case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
            let descriptor = lws_get_socket_fd(socket)
            // What waits for a slow reader is to wait where it is counted: the kernel would take megabytes.
            var kept: Int32 = 1 << 16
            setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kept, socklen_t(MemoryLayout<Int32>.size))
            let peer = peer(of: descriptor)
            for stranger in gate.opened(socket, from: peer, now: .monotonic) {
                count(refusal: .stranger)
                hangUp(stranger)
            }
        case LWS_CALLBACK_WSI_DESTROY:
            gate.closed(socket)
            answered.remove(socket)
            forget(socket)
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
            // `data` may point to freed memory here (see above): only copied headers count.
            return confirmUpgrade(socket)
        case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
            return isSignaling(socket) ? admit(socket) : isEcho(socket) ? 0 : -1
        case LWS_CALLBACK_ESTABLISHED:
            if isEcho(socket) {
                establishedEcho(socket)
                break
            }
            guard isSignaling(socket) else { return -1 }
            established(socket)
        case LWS_CALLBACK_RECEIVE:
            return received(socket, UnsafeRawBufferPointer(start: data, count: length))
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            return closing(socket, UnsafeRawBufferPointer(start: data, count: length))
        case LWS_CALLBACK_SERVER_WRITEABLE:
            return sendNext(socket)
        case LWS_CALLBACK_CLOSED, LWS_CALLBACK_CLOSED_HTTP:
            forget(socket)
        case LWS_CALLBACK_HTTP:
            return begin(socket, path: UnsafeRawBufferPointer(start: data, count: length))
        case LWS_CALLBACK_HTTP_BODY:
            traffic.receivedBytes &+= UInt64(length)
            exchanges[socket]?.request.body.append(contentsOf: UnsafeRawBufferPointer(start: data, count: length))
            return 0
        case LWS_CALLBACK_HTTP_BODY_COMPLETION:
            if exchanges[socket]?.response == nil { submit(socket) }
        case LWS_CALLBACK_HTTP_WRITEABLE:
            return respond(socket)
        case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
            takeEvents()
        default:
            return 0
        }
        drain()
        return 0
    }

    /// Hands out what the core decided and sets the timer to the next deadline.
    func drain() {
        guard let context else { return }
        while let output = core.pollOutput() {
            switch output {
            case .send(let message, let connection):
                guard let socket = socketOfConnection[connection] else { continue }
                enqueue(Outgoing(bytes: message), for: socket)
            case .close(let connection):
                guard let socket = socketOfConnection[connection] else { continue }
                closeWhenSent(socket)
            case .hangUp(let connection):
                if let socket = socketOfConnection[connection] { cutOff(socket) }
            case .admitted(let connection):
                guard let socket = socketOfConnection[connection] else { continue }
                gate.became(known: socket)
                joined(socket)
            case .respond(let response, let request):
                guard let socket = exchangeOfRequest[request] else { continue }
                accept(response, for: socket)
            case .backplane(let command):
                backplane.withLock { $0 }?.send(command)
            }
        }
        if let deadline = [core.nextDeadline, gate.nextDeadline, drainState?.deadline].compactMap(\.self).min() {
            emisora_lws_timer_schedule(context, timer, (deadline - .monotonic).nanoseconds / 1000 + 1)
        } else {
            emisora_lws_timer_cancel(timer)
        }
    }

    func forget(_ socket: OpaquePointer) {
        upgrades[socket] = nil
        if let ended = sockets.removeValue(forKey: socket) {
            if let connection = ended.connection {
                socketOfConnection[connection] = nil
                if let place = ended.place {
                    log.record(.debug, "participant.left", "A participant is gone.", place)
                }
                core.closed(connection, now: .monotonic)
            }
        }
        if let exchange = exchanges.removeValue(forKey: socket) {
            exchangeOfRequest[exchange.id] = nil
            core.abandoned(exchange.id)
        }
    }

    /// Ends a connection without a word; not at once, since its own callback may be at work.
    func hangUp(_ socket: OpaquePointer) {
        lws_set_timeout(socket, PENDING_TIMEOUT_CLOSE_SEND, Int32(LWS_TO_KILL_ASYNC))
    }

    private func isSignaling(_ socket: OpaquePointer) -> Bool { hasProtocol(SignalingProtocol.subprotocol, socket) }

    func hasProtocol(_ name: String, _ socket: OpaquePointer) -> Bool {
        lws_get_protocol(socket)?.pointee.name.map { strcmp($0, name) == 0 } ?? false
    }

    // MARK: Timers

    private func timeout() {
        core.handleTimeout(now: .monotonic)
        // Websockets are told why before they are closed.
        drain()
        for stranger in gate.handleTimeout(now: .monotonic) where sockets[stranger]?.closesWhenSent != true {
            // A connection that was of use and is idle now has done nothing wrong.
            if !answered.contains(stranger) { count(refusal: .stranger) }
            hangUp(stranger)
        }
        drain()
    }

    func scheduleHangUpCheck() {
        guard let context else { return }
        emisora_lws_timer_schedule(context, hangUpTimer, 250_000)
    }

    private func tickMetrics() {
        publishMetrics()
        guard let context else { return }
        emisora_lws_timer_schedule(context, metricsTimer, 1_000_000)
    }

    private func scheduleCertificateCheck() {
        guard let context else { return }
        emisora_lws_timer_schedule(context, certificateTimer, 1_000_000)
    }

    private func lookForCertificate() {
        defer { scheduleCertificateCheck() }
        guard let files = certificateFiles, certificateFiles?.haveChanged() == true else { return }
        do throws(TLSError) {
            try certificate?.load(certificate: files.certificate, key: files.key)
            log.record(
                .info, "certificate.loaded", "New connections get the new certificate of \(files.certificate).",
                ["file": .text(files.certificate)])
        } catch {
            // Perhaps only one of the two files is there yet: the next change is tried again.
            log.record(
                .warning, "certificate.refused", "The certificate in use stays. \(error)",
                ["file": .text(files.certificate)])
        }
    }
}

/// From the other nodes, until the loop has time for it.
private struct WaitingEvents {
    var events: [BackplaneEvent] = []
    var byteCount = 0
}

/// libwebsockets' context. `@unchecked Sendable`: other threads only call `wake()`, which libwebsockets allows, and
/// only under the mutex from which the loop takes the context before it destroys it.
private struct ServiceContext: @unchecked Sendable {
    let pointer: OpaquePointer

    func wake() { lws_cancel_service(pointer) }
}

private func serverCallback(
    _ socket: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ data: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    guard let socket, let context = lws_get_context(socket), let object = lws_context_user(context) else { return 0 }
    return Unmanaged<ServerLoop>.fromOpaque(object).takeUnretainedValue().handle(socket, reason, user, data, length)
}

extension Instant {
    /// The machine's monotonic clock, now.
    static var monotonic: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
