import CEmisoraWebsockets
import EmisoraCore
import EmisoraCrypto
import EmisoraSignalingProtocol
import Glibc
import Synchronization

/// The server's thread: carries bytes between libwebsockets and `ServerCore`.
///
/// libwebsockets 4.1.6 lets a second request on one connection, with `Upgrade:` of something unknown, use freed
/// memory. Therefore every upgrade but `websocket` is refused in `LWS_CALLBACK_HTTP_CONFIRM_UPGRADE`, by a copy of the
/// header and without a look at the callback's argument; and `Content-Length` is checked here, since the library takes
/// −1 for a very large number.
///
/// `@unchecked Sendable`: `stopping` is atomic, `shared` a mutex, `port` fixed after `init`; all else is touched by the
/// thread that makes the loop and, once that has started it, by the loop's own thread only.
final class ServerLoop: @unchecked Sendable {
    /// Bytes that may wait for a slow reader before its connection is closed.
    static let queueLimit = 256 * 1024
    /// Bytes of one message after which an oversized one is not worth reading to its end.
    static let discardLimit = 1 << 20

    typealias Core = ServerCore<SecureRandom>

    private struct Socket {
        var connection: Core.ConnectionID
        var incoming: [UInt8] = []
        /// Bytes of the current message, kept or not.
        var incomingCount = 0
        var queue: [[UInt8]] = []
        var queuedBytes = 0
        var closesWhenSent = false
        var isTooSlow = false
    }

    private struct Exchange {
        var id: HTTPRequestID
        var request: HTTPRequest
        var keepAlive: Bool
        var response: [UInt8]?
        var closes = false
        /// Whether the answer takes time; nothing is read from the connection meanwhile.
        var waits = false
    }

