import EmisoraCapture
import EmisoraCore
import EmisoraCrypto
import EmisoraEventLoop
import EmisoraHTTPClient
import EmisoraSignalingClient
import EmisoraSignalingProtocol
import Synchronization

/// To a WHIP or WHEP endpoint: the thread that sends the requests of an `EndpointExchange`, one after the other.
final class HTTPChannel: SignalingChannel {
    private struct Inbox {
        var messages: [SignalingMessage] = []
        var isClosing = false
    }

    /// As long as the session, which wants to end, is held up by its last request.
    private static let farewellTimeout: Duration = .seconds(2)

    let usualOfferer = Offerer.subscriber
    /// The server may ask to come again later.
    let answerTimeout: Duration = .seconds(60)
    private let settings: EndpointExchange.Settings
    private let client: Result<HTTPClient, HTTPClientError>
    private let thread = MediaThread()
    private let inbox = Monitor(Inbox())

    init(endpoint: HTTPURL, options: Session.Options) {
        settings = .init(endpoint: endpoint, token: options.token, takesICEServers: options.iceServers.isEmpty)
        client = Result { () throws(HTTPClientError) in try HTTPClient(authorities: options.certificateAuthorities) }
    }

    func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) {
        do {
            let client = try client.get()
            try thread.start { [self] _ in run(client, onEvent) }
        } catch {
            onEvent(.disconnected(.connectFailed("\(error)")))
        }
    }

    func send(_ message: SignalingMessage) {
        inbox.withLock { $0.messages.append(message) }
        inbox.notifyAll()
    }

    func close() {
        inbox.withLock { inbox in
            inbox.isClosing = true
            // Within the lock, so that what the thread sends after it has seen the end is not cancelled.
            if case .success(let client) = client { client.cancel() }
        }
        inbox.notifyAll()
        thread.stop()
    }

    private func run(_ client: HTTPClient, _ onEvent: (SignalingClientEvent) -> Void) {
        var exchange = EndpointExchange(settings: settings, random: RandomSource(SecureRandom()))
        exchange.start()
        while true {
            let (messages, isClosing) = inbox.withLock { inbox in
                defer { inbox.messages = [] }
                return (inbox.messages, inbox.isClosing)
            }
            for message in messages { exchange.handle(message, now: MonotonicClock.now) }
            if isClosing { break }
            exchange.handleTimeout(now: MonotonicClock.now)
            while let event = exchange.pollEvent() { onEvent(event) }
            if let request = exchange.nextRequest() {
                let outcome = Result { () throws(HTTPClientError) in try client.send(request) }
                exchange.handle(outcome, now: MonotonicClock.now)
            } else {
                _ = inbox.wait(until: exchange.nextDeadline ?? .distantFuture) { inbox in
                    inbox.messages.isEmpty && !inbox.isClosing ? nil : true
                }
            }
        }
        leave(&exchange, client)
        onEvent(.disconnected(.closed))
    }

    private func leave(_ exchange: inout EndpointExchange, _ client: HTTPClient) {
        client.reset()
        let deadline = MonotonicClock.now + Self.farewellTimeout
        exchange.handle(.leave, now: MonotonicClock.now)
        while var request = exchange.nextRequest() {
            request.timeout = deadline - MonotonicClock.now
            guard request.timeout > .zero else { return }
            exchange.handle(Result { () throws(HTTPClientError) in try client.send(request) }, now: MonotonicClock.now)
        }
    }
}
