import CEmisoraWebsockets
import EmisoraSignalingProtocol
import Glibc
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
/// One thread per client runs libwebsockets; `onEvent` is called on it and must not block. After a lost connection or
/// a failed attempt the client tries again after 0.25 s, doubling to 2 s, each with up to 25 % taken off at random so
/// that a room does not come back in one instant. A welcome puts the delay back. Everything but `onEvent` may be
/// called from any thread.
package final class SignalingClient: Sendable {
    package let url: SignalingURL
    private let loop: SignalingClientLoop
    private let thread: Mutex<pthread_t?>

    package init(
        url: SignalingURL, settings: Settings = Settings(),
        onEvent: @escaping @Sendable (SignalingClientEvent) -> Void
    ) {
        self.url = url
        loop = SignalingClientLoop(url: url, settings: settings, onEvent: onEvent)
        thread = Mutex(nil)
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
            if pthread_create(&handle, nil, runSignalingClientLoop, argument.toOpaque()) == 0 {
                thread = handle
            } else {
                argument.release()
                loop.threadFailed()
            }
        }
    }

    /// Queues a message; `false` when there is no open connection (it is dropped: after a reconnect the room is a new
    /// one, and what was true before has to be said anew) or more than `SignalingClientLoop.queueLimit` bytes wait.
    @discardableResult
    package func send(_ message: SignalingMessage) -> Bool {
        loop.send(message)
    }

    /// Leaves, ends the thread and waits for it. The last event is `.disconnected(.closed)`. Called from within
    /// `onEvent` it does not wait for its own thread. More calls do nothing.
    package func close() {
        loop.requestClose()
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
        /// The first and the longest delay before another attempt.
        package var reconnectDelay: ClosedRange<Duration> = .milliseconds(250)...(.seconds(2))
        /// Seconds until an attempt is given up.
        package var connectTimeout = 3
        /// Seconds between pings, and until a silent server counts as gone.
        package var pingInterval = 2
        package var silenceLimit = 4

        /// What lets us in, if the server asks for it: sent in `join` alone.
        package var token: BearerToken?
        /// The path of a PEM file with the authorities that a `wss:` server's certificate must lead to; `nil`: the
        /// system's.
        package var certificateAuthorities: String?

        package init() {}
    }
}

/// Outside any type and any `main.swift`: a thread's entry must not inherit an actor.
private func runSignalingClientLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<SignalingClientLoop>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
