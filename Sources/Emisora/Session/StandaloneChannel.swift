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
        case .publish(let name): tell(.message(.streamPublished(stream(name))))
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

    private func stream(_ name: String) -> StreamDescription {
        StreamDescription(stream: name, publisher: Self.participant)
    }

    private func tell(_ event: SignalingClientEvent) {
        onEvent.withLock { $0 }?(event)
    }
}
