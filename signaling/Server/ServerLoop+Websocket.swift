import CEmisoraWebsockets
import EmisoraCore
import EmisoraOperations
import EmisoraSignalingProtocol

/// Websocket connections: messages put together from fragments, and sent one by one.
extension ServerLoop {
    struct Socket {
        /// `nil`: one that has its messages sent back.
        var connection: Core.ConnectionID?
        var incoming = IncomingMessage()
        var queue: [Outgoing] = []
        var closesWhenSent = false
        var isTooSlow = false
        /// Of the participant that it is, for the log.
        var place: [String: Log.Value]?
        /// Closed with 1001, since the server ends.
        var goesAway = false
    }

    struct Outgoing {
        var bytes: [UInt8]
        var isBinary = false
    }

    /// What the request for a connection said.
    struct Upgrade {
        var room: String
        var token: BearerToken?
    }

    /// Whether the request may become a websocket: nothing else can be upgraded to, and no page of a foreign origin may.
    func confirmUpgrade(_ socket: OpaquePointer) -> Int32 {
        guard header(WSI_TOKEN_UPGRADE, of: socket)?.lowercased() == "websocket" else { return -1 }
        let refusal: HTTPResponse
        if pages.isAlone {
            refusal = .problem(404, "There is no signaling at this address.")
        } else if drainState != nil {
            count(refusal: .draining)
            refusal = OperationsPages.draining
        } else if !hosts.allows(host(of: socket)) {
            count(refusal: .host)
            refusal = .misdirected
        } else if !origins.allows(origin(of: socket), host: host(of: socket)) {
            count(refusal: .origin)
            refusal = .problem(
                403, "Pages of this origin may not connect; the operator allows them by --allow-origin.")
        } else {
            return 0
        }
        write(refusal.serialized(head: false, keepAlive: false), to: socket, LWS_WRITE_HTTP_FINAL)
        return -1
    }

    func admit(_ socket: OpaquePointer) -> Int32 {
        let room = header(WSI_TOKEN_GET_URI, of: socket).map { String($0.dropFirst()) } ?? ""
        upgrades[socket] = Upgrade(room: room, token: token(of: socket))
        return 0
    }

    func established(_ socket: OpaquePointer) {
        let upgrade = upgrades.removeValue(forKey: socket)
        let connection = core.opened(
            room: upgrade?.room ?? "", from: gate.address(of: socket), token: upgrade?.token, now: .monotonic)
        sockets[socket] = Socket(connection: connection)
        socketOfConnection[connection] = socket
        gate.became(stranger: socket, now: .monotonic)
        // It was let in before the end began.
        if drainState != nil { goAway(socket) }
    }

    func received(_ socket: OpaquePointer, _ fragment: UnsafeRawBufferPointer) -> Int32 {
        traffic.receivedBytes &+= UInt64(fragment.count)
        // In place: a copy for each fragment would cost its square.
        sockets[socket]?.incoming.append(fragment)
        guard sockets[socket]?.incoming.isEndless(limits) == false else {
            lws_close_reason(socket, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, nil, 0)
            return -1
        }
        guard lws_is_final_fragment(socket) != 0, lws_remaining_packet_payload(socket) == 0,
            let incoming = sockets[socket]?.incoming
        else { return 0 }
        sockets[socket]?.incoming = IncomingMessage()
        if lws_frame_is_binary(socket) == 0, incoming.isBrokenText {
            lws_close_reason(socket, LWS_CLOSE_STATUS_INVALID_PAYLOAD, nil, 0)
            return -1
        }
        guard let connection = sockets[socket]?.connection else { return echo(incoming, to: socket) }
        if let message = incoming.bytes {
            core.received(message, from: connection, now: .monotonic)
        } else {
            core.receivedOversized(incoming.byteCount, from: connection, now: .monotonic)
        }
        drain()
        return 0
    }

    func enqueue(_ message: Outgoing, for socket: OpaquePointer) {
        guard sockets[socket]?.closesWhenSent == false else { return }
        sockets[socket]?.queue.append(message)
        lws_callback_on_writable(socket)
    }

    /// The other side closes: its reason is checked, since libwebsockets would send any back (RFC 6455 §7.4).
    func closing(_ socket: OpaquePointer, _ payload: UnsafeRawBufferPointer) -> Int32 {
        guard !payload.isEmpty else { return 0 }
        switch payload.count < 2 ? 0 : UInt16(payload[0]) << 8 | UInt16(payload[1]) {
        case 1000...1003, 1007...1014, 3000...4999: return 0
        default:
            lws_close_reason(socket, LWS_CLOSE_STATUS_PROTOCOL_ERR, nil, 0)
            return -1
        }
    }

    /// A reader that reads nothing never becomes writable: the connection ends by the clock.
    func cutOff(_ socket: OpaquePointer) {
        count(refusal: .slowReader)
        sockets[socket]?.isTooSlow = true
        hangUp(socket)
    }

    func closeWhenSent(_ socket: OpaquePointer) {
        sockets[socket]?.closesWhenSent = true
        // Who reads nothing does not hold the connection by that.
        lws_set_timeout(socket, PENDING_TIMEOUT_CLOSE_SEND, 2)
        lws_callback_on_writable(socket)
    }

    /// Writes one message, as libwebsockets allows per turn; negative closes the connection.
    func sendNext(_ socket: OpaquePointer) -> Int32 {
        guard let waiting = sockets[socket], !waiting.isTooSlow else { return -1 }
        guard let message = waiting.queue.first else {
            if waiting.goesAway { lws_close_reason(socket, LWS_CLOSE_STATUS_GOINGAWAY, nil, 0) }
            return waiting.closesWhenSent ? -1 : 0
        }
        sockets[socket]?.queue.removeFirst()
        if let connection = waiting.connection, core.sent(to: connection) { drain() }
        let kind = message.isBinary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT
        guard write(message.bytes, to: socket, kind) else { return -1 }
        if waiting.queue.count > 1 || waiting.closesWhenSent { lws_callback_on_writable(socket) }
        return 0
    }

    /// Hands bytes to libwebsockets, which sends or keeps all of them; `false`: the connection is broken.
    @discardableResult
    func write(_ bytes: [UInt8], to socket: OpaquePointer, _ kind: lws_write_protocol) -> Bool {
        traffic.sentBytes &+= UInt64(bytes.count)
        let front = emisora_lws_pre()
        var buffer = [UInt8](repeating: 0, count: front)
        buffer.append(contentsOf: bytes)
        let written = buffer.withUnsafeMutableBufferPointer { buffer in
            lws_write(socket, buffer.baseAddress.map { $0 + front }, bytes.count, kind)
        }
        return written >= bytes.count
    }
}
