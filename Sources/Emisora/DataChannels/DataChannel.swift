import EmisoraSCTP
import Synchronization

/// Messages both ways beside pictures and sound, with a peer of one connection (W3C `RTCDataChannel`).
///
/// A viewer that steers what it sees:
///
/// ```swift
/// let subscriber = Subscriber(videoSink: myView)
/// let steering = try subscriber.makeDataChannel(label: "steering")
/// try await session.subscribe(subscriber, to: "robot")
/// try await steering.opened()
/// try steering.send(.text("left"))
/// for await message in steering.messages { print(message) }
/// ```
///
/// Everything may be called from any thread. Messages that nobody reads keep the peer from sending more on any channel of
/// the connection, so read `messages` of each channel, or close it.
public final class DataChannel: Sendable {
    public let label: String
    public let options: Options

    /// What tells one peer's channels from another's: the same text for all channels of one connection, and for no other
    /// of the session. `nil` before there is a connection.
    public var connectionID: String? { state.withLock { $0.link?.connectionID } }

    /// What users of the channel see; the network thread changes it.
    struct State {
        var readyState = ReadyState.connecting
        var closeReason = ""
        var inbox: [Message] = []
        var inboxStart = 0
        /// Bytes on their way to the network thread …
        var handedOver = 0
        /// … and those that wait there, as it said last.
        var bufferedAmount = 0
        var maximumMessageByteCount = 0
        var link: DataChannelLink?
        fileprivate var lowThreshold = 0
        fileprivate var waiters: [UInt64: Waiter] = [:]
        fileprivate var nextWaiter: UInt64 = 0

        /// Whether what is unread holds the peer back; no more once the channel is over.
        var countsUnread = true

        fileprivate var hasMessage: Bool { inboxStart < inbox.count }
        /// What the messages that nobody has read cost in the link's count.
        var unreadCost: Int { inbox[inboxStart...].reduce(0) { $0 + $1.cost } }
        fileprivate var waiting: Int { handedOver + bufferedAmount }
    }

    fileprivate struct Waiter {
        let isDone: @Sendable (borrowing State) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private let state = Mutex(State())

    init(label: String, options: Options, readyState: ReadyState = .connecting, link: DataChannelLink? = nil) {
        self.label = label
        self.options = options
        state.withLock { state in
            state.readyState = readyState
            state.link = link
        }
    }

    public var readyState: ReadyState { state.withLock { $0.readyState } }

    /// Bytes of messages that were sent and have not gone out to the network yet.
    public var bufferedAmount: Int { state.withLock { $0.waiting } }

    /// The largest message that the peer takes, in bytes; 0 before the channel is open.
    public var maximumMessageSize: Int { state.withLock { $0.maximumMessageByteCount } }

    /// Queues a message, which goes at once where the network allows.
    ///
    /// - Throws: ``Failure/notOpen(_:)``, ``Failure/messageTooLarge(byteCount:limit:)``, or
    ///   ``Failure/bufferFull(limit:)`` when 16 MiB wait; ``bufferedAmountLow(threshold:)`` tells when to go on.
    public func send(_ message: Message) throws(Failure) {
        let payload = message.payload
        let limit = DataChannels.maximumBufferedAmount
        let link = try state.withLock { state throws(Failure) in
            guard state.readyState == .open, let link = state.link else { throw .notOpen(state.readyState) }
            guard payload.byteCount <= state.maximumMessageByteCount else {
                throw .messageTooLarge(byteCount: payload.byteCount, limit: state.maximumMessageByteCount)
            }
            guard state.waiting + payload.byteCount <= limit else { throw .bufferFull(limit: limit) }
            state.handedOver += payload.byteCount
            return link
        }
        link.send(payload, on: self)
    }

    /// Closes the channel for both sides. What was sent before still arrives; what arrived and was not read is dropped.
    public func close() {
        let (link, cost) = update { state -> (DataChannelLink?, Int) in
            // What was there when the peer closed can still be read.
            guard state.readyState != .closed else { return (nil, 0) }
            // Without a connection there is no other side to wait for.
            state.readyState = state.link == nil ? .closed : .closing
            let cost = state.countsUnread ? state.unreadCost : 0
            state.countsUnread = false
            state.inbox = []
            state.inboxStart = 0
            return (state.link, cost)
        }
        link?.didRead(cost)
        link?.close(self)
    }

    /// Returns once messages can be sent.
    ///
    /// - Throws: ``Failure/closed(reason:)`` where that will never be, ``Failure/cancelled``.
    public func opened() async throws(Failure) {
        await wait { $0.readyState != .connecting }
        let (readyState, reason) = state.withLock { ($0.readyState, $0.closeReason) }
        switch readyState {
        case .open: return
        case .connecting: throw .cancelled
        case .closing, .closed: throw .closed(reason: reason)
        }
    }

    /// Returns once no more than `threshold` bytes wait to go out (W3C `bufferedamountlow`), the channel is closed, or the
    /// task cancelled.
    public func bufferedAmountLow(threshold: Int = 0) async {
        await wait { $0.waiting <= threshold || $0.readyState == .closed }
    }

    /// Messages as they arrive, each of which goes to one reader; ends when the channel is closed.
    public var messages: Messages { Messages(channel: self) }

    public struct Messages: AsyncSequence, Sendable {
        let channel: DataChannel

        public struct AsyncIterator: AsyncIteratorProtocol {
            let channel: DataChannel

            /// `nil` when the channel is closed and everything was read, or the task was cancelled.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Message? {
                await channel.next()
            }

            public mutating func next() async -> Message? { await channel.next() }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(channel: channel) }
    }

    // MARK: Inside

    private func next() async -> Message? {
        await wait { $0.hasMessage || $0.readyState == .closed }
        let (message, link) = state.withLock { state -> (Message?, DataChannelLink?) in
            guard state.hasMessage else { return (nil, nil) }
            let message = state.inbox[state.inboxStart]
            state.inboxStart += 1
            if state.inboxStart == state.inbox.count || state.inboxStart >= 256 {
                state.inbox.removeFirst(state.inboxStart)
                state.inboxStart = 0
            }
            return (message, state.countsUnread ? state.link : nil)
        }
        if let message { link?.didRead(message.cost) }
        return message
    }

    /// Changes the state, then lets those go on who waited for what it is now.
    func update<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
        let (value, done) = state.withLock { state -> (Value, [Waiter]) in
            let value = change(&state)
            guard !state.waiters.isEmpty else { return (value, []) }
            let done = state.waiters.filter { $0.value.isDone(state) }
            for id in done.keys { state.waiters[id] = nil }
            return (value, Array(done.values))
        }
        for waiter in done { waiter.continuation.resume() }
        return value
    }

    private func wait(until isDone: @escaping @Sendable (borrowing State) -> Bool) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A task that was cancelled before would not be woken again.
                let isOver = Task.isCancelled
                let mustWait = state.withLock { state in
                    guard !isOver, !isDone(state) else { return false }
                    state.waiters[id] = Waiter(isDone: isDone, continuation: continuation)
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
        }
    }
}
