import EmisoraSignalingClient
import EmisoraSignalingProtocol
import Synchronization

/// Of a session without a room: what is published is known at once, and nobody else is there.
final class StandaloneChannel: SignalingChannel {
    private static let participant = "standalone"

    let usualOfferer = Offerer.subscriber
    private let onEvent = Mutex<(@Sendable (SignalingClientEvent) -> Void)?>(nil)

    func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) {
        self.onEvent.withLock { $0 = onEvent }
        tell(.connected)
        tell(
            .message(
                .welcome(
                    version: SignalingProtocol.version, id: Self.participant, room: Self.participant, streams: [])))
    }

    func send(_ message: SignalingMessage) {
        switch message {
        case .publish(let name, let properties): tell(.message(.streamPublished(stream(name, properties))))
        case .updateStream(let name, let properties):
            tell(.message(.streamPropertyChanged(stream(name, properties))))
        case .signal(let signal) where signal.to == nil || signal.to == Self.participant:
            tell(.message(.signal(RoutedSignal(signal.content, to: signal.to, from: Self.participant))))
        case .signal, .forceMute, .forceDisconnect:
            let text = "Nobody else is in a session without a room."
            tell(.message(.error(SignalingError(.participantNotFound, text, inReplyTo: message.type))))
        case .unpublish(let name): tell(.message(.streamUnpublished(stream(name))))
        case .subscribe(let id, let name, _):
            let text = "A session without a room has no stream \(name) to subscribe to."
            tell(.message(.error(SignalingError(.streamNotFound, text, subscription: id))))
        case .receive:
            let text = "A session without a room has no encoders; answer their offers."
            tell(.message(.error(SignalingError(.notAllowed, text, inReplyTo: "receive"))))
        default: break
        }
    }

    func close() {
        let last = onEvent.withLock { $0.take() }
        last?(.disconnected(.closed))
    }

    private func stream(_ name: String, _ properties: StreamProperties? = nil) -> StreamDescription {
        StreamDescription(stream: name, publisher: Self.participant, properties: properties)
    }

    private func tell(_ event: SignalingClientEvent) {
        onEvent.withLock { $0 }?(event)
    }
}
