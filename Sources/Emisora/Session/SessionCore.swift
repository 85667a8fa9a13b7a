import EmisoraCapture
import EmisoraCore
import EmisoraCrypto
import EmisoraEventLoop
import EmisoraPeerEngine
import EmisoraSDP
import EmisoraSignalingClient
import EmisoraSignalingProtocol
import EmisoraTURN

/// The state of a session: what was published and subscribed, and what the room said. Its parts stand in extensions.
final class SessionCore: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: everything is touched on the loop's thread only; references cross threads
    // inside closures for that thread.
    typealias Completion = (Result<Void, SessionError>) -> Void

    /// A stream of ours, with those who receive it.
    struct Publication {
        let publisher: Publisher
        let fanout: MediaFanout
        var peers: [String: Peer] = [:]
        var connected: Set<String> = []
        /// Delivery to those who have left.
        var pastDelivery = DeliveryLedger()
        var pastTotals = OutboundTotals()
        var announced: Completion?
        /// Which call of `publish` waits for it: the timer and the cancellation of another one leave it alone.
        var attempt = 0
        var isAnnounced = false
        /// What the room was told last, and when.
        var announcedProperties: StreamProperties?
        var updatedAt: Instant?
        /// An update will follow.
        var awaitsUpdate = false
        /// Another attempt follows, since the name was taken.
        var waitsToBeAnnounced = false
    }

    /// A stream that we receive.
    struct Subscription {
        let stream: String
        let reception: Reception
        var answered: Completion?
        /// The publisher's signaling is gone; unless pictures go on, so is the publisher.
        var isSignalingLost = false
        /// What the publisher was asked for.
        var selected = MediaSelection.everything
    }

    /// Something to do at an instant unless its condition has passed.
    private struct Timer {
        let at: Instant
        let action: () -> Void
    }

    let loop: EventLoop
    let channel: any SignalingChannel
    let events: SessionEvents
    var hub: PeerHub?
    var random = SecureRandom()
    var publications: [String: Publication] = [:]
    var subscriptions: [String: Subscription] = [:]
    /// Names of streams that HTTP encoders may send to us, `nil` for any.
    var receivers: [String?: Receiver] = [:]
    var roomStreams: [StreamDescription] = []
    var signals = SignalOutbox()
    /// Those of before an outage that the server has not named since.
    var unconfirmedStreams: Set<String> = []
    var participantID = ""
    var welcomed: Completion?
    var isWelcome = false
    var wasWelcome = false
    /// Why the server does not let us back in.
    var lastRefusal: SessionError?
    private var lastLoss = ""
    private var isShutDown = false
    private var timers: [Timer] = []
    private var attempts = 0

    init(loop: EventLoop, channel: any SignalingChannel, events: SessionEvents) {
        self.loop = loop
        self.channel = channel
        self.events = events
    }

    func start(_ options: Session.Options) throws(SessionError) {
        let hub = try PeerHub(loop: loop, options: options)
        hub.owner = self
        hub.add(self)
        self.hub = hub
        channel.open { [weak self, loop] event in
            loop.execute { [weak self] in self?.handle(event) }
        }
        // While the server is being asked, on its own thread.
        DTLSSRTPSecurity.prepare()
    }

    /// Bridges an operation with a completion to the caller's `await`. Where the caller's task is cancelled meanwhile,
    /// `cancel` must see to it that the completion is called.
    func wait(
        isolation: isolated (any Actor)? = #isolation, _ operation: (SessionCore, @escaping Completion) -> Void,
        cancel: @escaping @Sendable (SessionCore) -> Void
    ) async throws(SessionError) {
        let result: Result<Void, SessionError> = await withTaskCancellationHandler {
            // A closure that does not name the actor leaves it, and with it the loop's thread.
            _ = isolation
            return await withCheckedContinuation { continuation in
                operation(self) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            // Runs after `operation`, which is on this thread now.
            loop.execute { cancel(self) }
        }
        try result.get()
    }

    /// Tells one asynchronous call from another, so that what ends the one does not end the other.
    func nextAttempt() -> Int {
        attempts += 1
        return attempts
    }

    func awaitWelcome(timeout: Duration, _ completion: @escaping Completion) {
        if isWelcome { return completion(.success(())) }
        welcomed = completion
        schedule(after: timeout) { [weak self] in
            self?.failWelcome(.connectFailed("The signaling server did not answer within \(timeout.inSeconds) s."))
        }
    }

    func failWelcome(_ error: SessionError) {
        guard let completion = welcomed.take() else { return }
        shutdown(.connectFailed(error))
        completion(.failure(error))
    }

    func emit(_ event: SessionEvent) {
        events.continuation.yield(event)
    }

    /// Ends everything at once. Capturers are stopped by the caller, who can wait for them.
    func shutdown(_ reason: SessionEndReason) {
        guard !isShutDown else { return }
        isShutDown = true
        for (_, subscription) in subscriptions { finish(subscription) }
        subscriptions.removeAll()
        for (name, publication) in publications {
            channel.send(.unpublish(stream: name))
            publication.announced?(.failure(.invalidState("The session was closed.")))
        }
        publications.removeAll()
        for stream in receivers.keys { stopReceiving(stream) }
        if isWelcome {
            // What was said before the end is heard, as far as signals may still go.
            sendSignals(now: SystemClock.now())
            channel.send(.leave)
        }
        channel.close()
        hub?.shutdown(now: SystemClock.now())
        hub = nil
        timers.removeAll()
        emit(.ended(reason))
        events.continuation.finish()
    }

    // MARK: Signaling

    private func handle(_ event: SignalingClientEvent) {
        guard !isShutDown else { return }
        switch event {
        case .connected: break
        case .iceServers(let servers): hub?.addRoomServers(servers.map(ICEServer.init), now: SystemClock.now())
        case .message(let message): handle(message, now: SystemClock.now())
        case .notice(let text): emit(.serverReported(text))
        case .disconnected(let reason):
            isWelcome = false
            lastLoss = reason.description
            // The first connection is not tried for ever: its failure is told at once.
            if !wasWelcome { failWelcome(.connectFailed(reason.description)) }
        case .reconnecting(let attempt):
            guard wasWelcome else { return }
            emit(.reconnecting(attempt: attempt, reason: lastRefusal?.description ?? lastLoss))
        case .gaveUp(let attempts):
            end(.retriesExhausted(attempts: attempts, reason: lastRefusal?.description ?? lastLoss))
        }
    }

    /// The session is over through no wish of ours.
    func end(_ reason: SessionEndReason) {
        guard !isShutDown else { return }
        let publishers = publishers
        shutdown(reason)
        Task {
            for publisher in publishers { await publisher.end() }
        }
    }

    private func handle(_ message: SignalingMessage, now: Instant) {
        switch message {
        case .welcome(_, let id, _, let streams, let servers, let ticket):
            hub?.setRoomServers(servers.map(ICEServer.init), now: now)
            if wasWelcome { hub?.refreshServers(now: now) }
            handleWelcome(id, streams, grace: .seconds(ticket?.grace ?? 0))
        case .streamPublished(let stream):
            unconfirmedStreams.remove(stream.stream)
            roomStreams.removeAll { $0.stream == stream.stream }
            roomStreams.append(stream)
            // Somebody else's of that name is no answer to ours.
            if stream.publisher == participantID {
                completeAnnouncement(of: stream.stream, attempt: nil, .success(()))
            }
            emit(.streamPublished(name: stream.stream))
        case .streamPropertyChanged(let stream): handlePropertyChange(stream)
        case .signal(let signal): handle(signal)
        case .participantJoined(let id, let data): emit(.connectionCreated(Session.Connection(id: id, data: data)))
        case .participantLeft(let id): emit(.connectionDestroyed(Session.Connection(id: id, data: nil)))
        case .muteForced(let mute), .forceMute(let mute): handle(mute)
        case .forceDisconnected(let disconnect), .forceDisconnect(let disconnect): handle(disconnect)
        case .select(let subscription, let media): handleSelect(subscription, media, now: now)
        case .streamUnpublished(let stream):
            unconfirmedStreams.remove(stream.stream)
            roomStreams.removeAll { $0.stream == stream.stream }
            emit(.streamUnpublished(name: stream.stream))
        case .subscribe(let subscription, let stream, let sdp):
            handleSubscribe(subscription, stream: stream, offer: sdp, now: now)
        case .offer(let subscription, let sdp): handleOffer(subscription, sdp, now: now)
        case .answer(let subscription, let sdp): handleAnswer(subscription, sdp, now: now)
        case .candidate(let subscription, let candidate):
            peer(of: subscription)?.engine.addRemoteCandidate(
                candidate.candidate, usernameFragment: candidate.usernameFragment, now: now)
        case .subscriptionEnded(let subscription, let reason), .bye(let subscription, let reason):
            handleEnd(subscription, reason: reason, now: now)
        case .error(let error): handle(error)
        case .receiving(let stream): handleReceiving(stream)
        case .ingest(let subscription, let stream, let sdp):
            handleIngest(subscription, stream: stream, offer: sdp, now: now)
        case .join, .publish, .unpublish, .updateStream, .receive, .stopReceiving, .leave: break
        }
    }

    /// Ourselves, as others know us.
    var connection: Session.Connection { Session.Connection(id: participantID, data: nil) }

    private func handle(_ error: SignalingError) {
        let refusal: SessionError =
            error.code == .unreachable
            ? .connectFailed(error.message) : .refused(code: error.code.rawValue, message: error.message)
        if error.code == .takenOver {
            end(.takenOver)
        } else if error.code == .subscriptionNotFound {
            // A server that has forgotten says so of what goes on without it.
            guard let id = error.subscription, subscriptions[id]?.answered != nil else { return }
            endSubscription(id, reason: error.message, error: refusal)
        } else if let id = error.subscription, subscriptions[id] != nil {
            endSubscription(id, reason: error.message, error: refusal)
        } else if error.inReplyTo == "receive" {
            failReceive(error.stream, refusal)
        } else if error.inReplyTo == "publish" || error.code == .streamTaken {
            for name in publications.keys.sorted() {
                if publications[name]?.isAnnounced == false {
                    completeAnnouncement(of: name, attempt: nil, .failure(refusal))
                } else if error.code == .streamTaken {
                    // After a broken connection the server may not have noticed yet that the old one is gone.
                    announceAgain(name)
                }
            }
        } else if error.inReplyTo == "join" {
            // After an outage, as when a token has expired meanwhile: the next attempt is told with it.
            lastRefusal = refusal
            failWelcome(refusal)
        } else if let request = error.inReplyTo, ["signal", "forceMute", "forceDisconnect"].contains(request) {
            emit(.requestRefused(request: request, code: error.code.rawValue, message: error.message))
        }
    }

    private func announceAgain(_ name: String) {
        // A refusal does not say which stream it is about.
        guard publications[name]?.waitsToBeAnnounced == false else { return }
        publications[name]?.waitsToBeAnnounced = true
        schedule(after: .seconds(1)) { [weak self] in
            guard let self else { return }
            publications[name]?.waitsToBeAnnounced = false
            guard isWelcome, publications[name] != nil,
                !roomStreams.contains(where: { $0.stream == name && $0.publisher == participantID })
            else { return }
            sendPublish(name)
        }
    }

    func peer(of subscription: String) -> Peer? {
        subscriptions[subscription]?.reception.peer
            ?? publications.values.lazy.compactMap { $0.peers[subscription] }.first
    }

    /// A description of the peer's that cannot be used ends its subscription, on whichever side we are.
    func refuse(_ subscription: String, because error: SDPError, now: Instant) {
        channel.send(.bye(subscription: subscription, reason: .invalidOffer))
        endSubscription(subscription, reason: error.description, error: .system(error.description))
        endDelivery(subscription, reason: error.description, now: now)
    }

    private func handleEnd(_ subscription: String, reason: SubscriptionEndReason, now: Instant) {
        if subscriptions[subscription] != nil {
            if reason == .signalingLost {
                subscriptions[subscription]?.isSignalingLost = true
                watchForSilence(subscription)
            } else {
                endSubscription(
                    subscription, reason: reason.rawValue,
                    error: .refused(code: reason.rawValue, message: "The publisher ended the subscription."))
            }
            // Media of a receiver whose signaling is lost goes on, until consent ends or it says goodbye.
        } else if reason != .signalingLost {
            endDelivery(subscription, reason: reason.rawValue, now: now)
        }
    }
}

