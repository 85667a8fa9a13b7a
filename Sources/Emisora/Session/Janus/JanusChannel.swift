import EmisoraCapture
import EmisoraCore
import EmisoraCrypto
import EmisoraEventLoop
import EmisoraJanusProtocol
import EmisoraSignalingClient
import EmisoraSignalingProtocol
import EmisoraWebsocketClient
import Synchronization

/// To a room of a Janus: a websocket, and the thread of the `JanusExchange` that speaks over it.
final class JanusChannel: SignalingChannel {
    private enum Input {
        case socket(WebsocketEvent)
        case session(SignalingMessage)
    }

    private struct Inbox {
        var inputs: [Input] = []
        /// Bytes of the socket's that wait.
        var size = 0
        var isClosing = false
    }

    /// A Janus that says more than this thread gets read is not listened to any further.
    private static let inboxLimit = 1 << 22

    let usualOfferer = Offerer.publisher
    /// Janus has 10 s for each of the steps.
    let answerTimeout: Duration = .seconds(20)
    private let settings: JanusExchange.Settings
    private let address: WebsocketAddress
    private let authorities: String?
    private let schedule: ReconnectSchedule
    private let thread = MediaThread()
    private let inbox = Monitor(Inbox())

    init(room: JanusURL, options: Session.Options) {
        settings = .init(room: room.room, options: options.janus, token: options.token)
        address = room.address
        authorities = options.certificateAuthorities
        schedule = ReconnectSchedule(options)
    }

    func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) {
        do {
            try thread.start { [self] _ in run(onEvent) }
        } catch {
            onEvent(.disconnected(.connectFailed("\(error)")))
        }
    }

    func send(_ message: SignalingMessage) {
        inbox.withLock { $0.inputs.append(.session(message)) }
        inbox.notifyAll()
    }

    func close() {
        inbox.withLock { $0.isClosing = true }
        inbox.notifyAll()
        thread.stop()
    }

    private func run(_ onEvent: (SignalingClientEvent) -> Void) {
        var exchange = JanusExchange(settings: settings, random: RandomSource(SecureRandom()))
        let delay = ReconnectDelay(schedule)
        var socketSettings = WebsocketClient.Settings()
        socketSettings.certificateAuthorities = authorities
        socketSettings.longestMessage = JanusProtocol.longestMessage
        let socket = WebsocketClient(
            address: address, subprotocol: JanusProtocol.subprotocol, settings: socketSettings, delay: delay
        ) { [inbox] event in
            inbox.withLock { inbox in
                if case .message(let text) = event {
                    // The rest of a flood is passed over; where an answer was in it, another connection is made.
                    guard inbox.size + text.count <= Self.inboxLimit else { return }
                    inbox.size += text.count
                }
                inbox.inputs.append(.socket(event))
            }
            inbox.notifyAll()
        }
        socket.connect()
        while true {
            let (inputs, isClosing) = inbox.withLock { inbox in
                defer { (inbox.inputs, inbox.size) = ([], 0) }
                return (inbox.inputs, inbox.isClosing)
            }
            for input in inputs {
                switch input {
                case .socket(let event): exchange.handle(event, now: MonotonicClock.now)
                case .session(let message): exchange.handle(message, now: MonotonicClock.now)
                }
            }
            exchange.handleTimeout(now: MonotonicClock.now)
            while let output = exchange.pollOutput() {
                switch output {
                case .event(let event):
                    if case .message(.welcome) = event { delay.reset() }
                    onEvent(event)
                    if case .disconnected(let reason) = event, reason != .closed {
                        onEvent(SignalingClientEvent(delay.outlook))
                    }
                case .send(let text):
                    if !socket.send(text) { socket.reconnect() }
                case .reconnect: socket.reconnect()
                }
            }
            if isClosing { break }
            _ = inbox.wait(until: exchange.nextDeadline ?? .distantFuture) { inbox in
                inbox.inputs.isEmpty && !inbox.isClosing ? nil : true
            }
        }
        socket.close(farewell: exchange.farewell())
        onEvent(.disconnected(.closed))
    }
}
