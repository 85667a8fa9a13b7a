import CEmisoraWebsockets
import EmisoraSignalingProtocol

/// A subprotocol for tests of the websocket layer alone (RFC 6455): every message comes back as it was. It is offered
/// only where `Configuration.echoes` says so, and has the limits of signaling, but for what is refused by its sense.
extension ServerLoop {
    static let echoProtocol = "echo.emisora.test"

    func isEcho(_ socket: OpaquePointer) -> Bool { hasProtocol(Self.echoProtocol, socket) }

    func establishedEcho(_ socket: OpaquePointer) {
        sockets[socket] = Socket(connection: nil)
        gate.became(known: socket)
    }

    func echo(_ message: IncomingMessage, to socket: OpaquePointer) -> Int32 {
        guard let bytes = message.bytes else {
            lws_close_reason(socket, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, nil, 0)
            return -1
        }
        let waiting = sockets[socket]?.queue.reduce(0) { $0 + $1.bytes.count } ?? 0
        guard waiting + bytes.count <= limits.backlogBytes else { return -1 }
        enqueue(Outgoing(bytes: bytes, isBinary: lws_frame_is_binary(socket) != 0), for: socket)
        return 0
    }
}
