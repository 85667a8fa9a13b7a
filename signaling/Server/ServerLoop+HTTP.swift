import CEmisoraWebsockets
import EmisoraCore
import EmisoraSignalingProtocol
import Glibc

/// HTTP exchanges: requests put together, and answered in one piece.
extension ServerLoop {
    struct Exchange {
        var id: HTTPRequestID
        var request: HTTPRequest
        var keepAlive: Bool
        var response: [UInt8]?
        var closes = false
        /// Whether the answer takes time; nothing is read from the connection meanwhile.
        var waits = false
        /// When the request was there as a whole.
        var submittedAt: Instant?
    }

    private static let methods: [(lws_token_indexes, HTTPRequest.Method)] = [
        (WSI_TOKEN_GET_URI, .get), (WSI_TOKEN_HEAD_URI, .head), (WSI_TOKEN_POST_URI, .post),
        (WSI_TOKEN_PUT_URI, .put), (WSI_TOKEN_PATCH_URI, .patch), (WSI_TOKEN_DELETE_URI, .delete),
        (WSI_TOKEN_OPTIONS_URI, .options),
    ]

    func begin(_ socket: OpaquePointer, path: UnsafeRawBufferPointer) -> Int32 {
        forget(socket)
        let method = Self.methods.first { lws_hdr_total_length(socket, $0.0) > 0 }?.1 ?? .other
        lastRequest += 1
        let id = HTTPRequestID(number: lastRequest)
        exchanges[socket] = Exchange(
            id: id,
            request: HTTPRequest(
                method: method, path: String(decoding: path, as: UTF8.self),
                isLocal: isLocal(socket, host: host(of: socket)),
                contentType: header(WSI_TOKEN_HTTP_CONTENT_TYPE, of: socket),
                ifMatch: header(WSI_TOKEN_HTTP_IF_MATCH, of: socket), host: host(of: socket),
                origin: origin(of: socket),
                token: token(of: socket), address: peer(of: lws_get_socket_fd(socket))),
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
            if let exchange = exchanges[socket] { count(response: refusal.status, to: exchange) }
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
    func submit(_ socket: OpaquePointer) {
        guard let exchange = exchanges[socket] else { return }
        gate.became(known: socket)
        // The core has its own deadlines for what takes time.
        lws_set_timeout(socket, NO_PENDING_TIMEOUT, 0)
        exchanges[socket]?.submittedAt = .monotonic
        if let response = operationsResponse(to: exchange.request) {
            accept(response, for: socket)
        } else {
            core.requested(exchange.request, id: exchange.id, now: .monotonic)
        }
        drain()
        guard exchanges[socket] != nil, exchanges[socket]?.response == nil else { return }
        if !exchanges.contains(where: \.value.waits) { scheduleHangUpCheck() }
        exchanges[socket]?.waits = true
        lws_rx_flow_control(socket, 0)
    }

    /// The core's response; it is written when the socket takes it.
    func accept(_ response: HTTPResponse, for socket: OpaquePointer) {
        guard let exchange = exchanges[socket] else { return }
        count(response: response.status, to: exchange)
        exchanges[socket]?.response = response.serialized(
            head: exchange.request.method == .head, keepAlive: exchange.keepAlive)
        exchanges[socket]?.closes = response.closes || !exchange.keepAlive
        if exchange.waits {
            exchanges[socket]?.waits = false
            lws_rx_flow_control(socket, 1)
        }
        lws_callback_on_writable(socket)
    }

    /// libwebsockets would spin on bytes that a client sends while its response waits. So waiting connections are not
    /// read, and their end is looked for here instead: four times a second, while there are any.
    func lookForHangUps() {
        let waiting = exchanges.filter(\.value.waits).keys
        for socket in waiting {
            // Not by reading: what a client has sent besides, as TLS's last word, stands before the end.
            if emisora_lws_has_hung_up(lws_get_socket_fd(socket)) != 0 {
                forget(socket)
                hangUp(socket)
            }
        }
        drain()
        if exchanges.contains(where: \.value.waits) { scheduleHangUpCheck() }
    }

    func respond(_ socket: OpaquePointer) -> Int32 {
        guard let exchange = exchanges[socket], let response = exchange.response else { return 0 }
        exchanges[socket] = nil
        exchangeOfRequest[exchange.id] = nil
        guard write(response, to: socket, LWS_WRITE_HTTP_FINAL), !exchange.closes else { return -1 }
        answered.insert(socket)
        gate.became(stranger: socket, now: .monotonic)
        drain()
        return lws_http_transaction_completed(socket) == 0 ? 0 : -1
    }
}
