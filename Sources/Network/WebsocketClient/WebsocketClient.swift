import Glibc
import Synchronization

/// A websocket connection for text messages that comes back by itself.
///
/// ```swift
/// let client = WebsocketClient(address: address, subprotocol: "janus-protocol") { event in
///     if case .message(let text) = event { … }
/// }
/// client.connect()
/// client.send(Array("{}".utf8))  // once `.opened` has come
/// client.close()
/// ```
///
/// One thread per client runs libwebsockets; `onEvent` is called on it and must not block. After a lost connection or
/// a failed attempt the client tries again, as its `ReconnectDelay` says; whoever knows that the server does what the
/// connection is for resets that. When that says no more, the thread waits for `close()`. Everything but `onEvent` may be called from any thread.
package final class WebsocketClient: Sendable {
    private let loop: WebsocketClientLoop
    private let thread = Mutex<pthread_t?>(nil)

    package init(
        address: WebsocketAddress, subprotocol: String, settings: Settings = Settings(),
        delay: ReconnectDelay = ReconnectDelay(), onEvent: @escaping @Sendable (WebsocketEvent) -> Void
    ) {
        loop = WebsocketClientLoop(
            address: address, subprotocol: subprotocol, settings: settings, delay: delay, onEvent: onEvent)
    }

    deinit {
        close()
    }

    /// Starts the thread and the first attempt; does nothing when called again or after `close()`.
    package func connect() {
        thread.withLock { thread in
            guard thread == nil, loop.begin() else { return }
            var handle = pthread_t()
            let argument = Unmanaged.passRetained(loop)
            if pthread_create(&handle, nil, runWebsocketClientLoop, argument.toOpaque()) == 0 {
                thread = handle
            } else {
                argument.release()
                loop.threadFailed()
            }
        }
    }

    /// Queues a text message; `false` when there is no open connection (it is dropped: what was true before a reconnect
    /// has to be said anew) or more than `Settings.queueLimit` bytes wait.
    @discardableResult
    package func send(_ text: [UInt8]) -> Bool {
        loop.send(text)
    }

    /// Lets go of the connection, as if it were lost: for one that is open and of no use any more.
    package func reconnect() {
        loop.requestReconnect()
    }

    /// Sends what is queued, then `farewell`, for half a second at the most, ends the thread and waits for it. The last
    /// event is `.closed`. Called from within `onEvent` it does not wait for its own thread. More calls do nothing.
    package func close(farewell: [[UInt8]] = []) {
        loop.requestClose(farewell: farewell)
        let handle = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let handle else { return }
        if pthread_equal(handle, pthread_self()) != 0 {
            pthread_detach(handle)
        } else {
            pthread_join(handle, nil)
        }
    }

    package struct Settings: Sendable {
        /// Seconds until an attempt is given up.
        package var connectTimeout = 3
        /// Seconds between pings, and until a silent server counts as gone.
        package var pingInterval = 2
        package var silenceLimit = 4
        /// Bytes of the longest message that is taken; longer ones are passed over.
        package var longestMessage = 1 << 18
        /// Bytes that may wait for the socket; a server that reads nothing for that long is as good as gone.
        package var queueLimit = 1 << 20
        /// The path of a PEM file with the authorities that the server's certificate must lead to; `nil`: the system's.
        package var certificateAuthorities: String?
        /// The first message of each connection, ahead of whatever else is sent; called on the client's thread.
        package var greeting: (@Sendable () -> [UInt8])?

        package init() {}
    }
}

/// Outside any type and any `main.swift`: a thread's entry must not inherit an actor.
private func runWebsocketClientLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<WebsocketClientLoop>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
