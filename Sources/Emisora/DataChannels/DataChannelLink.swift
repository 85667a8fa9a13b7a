import EmisoraCore
import EmisoraEventLoop
import EmisoraPeerEngine
import EmisoraSCTP
import Synchronization

/// The data channels of one peer connection, between their users' threads and the network thread.
final class DataChannelLink: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: `channels`, `ids` and `engine` are touched on the loop's thread only, where
    // `advance` and the closures run; `unread` is atomic, the rest never changes.
    /// More than this unread of all channels together, and nothing more is read from the network.
    private static let unreadLimit = 1_048_576

    private let loop: EventLoop
    let connectionID: String
    private let onIncoming: @Sendable (DataChannel) -> Void
    private weak var engine: Engine?
    private var channels: [DataChannelID: DataChannel] = [:]
    private var ids: [ObjectIdentifier: DataChannelID] = [:]
    private let unread = Atomic<Int>(0)

    init(
        loop: EventLoop, engine: Engine, connectionID: String, onIncoming: @escaping @Sendable (DataChannel) -> Void
    ) {
        self.loop = loop
        self.connectionID = connectionID
        self.engine = engine
        self.onIncoming = onIncoming
    }

    // MARK: From any thread

    func send(_ payload: DataChannelPayload, on channel: DataChannel) {
        loop.execute { [self] in
            let id = ids[ObjectIdentifier(channel)]
            // What the state said when it was sent may have changed; W3C drops such a message silently, too.
            if let id { try? engine?.send(payload, on: id, now: SystemClock.now()) }
            let amount = id.flatMap { engine?.bufferedAmount(of: $0) } ?? 0
            channel.update { state in
                state.handedOver -= payload.byteCount
                state.bufferedAmount = amount
            }
        }
    }

    func close(_ channel: DataChannel) {
        loop.execute { [self] in
            guard let id = ids[ObjectIdentifier(channel)] else { return }
            engine?.closeDataChannel(id, now: SystemClock.now())
        }
    }

    /// Messages of that cost do not wait to be read any more.
    func didRead(_ cost: Int) {
        guard cost > 0 else { return }
        let left = unread.subtract(cost, ordering: .relaxed).newValue
        guard left < Self.unreadLimit / 2, left + cost >= Self.unreadLimit / 2 else { return }
        loop.execute { [self] in engine?.setDataChannelReadingPaused(false, now: SystemClock.now()) }
    }

    func open(_ channel: DataChannel) {
        loop.execute { [self] in openNow(channel) }
    }

    // MARK: On the loop's thread

    func openNow(_ channel: DataChannel) {
        guard channel.readyState == .connecting else { return finish(channel, reason: "") }
        guard let engine else { return finish(channel, reason: "The connection was closed.") }
        do throws(DataChannelError) {
            let id = try engine.openDataChannel(
                DataChannelParameters(label: channel.label, channel.options), now: SystemClock.now())
            channels[id] = channel
            ids[ObjectIdentifier(channel)] = id
            channel.update { $0.link = self }
        } catch {
            finish(channel, reason: error.description)
        }
    }

    /// Tells the channels what has happened.
    func advance() {
        guard let engine else { return }
        while let event = engine.pollDataChannelEvent() { take(event, engine) }
    }

    /// The connection is over.
    func end(reason: String) {
        advance()
        for channel in channels.values { finish(channel, reason: reason) }
        channels.removeAll()
        ids.removeAll()
    }

    private func take(_ event: DataChannelEvent, _ engine: Engine) {
        switch event {
        case .incoming(let id, let parameters):
            let channel = DataChannel(label: parameters.label, options: parameters.options, link: self)
            channels[id] = channel
            ids[ObjectIdentifier(channel)] = id
            becomeOpen(channel, engine)
            onIncoming(channel)
        case .opened(let id):
            if let channel = channels[id] { becomeOpen(channel, engine) }
        case .message(let id, let payload):
            guard let channel = channels[id] else { return }
            let message = DataChannel.Message(payload)
            let total = channel.update { state in
                // Nobody reads what comes after the channel was closed here.
                guard state.countsUnread else { return 0 }
                state.inbox.append(message)
                return unread.add(message.cost, ordering: .relaxed).newValue
            }
            if total > Self.unreadLimit { engine.setDataChannelReadingPaused(true, now: SystemClock.now()) }
        case .bufferedAmountChanged(let id, let amount):
            channels[id]?.update { $0.bufferedAmount = amount }
        case .closing(let id):
            channels[id]?.update { state in
                if state.readyState == .open || state.readyState == .connecting { state.readyState = .closing }
            }
        case .closed(let id, let reason):
            guard let channel = channels.removeValue(forKey: id) else { return }
            ids[ObjectIdentifier(channel)] = nil
            finish(channel, reason: reason)
        }
    }

    private func becomeOpen(_ channel: DataChannel, _ engine: Engine) {
        let limit = engine.maximumDataChannelMessageByteCount
        channel.update { state in
            state.maximumMessageByteCount = limit
            if state.readyState == .connecting { state.readyState = .open }
        }
    }

    private func finish(_ channel: DataChannel, reason: String) {
        let cost = channel.update { state in
            state.readyState = .closed
            state.closeReason = reason
            state.bufferedAmount = 0
            // The messages can still be read, but they are bounded now and hold other channels up no more.
            defer { state.countsUnread = false }
            return state.countsUnread ? state.unreadCost : 0
        }
        didRead(cost)
    }
}