    private(set) var port: UInt16 = 0
    private let stopping = Atomic(false)
    private let shared = Mutex<ServiceContext?>(nil)
    private var context: OpaquePointer?
    private let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 3)
    private let names = [strdup("http"), strdup(SignalingProtocol.subprotocol)]
    private let interface: UnsafeMutablePointer<CChar>?
    private let keepalive = UnsafeMutablePointer<lws_retry_bo_t>.allocate(capacity: 1)
    private let timer = UnsafeMutablePointer<emisora_lws_timer>.allocate(capacity: 1)
    private let hangUpTimer = UnsafeMutablePointer<emisora_lws_timer>.allocate(capacity: 1)

    private var core: Core
    private var sockets: [OpaquePointer: Socket] = [:]
    private var socketOfConnection: [Core.ConnectionID: OpaquePointer] = [:]
    private var exchanges: [OpaquePointer: Exchange] = [:]
    private var exchangeOfRequest: [HTTPRequestID: OpaquePointer] = [:]
    private var lastRequest: UInt64 = 0
    private var rooms: [OpaquePointer: String] = [:]

    /// Listens from here on; `run()` serves.
    init(
        address: ListenAddress, answerTimeout: Duration, iceServers: [ICEServerDescription]
    ) throws(SignalingServerError) {
        emisora_lws_silence()
        var settings = Core.Settings()
        settings.answerTimeout = answerTimeout
        settings.iceServers = iceServers
        core = Core(random: SecureRandom(), settings: settings)
        interface = address.isWildcard ? nil : strdup(address.numeric)
        protocols.initialize(repeating: lws_protocols(), count: 3)
        for (index, name) in names.enumerated() {
            protocols[index].name = name.map { UnsafePointer($0) }
            protocols[index].callback = serverCallback
            protocols[index].rx_buffer_size = 16_384
        }
        keepalive.initialize(to: lws_retry_bo_t())
        keepalive.pointee.secs_since_valid_ping = 2
        keepalive.pointee.secs_since_valid_hangup = 4
        timer.initialize(to: emisora_lws_timer())
        timer.pointee.user = Unmanaged.passUnretained(self).toOpaque()
        timer.pointee.fire = { user in
            guard let user else { return }
            Unmanaged<ServerLoop>.fromOpaque(user).takeUnretainedValue().timeout()
        }
        hangUpTimer.initialize(to: emisora_lws_timer())
        hangUpTimer.pointee.user = timer.pointee.user
        hangUpTimer.pointee.fire = { user in
            guard let user else { return }
            Unmanaged<ServerLoop>.fromOpaque(user).takeUnretainedValue().lookForHangUps()
        }

        var info = lws_context_creation_info()
        info.port = Int32(address.port)
        info.iface = interface.map { UnsafePointer($0) }
        info.protocols = UnsafePointer(protocols)
        info.retry_and_idle_policy = UnsafePointer(keepalive)
        info.timeout_secs = 10
        info.keepalive_timeout = 10
        info.user = Unmanaged.passUnretained(self).toOpaque()
        info.options = UInt64(LWS_SERVER_OPTION_VALIDATE_UTF8) | UInt64(LWS_SERVER_OPTION_EXPLICIT_VHOSTS)
        if !address.isIPv6 { info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_IPV6) }
        guard let context = lws_create_context(&info) else { throw .failed("libwebsockets could not be set up") }
        guard let vhost = lws_create_vhost(context, &info),
            let listening = UInt16(exactly: lws_get_vhost_listen_port(vhost)),
            listening != 0
        else {
            lws_context_destroy(context)
            throw .portTaken(host: address.host, port: address.port)
        }
        self.context = context
        port = listening
        shared.withLock { $0 = ServiceContext(pointer: context) }
    }

    deinit {
        protocols.deallocate()
        keepalive.deallocate()
        timer.deallocate()
        hangUpTimer.deallocate()
        for name in names + [interface] { free(name) }
    }

    /// Ends `run()`; from any thread.
    func requestStop() {
        stopping.store(true, ordering: .releasing)
        shared.withLock { $0?.wake() }
    }

    /// Lets go of the port of a loop that never ran.
    func discard() {
        guard let context else { return }
        shared.withLock { $0 = nil }
        lws_context_destroy(context)
        self.context = nil
    }

    // MARK: The loop's thread

    func run() {
        while !stopping.load(ordering: .acquiring) {
            if lws_service(context, 0) < 0 { break }
        }
        emisora_lws_timer_cancel(timer)
        emisora_lws_timer_cancel(hangUpTimer)
        discard()
    }

    fileprivate func handle(
        _ socket: OpaquePointer, _ reason: lws_callback_reasons, _ data: UnsafeMutableRawPointer?, _ length: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
            // `data` may point to freed memory here (see above): only the copied header counts.
            return header(WSI_TOKEN_UPGRADE, of: socket)?.lowercased() == "websocket" ? 0 : -1
        case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
            return isSignaling(socket) ? admit(socket) : -1
        case LWS_CALLBACK_ESTABLISHED:
            guard isSignaling(socket) else { return -1 }
            let connection = core.opened(room: rooms.removeValue(forKey: socket) ?? "", now: .monotonic)
            sockets[socket] = Socket(connection: connection)
            socketOfConnection[connection] = socket
        case LWS_CALLBACK_RECEIVE:
            return received(socket, UnsafeRawBufferPointer(start: data, count: length))
        case LWS_CALLBACK_SERVER_WRITEABLE:
            return sendNext(socket)
        case LWS_CALLBACK_CLOSED, LWS_CALLBACK_CLOSED_HTTP, LWS_CALLBACK_WSI_DESTROY:
            forget(socket)
        case LWS_CALLBACK_HTTP:
            return begin(socket, path: UnsafeRawBufferPointer(start: data, count: length))
        case LWS_CALLBACK_HTTP_BODY:
            exchanges[socket]?.request.body.append(contentsOf: UnsafeRawBufferPointer(start: data, count: length))
            return 0
        case LWS_CALLBACK_HTTP_BODY_COMPLETION:
            if exchanges[socket]?.response == nil { submit(socket) }
        case LWS_CALLBACK_HTTP_WRITEABLE:
            return respond(socket)
        default:
            return 0
        }
        drain()
        return 0
    }

    private func timeout() {
        core.handleTimeout(now: .monotonic)
        drain()
    }

    /// Hands out what the core decided and sets the timer to its next deadline.
    private func drain() {
        guard let context else { return }
        while let output = core.pollOutput() {
            switch output {
            case .send(let message, let connection):
                guard let socket = socketOfConnection[connection] else { continue }
                enqueue(message, for: socket)
            case .close(let connection):
                guard let socket = socketOfConnection[connection] else { continue }
                sockets[socket]?.closesWhenSent = true
                lws_callback_on_writable(socket)
            case .respond(let response, let request):
                guard let socket = exchangeOfRequest[request], let exchange = exchanges[socket] else { continue }
                exchanges[socket]?.response = response.serialized(
                    head: exchange.request.method == .head, keepAlive: exchange.keepAlive)
                exchanges[socket]?.closes = response.closes || !exchange.keepAlive
                if exchange.waits {
                    exchanges[socket]?.waits = false
                    lws_rx_flow_control(socket, 1)
                }
                lws_callback_on_writable(socket)
            }
        }
        if let deadline = core.nextDeadline {
            emisora_lws_timer_schedule(context, timer, (deadline - .monotonic).nanoseconds / 1000 + 1)
        } else {
            emisora_lws_timer_cancel(timer)
        }
    }

    private func forget(_ socket: OpaquePointer) {
        rooms[socket] = nil
        if let ended = sockets.removeValue(forKey: socket) {
            socketOfConnection[ended.connection] = nil
            core.closed(ended.connection)
        }
        if let exchange = exchanges.removeValue(forKey: socket) {
            exchangeOfRequest[exchange.id] = nil
            core.abandoned(exchange.id)
        }
    }

    private func isSignaling(_ socket: OpaquePointer) -> Bool {
        lws_get_protocol(socket)?.pointee.name.map { strcmp($0, SignalingProtocol.subprotocol) == 0 } ?? false
    }

    /// A header's value, or nil when it is absent or longer than anything this server reads.
    private func header(_ token: lws_token_indexes, of socket: OpaquePointer) -> String? {
        let length = lws_hdr_total_length(socket, token)
        guard length > 0, length < 1024 else { return nil }
        var text = [CChar](repeating: 0, count: Int(length) + 2)
        guard lws_hdr_copy(socket, &text, Int32(text.count), token) > 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: Websocket

    private func admit(_ socket: OpaquePointer) -> Int32 {
        rooms[socket] = header(WSI_TOKEN_GET_URI, of: socket).map { String($0.dropFirst()) }
        return 0
    }

    private func received(_ socket: OpaquePointer, _ fragment: UnsafeRawBufferPointer) -> Int32 {
        guard sockets[socket] != nil else { return -1 }
        let limit = SignalingProtocol.maximumMessageSize
        sockets[socket]?.incomingCount += fragment.count
        let count = sockets[socket]?.incomingCount ?? 0
        if count <= limit {
            sockets[socket]?.incoming.append(contentsOf: fragment)
        } else {
            sockets[socket]?.incoming = []
            if count > Self.discardLimit {
                lws_close_reason(socket, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, nil, 0)
                return -1
            }
        }
        guard lws_is_final_fragment(socket) != 0, lws_remaining_packet_payload(socket) == 0 else { return 0 }
        let message = sockets[socket]?.incoming ?? []
        sockets[socket]?.incoming = []
        sockets[socket]?.incomingCount = 0
        if let connection = sockets[socket]?.connection {
            if count > limit {
                core.receivedOversized(from: connection, now: .monotonic)
            } else {
                core.received(message, from: connection, now: .monotonic)
            }
        }
        drain()
        return 0
    }

    private func enqueue(_ message: [UInt8], for socket: OpaquePointer) {
        guard let waiting = sockets[socket], !waiting.closesWhenSent else { return }
        if waiting.queuedBytes + message.count > Self.queueLimit {
            sockets[socket]?.isTooSlow = true
            // A reader that reads nothing never becomes writable: the connection ends by the clock.
            lws_set_timeout(socket, PENDING_TIMEOUT_CLOSE_SEND, Int32(LWS_TO_KILL_ASYNC))
            return
        }
        sockets[socket]?.queue.append(message)
        sockets[socket]?.queuedBytes += message.count
        lws_callback_on_writable(socket)
    }

    /// Writes one message, as libwebsockets allows per turn; negative closes the connection.
    private func sendNext(_ socket: OpaquePointer) -> Int32 {
        guard let waiting = sockets[socket], !waiting.isTooSlow else { return -1 }
        guard let message = waiting.queue.first else { return waiting.closesWhenSent ? -1 : 0 }
        sockets[socket]?.queue.removeFirst()
        sockets[socket]?.queuedBytes -= message.count
        let front = emisora_lws_pre()
        var buffer = [UInt8](repeating: 0, count: front)
        buffer.append(contentsOf: message)
        let written = buffer.withUnsafeMutableBufferPointer { bytes in
            lws_write(socket, bytes.baseAddress.map { $0 + front }, message.count, LWS_WRITE_TEXT)
        }
        guard written >= message.count else { return -1 }
        if waiting.queue.count > 1 || waiting.closesWhenSent { lws_callback_on_writable(socket) }
        return 0
    }

    // MARK: HTTP

    private static let methods: [(lws_token_indexes, HTTPRequest.Method)] = [
        (WSI_TOKEN_GET_URI, .get), (WSI_TOKEN_HEAD_URI, .head), (WSI_TOKEN_POST_URI, .post),
        (WSI_TOKEN_PUT_URI, .put), (WSI_TOKEN_PATCH_URI, .patch), (WSI_TOKEN_DELETE_URI, .delete),
        (WSI_TOKEN_OPTIONS_URI, .options),
    ]

    private func begin(_ socket: OpaquePointer, path: UnsafeRawBufferPointer) -> Int32 {
        forget(socket)
        let method = Self.methods.first { lws_hdr_total_length(socket, $0.0) > 0 }?.1 ?? .other
        lastRequest += 1
        let id = HTTPRequestID(number: lastRequest)
        exchanges[socket] = Exchange(
            id: id,
            request: HTTPRequest(
                method: method, path: String(decoding: path, as: UTF8.self),
                contentType: header(WSI_TOKEN_HTTP_CONTENT_TYPE, of: socket),
                ifMatch: header(WSI_TOKEN_HTTP_IF_MATCH, of: socket)),
            keepAlive: keepsAlive(socket))
        exchangeOfRequest[id] = socket

        let refusal: HTTPResponse?
        var hasBody = false
        if lws_hdr_total_length(socket, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0 {
            refusal = .problem(501, "Send the body with Content-Length, not chunked.")
        } else if lws_hdr_total_length(socket, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0 {
            let text = header(WSI_TOKEN_HTTP_CONTENT_LENGTH, of: socket) ?? ""
            let digits = !text.isEmpty && text.utf8.count <= 9 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            switch digits ? Int(text) : nil {
            case nil: refusal = .problem(400, "Content-Length is not a number.")
            case .some(let length) where length > SignalingProtocol.maximumMessageSize:
                refusal = .problem(413, "A body has at most \(SignalingProtocol.maximumMessageSize) bytes.")
            case .some(let length):
                refusal = nil
                // libwebsockets reports the completion of an empty body for POST alone.
                hasBody = length > 0 || method == .post
            }
        } else if method == .post || method == .patch || method == .put {
            refusal = .problem(411, "The request needs Content-Length.")
        } else {
            refusal = nil
        }
        if var refusal {
            refusal.closes = true
            exchanges[socket]?.response = refusal.serialized(head: method == .head, keepAlive: false)
            exchanges[socket]?.closes = true
            lws_callback_on_writable(socket)
        } else if !hasBody {
            submit(socket)
        }
        drain()
        return 0
    }

    private func keepsAlive(_ socket: OpaquePointer) -> Bool {
        let connection = header(WSI_TOKEN_CONNECTION, of: socket)?.lowercased()
        let isHTTP11 = header(WSI_TOKEN_HTTP, of: socket)?.hasSuffix("1.1") ?? false
        return isHTTP11 ? connection == nil || connection == "keep-alive" : false
    }

    /// The request is there in full.
    private func submit(_ socket: OpaquePointer) {
        guard let exchange = exchanges[socket] else { return }
        // The core has its own deadlines for what takes time.
        lws_set_timeout(socket, NO_PENDING_TIMEOUT, 0)
        core.requested(exchange.request, id: exchange.id, now: .monotonic)
        drain()
        guard exchanges[socket] != nil, exchanges[socket]?.response == nil else { return }
        if !exchanges.contains(where: \.value.waits) { scheduleHangUpCheck() }
        exchanges[socket]?.waits = true
        lws_rx_flow_control(socket, 0)
    }

    private func scheduleHangUpCheck() {
        guard let context else { return }
        emisora_lws_timer_schedule(context, hangUpTimer, 250_000)
    }

    /// libwebsockets would spin on bytes that a client sends while its response waits. So waiting connections are not
    /// read, and their end is looked for here instead: four times a second, while there are any.
    private func lookForHangUps() {
        let waiting = exchanges.filter(\.value.waits).keys
        for socket in waiting {
            var byte: UInt8 = 0
            let count = recv(lws_get_socket_fd(socket), &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
            if count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
                forget(socket)
                lws_set_timeout(socket, PENDING_TIMEOUT_HTTP_CONTENT, Int32(LWS_TO_KILL_ASYNC))
            }
        }
        drain()
        if exchanges.contains(where: \.value.waits) { scheduleHangUpCheck() }
    }

    private func respond(_ socket: OpaquePointer) -> Int32 {
        guard let exchange = exchanges[socket], let response = exchange.response else { return 0 }
        exchanges[socket] = nil
        exchangeOfRequest[exchange.id] = nil
        let front = emisora_lws_pre()
        var buffer = [UInt8](repeating: 0, count: front)
        buffer.append(contentsOf: response)
        let written = buffer.withUnsafeMutableBufferPointer { bytes in
            lws_write(socket, bytes.baseAddress.map { $0 + front }, response.count, LWS_WRITE_HTTP_FINAL)
        }
        guard written >= response.count, !exchange.closes else { return -1 }
        return lws_http_transaction_completed(socket) == 0 ? 0 : -1
    }
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
    return Unmanaged<ServerLoop>.fromOpaque(object).takeUnretainedValue().handle(socket, reason, data, length)
}

extension Instant {
    /// The machine's monotonic clock, now.
    static var monotonic: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
