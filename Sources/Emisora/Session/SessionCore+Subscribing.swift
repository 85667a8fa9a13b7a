import EmisoraCore
import EmisoraEventLoop
import EmisoraPeerEngine
import EmisoraSDP
import EmisoraSignalingProtocol

/// Streams that we receive.
extension SessionCore {
    /// Without its signaling a publisher that is not heard for this long, not even by a report, is taken for gone.
    private static let silenceLimit: Duration = .seconds(2)

    func makeSubscriptionID() -> String { SignalingProtocol.makeIdentifier(using: &random) }

    func subscribe(
        _ subscriber: Subscriber, to stream: String, id: String, offerer: Offerer, _ completion: @escaping Completion
    ) {
        let now = SystemClock.now()
        guard let hub else { return completion(.failure(.invalidState("The session is closed."))) }
        if let codecs = roomStreams.first(where: { $0.stream == stream })?.properties,
            !codecs.isPlayable(with: Publisher.allCodecs)
        {
            // Nobody has to offer to find that out.
            return completion(
                .failure(
                    .refused(
                        code: SubscriptionEndReason.noCommonCodec.rawValue,
                        message:
                            "\(stream) is sent as \(codecs.codecs.joined(separator: ", ")), of which none is known here; "
                            + "Emisora plays \(Publisher.allCodecs.joined(separator: " and ")).")))
        }
        guard
            let peer = hub.makePeer(
                media: Self.media(of: subscriber), hasDataChannels: subscriber.wantsDataChannels, sockets: .own,
                owner: self, now: now)
        else {
            return completion(.failure(.system("The session has too many connections.")))
        }
        let reception = Reception(subscriber: subscriber, peer: peer, now: now)
        do {
            try begin(subscriber, id: id)
            // Not before: one that is in use has its channels by another connection.
            attach(subscriber.channels, to: peer, id: id)
            let offer = offerer == .publisher ? "" : try peer.engine.makeOffer()
            hub.add(reception)
            subscriptions[id] = Subscription(stream: stream, reception: reception, answered: completion)
            channel.send(.subscribe(subscription: id, stream: stream, sdp: offer))
        } catch {
            hub.close(peer, now: now)
            return completion(.failure(error as? SessionError ?? .system("\(error)")))
        }
        schedule(after: channel.answerTimeout) { [weak self] in
            self?.failUnanswered(id)
        }
    }

    /// Channels that wait are opened, and those of the peer are shown.
    func attach(_ channels: DataChannelSet, to peer: Peer, id: String) {
        let link = DataChannelLink(loop: loop, engine: peer.engine, connectionID: id) { [weak channels] in
            channels?.accept($0)
        }
        peer.dataChannels = link
        channels.attach(link)
    }

    static func media(of subscriber: Subscriber) -> [PeerConfiguration.Media] {
        [
            .init(.audio, sends: false, receives: true, isStereo: subscriber.options.audioChannels == 2),
            .init(.video, sends: false, receives: true),
        ]
    }

    /// Starts a subscriber's threads; what it needs of its sender goes by the subscription of that id.
    func begin(_ subscriber: Subscriber, id: String) throws(SessionError) {
        try subscriber.begin(
            needsKeyFrame: { [weak self, loop] in
                loop.execute { [weak self] in self?.requestKeyFrame(ofSubscription: id) }
            },
            onSelect: { [weak self, loop] in
                loop.execute { [weak self] in self?.sendSelection(ofSubscription: id) }
            })
    }

    private func failUnanswered(_ id: String) {
        guard let subscription = subscriptions[id], subscription.answered != nil else { return }
        channel.send(.bye(subscription: id, reason: .timedOut))
        endSubscription(
            id, reason: "timedOut",
            error: .timedOut(
                "The publisher of \(subscription.stream) did not answer within \(channel.answerTimeout.inSeconds) s."))
    }

    private func requestKeyFrame(ofSubscription id: String) {
        subscriptions[id]?.reception.peer.engine.requestKeyFrame(now: SystemClock.now())
    }

    func completeSubscribe(_ id: String, _ result: Result<Void, SessionError>) {
        guard let completion = subscriptions[id]?.answered else { return }
        subscriptions[id]?.answered = nil
        completion(result)
    }

    /// Ends a subscription that its publisher has not answered yet.
    func cancelSubscribe(_ id: String) {
        guard let subscription = subscriptions[id], subscription.answered != nil else { return }
        completeSubscribe(id, .failure(.cancelled))
        removeReception(of: subscription.reception.subscriber)
    }

    func removeReception(of subscriber: Subscriber) {
        if let waiting = receivers.first(where: { $0.value.waiting === subscriber }) { stopReceiving(waiting.key) }
        guard let id = subscriptions.first(where: { $0.value.reception.subscriber === subscriber })?.key,
            let subscription = subscriptions.removeValue(forKey: id)
        else { return }
        channel.send(.bye(subscription: id, reason: .bye))
        finish(subscription)
        endDelivery(by: subscription.reception.peer, id, reason: "The subscription was ended.")
    }

    func finish(_ subscription: Subscription) {
        subscription.answered?(.failure(.invalidState("The subscription was ended.")))
        hub?.remove(subscription.reception)
        hub?.close(subscription.reception.peer, now: SystemClock.now())
        subscription.reception.subscriber.end()
    }

    /// The subscription is over through no wish of ours.
    func endSubscription(_ id: String, reason: String, error: SessionError) {
        guard subscriptions[id] != nil else { return }
        completeSubscribe(id, .failure(error))
        guard let subscription = subscriptions.removeValue(forKey: id) else { return }
        finish(subscription)
        endDelivery(by: subscription.reception.peer, id, reason: reason)
        emit(.subscriptionEnded(stream: subscription.stream, reason: reason))
    }

    func handle(_ event: PeerEvent, ofSubscription id: String) {
        guard let subscription = subscriptions[id] else { return }
        switch event {
        case .stateChanged(.connected, _):
            // What was chosen before there was anybody to tell.
            sendSelection(ofSubscription: id)
            emit(.subscriptionConnected(stream: subscription.stream))
        case .stateChanged(.failed, let reason), .stateChanged(.closed, let reason):
            channel.send(.bye(subscription: id, reason: .connectionFailed))
            endSubscription(id, reason: reason, error: .system(reason))
        case .remoteSourceEnded:
            channel.send(.bye(subscription: id, reason: .bye))
            endSubscription(
                id, reason: "The publisher ended the stream.", error: .system("The publisher ended the stream."))
        case .stateChanged, .keyFrameNeeded, .layerKeyFrameNeeded, .targetBitrateChanged, .localCandidate,
            .selectedPathChanged, .localAddressLost, .connectionWanted, .iceStateChanged:
            break
        }
    }

    func watchForSilence(_ id: String) {
        schedule(after: .milliseconds(250)) { [weak self] in
            guard let self, let subscription = subscriptions[id], subscription.isSignalingLost else { return }
            let silence = SystemClock.now() - subscription.reception.lastHeardAt
            if silence >= Self.silenceLimit {
                endSubscription(
                    id, reason: "The publisher is gone.", error: .system("The publisher is gone."))
            } else {
                watchForSilence(id)
            }
        }
    }
}
