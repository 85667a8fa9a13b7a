import EmisoraSignalingClient
import EmisoraSignalingProtocol
import EmisoraWebsocketClient
import Synchronization

/// How a session talks to its room: through a server, or straight to another session of the same process.
protocol SignalingChannel: AnyObject, Sendable {
    /// Who offers where the application does not say.
    var usualOfferer: Offerer { get }
    /// How long to wait for what the other side has to confirm or to answer.
    var answerTimeout: Duration { get }
    /// Begins; `onEvent` is called on a thread of the channel's own and must not block.
    func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void)
    func send(_ message: SignalingMessage)
    func close()
}

extension SignalingChannel {
    var answerTimeout: Duration { .seconds(10) }
}

/// Through a signaling server, with reconnect.
final class ServerChannel: SignalingChannel {
    let usualOfferer = Offerer.subscriber
    private let url: SignalingURL
    private let settings: SignalingClient.Settings
    private let client = Mutex<SignalingClient?>(nil)

    init(url: SignalingURL, options: Session.Options) {
        self.url = url
        var settings = SignalingClient.Settings()
        settings.token = options.token.map(BearerToken.init)
        settings.reconnect = ReconnectSchedule(options)
        settings.certificateAuthorities = options.certificateAuthorities
        self.settings = settings
    }

    func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) {
        let client = SignalingClient(url: url, settings: settings, onEvent: onEvent)
        self.client.withLock { $0 = client }
        client.connect()
    }

    func send(_ message: SignalingMessage) {
        client.withLock { $0 }?.send(message)
    }

    func close() {
        client.withLock { $0.take() }?.close()
    }
}

extension ReconnectSchedule {
    init(_ options: Session.Options) {
        self.init(firstDelay: options.autoRetryDelay, maximumAttempts: options.maxAutoRetry.map { max(0, $0) })
    }
}
