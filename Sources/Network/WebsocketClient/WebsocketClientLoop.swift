import CEmisoraWebsockets
import Glibc
import Synchronization

/// The thread of a `WebsocketClient`: libwebsockets' service loop and everything that happens on it.
///
/// `@unchecked Sendable`: `shared` is a mutex; every other variable is touched by the loop's own thread only, between
/// the start of `run()` and its end.
final class WebsocketClientLoop: @unchecked Sendable {
    private struct Shared {
        var context: ServiceContext?
        var started = false
        var closing = false
        var open = false
        var queue: [[UInt8]] = []
        var queuedBytes = 0
        var farewell: [[UInt8]] = []
        var dropping = false
    }

    private let address: WebsocketAddress
    private let subprotocol: String
    private let settings: WebsocketClient.Settings
    private let delay: ReconnectDelay
    private let onEvent: @Sendable (WebsocketEvent) -> Void
    private let shared = Mutex(Shared())

    private var socket: OpaquePointer?
    private var attempting = false
    /// Why the server's certificate was not accepted in this attempt.
    private var certificateProblem: String?
    private var incoming: [UInt8] = []
    private var oversized = false
    private let timer = UnsafeMutablePointer<emisora_lws_timer>.allocate(capacity: 1)
    private let keepalive = UnsafeMutablePointer<lws_retry_bo_t>.allocate(capacity: 1)

    init(
        address: WebsocketAddress, subprotocol: String, settings: WebsocketClient.Settings,
        delay: ReconnectDelay, onEvent: @escaping @Sendable (WebsocketEvent) -> Void
    ) {
        self.address = address
        self.subprotocol = subprotocol
        self.settings = settings
        self.onEvent = onEvent
        self.delay = delay
        timer.initialize(to: emisora_lws_timer())
        keepalive.initialize(to: lws_retry_bo_t())
        keepalive.pointee.secs_since_valid_ping = UInt16(clamping: settings.pingInterval)
        keepalive.pointee.secs_since_valid_hangup = UInt16(clamping: settings.silenceLimit)
    }

    deinit {
        timer.deallocate()
        keepalive.deallocate()
    }

    // MARK: Any thread

    /// Whether the thread should be started now.
    func begin() -> Bool {
        shared.withLock { shared in
            guard !shared.started, !shared.closing else { return false }
            shared.started = true
            return true
        }
    }

    func send(_ text: [UInt8]) -> Bool {
        shared.withLock { shared in
            guard shared.open, !shared.closing, shared.queuedBytes + text.count <= settings.queueLimit
            else { return false }
            shared.queue.append(text)
            shared.queuedBytes += text.count
            shared.context?.wake()
            return true
        }
    }

    func requestClose(farewell: [[UInt8]]) {
        shared.withLock { shared in
            if !shared.closing { shared.farewell = farewell }
            shared.closing = true
            shared.context?.wake()
        }
    }

    func requestReconnect() {
        shared.withLock { shared in
            guard shared.open, !shared.closing else { return }
            shared.dropping = true
            shared.context?.wake()
        }
    }

    func threadFailed() {
        onEvent(.connectFailed("no thread could be started"))
    }

    // MARK: The loop's thread

