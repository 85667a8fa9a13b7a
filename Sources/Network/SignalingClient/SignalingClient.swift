import EmisoraSignalingProtocol
import EmisoraWebsocketClient
import Synchronization

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
/// attempt the client tries again, as `Settings.reconnect` says; a welcome begins that anew. It comes back as the
/// participant that it was, with its streams and subscriptions (`SignalingMemory`). Everything but `onEvent` may be
/// called from any thread.
package final class SignalingClient: Sendable {
    package let url: SignalingURL
    private let socket: WebsocketClient
    private let memory: SharedMemory

    /// `SignalingMemory` for two threads: that of the socket and whoever sends.
    private final class SharedMemory: Sendable {
        let memory = Mutex(SignalingMemory())
        /// Set before the socket's thread exists, until the client is gone.
        let socket = Mutex<WebsocketClient?>(nil)

        /// What was kept goes out ahead of whatever is said from now on: both happen under the lock.
        func didReceive(_ message: SignalingMessage) {
            let socket = socket.withLock { $0 }
            memory.withLock { memory in
                for message in memory.didReceive(message) { socket?.send(message.json()) }
            }
        }
    }

    package init(
        url: SignalingURL, settings: Settings = Settings(),
        onEvent: @escaping @Sendable (SignalingClientEvent) -> Void
    ) {
        self.url = url
        let shared = SharedMemory()
        memory = shared
        var socketSettings = WebsocketClient.Settings()
        socketSettings.certificateAuthorities = settings.certificateAuthorities
        socketSettings.longestMessage = SignalingProtocol.maximumMessageSize * 4
        socketSettings.greeting = {
            shared.memory.withLock { $0.opened(room: url.room, token: settings.token) }.json()
        }
        let delay = ReconnectDelay(settings.reconnect)
        socket = WebsocketClient(
            address: url.address, subprotocol: SignalingProtocol.subprotocol, settings: socketSettings, delay: delay
        ) { event in
            // A message of a later version is passed over.
            guard let event = SignalingClientEvent(event) else { return }
            switch event {
            case .message(let message):
                if case .welcome = message { delay.reset() }
                shared.didReceive(message)
                onEvent(event)
            case .disconnected(let reason) where reason != .closed:
                shared.memory.withLock { $0.lost() }
                onEvent(event)
                onEvent(SignalingClientEvent(delay.outlook))
            default: onEvent(event)
            }
        }
        shared.socket.withLock { $0 = socket }
    }

    deinit {
        close()
        memory.socket.withLock { $0 = nil }
    }

    /// Starts the thread and the first attempt; does nothing when called again or after `close()`.
    package func connect() {
        socket.connect()
    }

    /// Queues a message; `false` when it is dropped, because there has been no connection yet or too much waits.
    ///
    /// While the connection is lost messages are kept. They go out if the server takes the session up again, under the
    /// same id; otherwise what was true before has to be said anew.
    @discardableResult
    package func send(_ message: SignalingMessage) -> Bool {
        let bytes = message.json()
        guard bytes.count <= SignalingProtocol.maximumMessageSize else { return false }
        return memory.memory.withLock { memory in
            switch memory.willSend(message, byteCount: bytes.count) {
            case .send: socket.send(bytes) || memory.keep(message, byteCount: bytes.count) == .kept
            case .kept: true
            case .dropped: false
            }
        }
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
        /// When to come back after a lost connection, and how often.
        package var reconnect = ReconnectSchedule()

        package init() {}
    }
}
