import EmisoraSignalingProtocol
import EmisoraWebsocketClient

/// A connection to a room of a signaling server that comes back by itself.
///
/// ```swift
/// let client = SignalingClient(url: try SignalingURL("ws://127.0.0.1:8080/demo")) { event in
///     if case .message(.welcome) = event { … }
/// }
/// client.connect()
/// client.send(.publish(stream: "camera"))  // once `.message(.welcome)` has come
/// client.close()
/// ```
///
/// `onEvent` is called on the thread of its `WebsocketClient` and must not block. After a lost connection or a failed
/// attempt the client tries again, at first soon; a welcome puts the delay back. Everything but `onEvent` may be called
/// from any thread.
package final class SignalingClient: Sendable {
    package let url: SignalingURL
    private let socket: WebsocketClient

    package init(
        url: SignalingURL, settings: Settings = Settings(),
        onEvent: @escaping @Sendable (SignalingClientEvent) -> Void
    ) {
        self.url = url
        var socketSettings = WebsocketClient.Settings()
        socketSettings.certificateAuthorities = settings.certificateAuthorities
        socketSettings.longestMessage = SignalingProtocol.maximumMessageSize * 4
        socketSettings.greeting = {
            SignalingMessage.join(version: SignalingProtocol.version, room: url.room, token: settings.token).json()
        }
        let delay = ReconnectDelay()
        socket = WebsocketClient(
            address: url.address, subprotocol: SignalingProtocol.subprotocol, settings: socketSettings, delay: delay
        ) { event in
            // A message of a later version is passed over.
            guard let event = SignalingClientEvent(event) else { return }
            if case .message(.welcome) = event { delay.reset() }
            onEvent(event)
        }
    }

    deinit {
        close()
    }

    /// Starts the thread and the first attempt; does nothing when called again or after `close()`.
    package func connect() {
        socket.connect()
    }

    /// Queues a message; `false` when there is no open connection (it is dropped: after a reconnect the room is a new
    /// one, and what was true before has to be said anew) or too many wait.
    @discardableResult
    package func send(_ message: SignalingMessage) -> Bool {
        let bytes = message.json()
        guard bytes.count <= SignalingProtocol.maximumMessageSize else { return false }
        return socket.send(bytes)
    }

    /// Leaves, ends the thread and waits for it. The last event is `.disconnected(.closed)`. Called from within
    /// `onEvent` it does not wait for its own thread. More calls do nothing.
    package func close() {
        socket.close(farewell: [SignalingMessage.leave.json()])
    }

    package struct Settings: Sendable {
        /// What lets us in, if the server asks for it: sent in `join` alone.
        package var token: BearerToken?
        /// The path of a PEM file with the authorities that a `wss:` server's certificate must lead to; `nil`: the
        /// system's.
        package var certificateAuthorities: String?

        package init() {}
    }
}