    func run() {
        emisora_lws_silence()
        let name = strdup(subprotocol)
        let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)
        protocols[0].name = UnsafePointer(name)
        protocols[0].callback = websocketClientCallback
        protocols[0].rx_buffer_size = 16_384
        defer {
            protocols.deallocate()
            free(name)
        }
        var info = lws_context_creation_info()
        info.port = -1  // CONTEXT_PORT_NO_LISTEN
        info.protocols = UnsafePointer(protocols)
        info.user = Unmanaged.passUnretained(self).toOpaque()
        info.connect_timeout_secs = UInt32(clamping: settings.connectTimeout)
        info.timeout_secs = UInt32(clamping: settings.connectTimeout)
        info.options = UInt64(LWS_SERVER_OPTION_VALIDATE_UTF8)
        let authorities = settings.certificateAuthorities.map { strdup($0) } ?? nil
        defer { free(authorities) }
        if address.isSecure {
            if let path = settings.certificateAuthorities, access(path, R_OK) != 0 {
                // libwebsockets would go on without, and no certificate would ever do.
                let reason = String(cString: strerror(errno))
                onEvent(.connectFailed("the certificate authorities cannot be read from \(path): \(reason)"))
                return
            }
            info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
            info.ssl_client_options_set = emisora_lws_no_old_tls()
            if let authorities {
                info.client_ssl_ca_filepath = UnsafePointer(authorities)
                info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS)
            }
        }
        guard let pointer = lws_create_context(&info) else {
            onEvent(.connectFailed("libwebsockets could not be set up"))
            return
        }
        let context = ServiceContext(pointer: pointer)
        timer.pointee.user = Unmanaged.passUnretained(self).toOpaque()
        timer.pointee.fire = { user in
            guard let user else { return }
            Unmanaged<WebsocketClientLoop>.fromOpaque(user).takeUnretainedValue().attempt()
        }
        var closing = shared.withLock { shared in
            shared.context = context
            return shared.closing
        }
        if !closing { attempt() }
        while !closing {
            if lws_service(context.pointer, 0) < 0 { break }
            closing = shared.withLock(\.closing)
        }
        leave(context)
        shared.withLock { $0.context = nil }
        emisora_lws_timer_cancel(timer)
        lws_context_destroy(context.pointer)
        onEvent(.closed)
    }

    /// Sends what is queued and the farewell, giving a live server half a second to take it.
    private func leave(_ context: ServiceContext) {
        let isOpen = shared.withLock { shared in
            guard shared.open else { return false }
            shared.queue += shared.farewell
            return true
        }
        guard isOpen else { return }
        if let socket { lws_callback_on_writable(socket) }
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let end = now.tv_sec * 1000 + now.tv_nsec / 1_000_000 + 500
        timer.pointee.fire = { _ in }
        while !shared.withLock(\.queue.isEmpty), socket != nil {
            clock_gettime(CLOCK_MONOTONIC, &now)
            if now.tv_sec * 1000 + now.tv_nsec / 1_000_000 >= end { break }
            emisora_lws_timer_schedule(context.pointer, timer, 50_000)
            if lws_service(context.pointer, 0) < 0 { break }
        }
    }

    private func attempt() {
        guard let context = shared.withLock({ $0.closing ? nil : $0.context }) else { return }
        attempting = true
        certificateProblem = nil
        let made = address.host.withCString { host in
            address.path.withCString { path in
                address.authority.withCString { authority in
                    subprotocol.withCString { subprotocol in
                        var info = lws_client_connect_info()
                        info.context = context.pointer
                        info.address = host
                        info.port = Int32(address.port)
                        info.path = path
                        info.host = authority
                        info.protocol = subprotocol
                        if address.isSecure { info.ssl_connection = Int32(LCCSCF_USE_SSL.rawValue) }
                        info.retry_and_idle_policy = UnsafePointer(keepalive)
                        return lws_client_connect_via_info(&info)
                    }
                }
            }
        }
        if made == nil { failed("no connection to \(address.authority)") }
    }

    private func failed(_ reason: String) {
        guard attempting else { return }
        attempting = false
        reconnectLater()
        onEvent(.connectFailed(reason))
    }

    private func reconnectLater() {
        guard let context = shared.withLock({ $0.closing ? nil : $0.context }) else { return }
        guard let (seconds, attoseconds) = delay.next()?.components else { return }
        emisora_lws_timer_schedule(context.pointer, timer, seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    private func opened(_ socket: OpaquePointer) {
        attempting = false
        self.socket = socket
        incoming = []
        oversized = false
        let greeting = settings.greeting?()
        shared.withLock { shared in
            shared.queue = greeting.map { [$0] } ?? []
            shared.queuedBytes = greeting?.count ?? 0
            shared.dropping = false
            shared.open = true
        }
        lws_callback_on_writable(socket)
        onEvent(.opened)
    }

    private func lost() {
        guard socket != nil else { return }
        socket = nil
        let closing = shared.withLock { shared in
            shared.open = false
            shared.queue = []
            shared.queuedBytes = 0
            return shared.closing
        }
        guard !closing else { return }
        reconnectLater()
        onEvent(.lost)
    }

    private func received(_ socket: OpaquePointer, _ fragment: UnsafeRawBufferPointer) {
        if incoming.count + fragment.count > settings.longestMessage {
            oversized = true
            incoming = []
        }
        if !oversized { incoming.append(contentsOf: fragment) }
        guard lws_is_final_fragment(socket) != 0, lws_remaining_packet_payload(socket) == 0 else { return }
        defer {
            incoming.removeAll(keepingCapacity: true)
            oversized = false
        }
        // One too long is passed over: the server is trusted, not obeyed.
        if !oversized { onEvent(.message(incoming)) }
    }

    /// Writes one message, as libwebsockets allows per turn; negative closes the connection.
    private func writable(_ socket: OpaquePointer) -> Int32 {
        if shared.withLock({ $0.dropping && !$0.closing }) { return -1 }
        let (message, more) = shared.withLock { shared -> ([UInt8]?, Bool) in
            guard !shared.queue.isEmpty else { return (nil, false) }
            let message = shared.queue.removeFirst()
            shared.queuedBytes -= message.count
            return (message, !shared.queue.isEmpty)
        }
        guard let message else { return 0 }
        let front = emisora_lws_pre()
        var buffer = [UInt8](repeating: 0, count: front)
        buffer.append(contentsOf: message)
        let written = buffer.withUnsafeMutableBufferPointer { bytes in
            lws_write(socket, bytes.baseAddress.map { $0 + front }, message.count, LWS_WRITE_TEXT)
        }
        if written < message.count { return -1 }
        if more { lws_callback_on_writable(socket) }
        return 0
    }

    fileprivate func handle(
        _ socket: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
        _ data: UnsafeMutableRawPointer?, _ length: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
            if let socket = self.socket, shared.withLock({ !$0.queue.isEmpty || $0.dropping }) {
                lws_callback_on_writable(socket)
            }
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            if let certificateProblem {
                failed(
                    "the certificate of \(address.host) is not accepted: \(certificateProblem); if it is your own server, name "
                        + "the file of its certificate authority")
                return 0
            }
            let why = data.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: length), as: UTF8.self) }
            failed("\(address.authority) did not accept the connection" + (why.map { " (\($0))" } ?? ""))
        case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
            // `length` is OpenSSL's verdict, which stands.
            if length == 0, let user {
                certificateProblem = emisora_lws_certificate_problem(user).map { String(cString: $0) }
            }
        case LWS_CALLBACK_CLIENT_ESTABLISHED:
            // What is secret goes to nobody but the server that was named, by the way that was named.
            guard let socket, !address.isSecure || lws_is_ssl(socket) != 0 else { return -1 }
            opened(socket)
        case LWS_CALLBACK_CLIENT_HTTP_REDIRECT:
            return -1
        case LWS_CALLBACK_CLIENT_RECEIVE:
            if let socket { received(socket, UnsafeRawBufferPointer(start: data, count: length)) }
        case LWS_CALLBACK_CLIENT_WRITEABLE:
            if let socket { return writable(socket) }
        case LWS_CALLBACK_CLIENT_CLOSED:
            if socket == self.socket { lost() }
        default:
            break
        }
        return 0
    }
}

/// libwebsockets' context. `@unchecked Sendable`: other threads only call `wake()`, which libwebsockets allows, and
/// only under the mutex from which the loop takes the context before it destroys it.
private struct ServiceContext: @unchecked Sendable {
    let pointer: OpaquePointer

    func wake() { lws_cancel_service(pointer) }
}

private func websocketClientCallback(
    _ socket: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ data: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    guard let socket, let context = lws_get_context(socket), let object = lws_context_user(context) else { return 0 }
    return Unmanaged<WebsocketClientLoop>.fromOpaque(object).takeUnretainedValue()
        .handle(socket, reason, user, data, length)
}