extension SessionCore: PeerOwner {
    func peer(_ peer: Peer, didEmit event: PeerEvent, now: Instant) {
        // One connection may go both ways.
        let receiving = subscriptions.first { $0.value.reception.peer === peer }?.key
        let sending = delivery(to: peer)
        guard let id = receiving ?? sending?.id, !handlePathEvent(event, of: id, peer) else { return }
        if let receiving { handle(event, ofSubscription: receiving) }
        if let sending, delivery(to: peer) != nil {
            handle(event, ofDelivery: sending.id, stream: sending.stream, peer: peer, now: now)
        }
    }

    func peerDidAdvance(_ peer: Peer, now: Instant) {
        subscriptions.values.first { $0.reception.peer === peer }?.reception.advance(now: now)
    }
}

extension SessionCore: TurnParticipant {
    func schedule(after duration: Duration, _ action: @escaping () -> Void) {
        timers.append(Timer(at: SystemClock.now() + duration, action: action))
    }

    func turn(now: Instant) {
        sendSignals(now: now)
        let due = timers.filter { $0.at <= now }
        guard !due.isEmpty else { return }
        timers.removeAll { $0.at <= now }
        for timer in due { timer.action() }
    }

    var nextDeadline: Instant? {
        let signal = isWelcome ? signals.nextDeadline(now: SystemClock.now()) : nil
        return [timers.lazy.map(\.at).min(), signal].compactMap(\.self).min()
    }
}
