import EmisoraSignalingClient
import EmisoraSignalingProtocol
import Synchronization

/// A room for two sessions of one process, without a server: what one says the other hears.
///
/// Here the subscriber subscribes without an offer (an empty `sdp`), and the publisher offers: the direction that WHIP
/// and SFUs use, which so gets its daily exercise.
final class LoopbackChannel: SignalingChannel {
    private struct State {
        var onEvent: (@Sendable (SignalingClientEvent) -> Void)?
        var waiting: [SignalingMessage] = []
        var isClosed = false
    }

    let usualOfferer = Offerer.publisher
    private let id: String
    private let state = Mutex(State())
    private let other = Mutex(WeakChannel())

    private struct WeakChannel: @unchecked Sendable {
        // Invariant behind `@unchecked Sendable`: weak references may be read from any thread; the mutex guards it.
        weak var channel: LoopbackChannel?
    }

    private init(id: String) {
        self.id = id
    }

    static func pair() -> (LoopbackChannel, LoopbackChannel) {
        let first = LoopbackChannel(id: "loopback-1")
        let second = LoopbackChannel(id: "loopback-2")
        first.other.withLock { $0.channel = second }
        second.other.withLock { $0.channel = first }
        return (first, second)
    }

    func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) {
        let waiting = state.withLock { state in
            state.onEvent = onEvent
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        onEvent(.connected)
        onEvent(.message(.welcome(version: SignalingProtocol.version, id: id, room: "loopback", streams: [])))
        for message in waiting { onEvent(.message(message)) }
    }

    func send(_ message: SignalingMessage) {
        let other = other.withLock { $0.channel }
        switch message {
        case .publish(let stream, let properties):
            let published = SignalingMessage.streamPublished(
                StreamDescription(stream: stream, publisher: id, properties: properties))
            receive(published)
            other?.receive(published)
        case .unpublish(let stream):
            let unpublished = SignalingMessage.streamUnpublished(StreamDescription(stream: stream, publisher: id))
            receive(unpublished)
            other?.receive(unpublished)
        case .updateStream(let stream, let properties):
            let changed = SignalingMessage.streamPropertyChanged(
                StreamDescription(stream: stream, publisher: id, properties: properties))
            receive(changed)
            other?.receive(changed)
        case .signal(let signal):
            let said = SignalingMessage.signal(RoutedSignal(signal.content, to: signal.to, from: id))
            if signal.to == nil || signal.to == id { receive(said) }
            if signal.to != id { other?.receive(said) }
        case .bye(let subscription, let reason):
            other?.receive(.subscriptionEnded(subscription: subscription, reason: reason))
        default:
            other?.receive(message)
        }
    }

    func close() {
        let onEvent = state.withLock { state in
            defer { state.onEvent = nil }
            state.isClosed = true
            return state.onEvent
        }
        onEvent?(.disconnected(.closed))
    }

    private func receive(_ message: SignalingMessage) {
        let onEvent = state.withLock { state in
            if state.onEvent == nil, !state.isClosed, state.waiting.count < 64 { state.waiting.append(message) }
            return state.onEvent
        }
        onEvent?(.message(message))
    }
}
