import EmisoraCore
import EmisoraJanusProtocol
import EmisoraSignalingClient
import EmisoraSignalingProtocol

/// Streams of others in the room that we receive: each by a handle of its own, with Janus as the one that offers.
extension JanusExchange {
    struct Subscription: Equatable {
        var feed: JanusID
        var handle: UInt64?
    }

    private static let feedLimit = 256

    // MARK: Who publishes

    /// A feed goes by its name, unless another one does.
    mutating func add(_ new: [JanusMessage.Feed]) {
        for feed in new where feeds[feed.id] == nil && feeds.count < Self.feedLimit {
            let display = feed.display ?? ""
            let isFree = SignalingProtocol.isValid(name: display) && !feeds.values.contains(display)
            let name = isFree ? display : feed.id.text
            feeds[feed.id] = name
            emit(.message(.streamPublished(StreamDescription(stream: name, publisher: "feed"))))
        }
    }

    mutating func remove(_ id: JanusID) {
        guard let name = feeds.removeValue(forKey: id) else { return }
        emit(.message(.streamUnpublished(StreamDescription(stream: name, publisher: "feed"))))
        for (subscription, _) in subscriptions.filter({ $0.value.feed == id }) {
            endSubscription(subscription, .unpublished)
        }
    }

    // MARK: The session's wishes

    mutating func subscribe(_ id: String, to name: String, offer: String, now: Instant) {
        guard offer.isEmpty else {
            return refuse(id, .notAllowed, "In Janus's rooms it is Janus that offers (Offerer.publisher).")
        }
        guard isWelcome, let feed = feeds.first(where: { $0.value == name })?.key else {
            return refuse(id, .streamNotFound, "Nobody publishes \(name) in the room \(settings.room).")
        }
        subscriptions[id] = Subscription(feed: feed)
        send(.attach, for: .attachSubscriber(id: id), now: now)
    }

    mutating func answer(_ id: String, _ sdp: String, now: Instant) {
        guard let handle = subscriptions[id]?.handle else { return }
        send(
            .message, for: .other, handle: handle, body: VideoRoomRequest(.start),
            description: JanusDescription(type: "answer", sdp: sdp), now: now)
    }

    /// Janus takes no offer of a subscriber's, but makes one on demand.
    mutating func restartSubscription(_ id: String, now: Instant) {
        guard let handle = subscriptions[id]?.handle else { return }
        var body = VideoRoomRequest(.configure)
        body.restart = true
        send(.message, for: .other, handle: handle, body: body, now: now)
    }

    mutating func leaveSubscription(_ id: String, now: Instant) {
        guard let handle = subscriptions.removeValue(forKey: id)?.handle else { return }
        send(.detach, for: .other, handle: handle, now: now)
    }

    // MARK: What Janus says

    func subscription(of handle: UInt64?) -> String? {
        handle.flatMap { handle in subscriptions.first { $0.value.handle == handle }?.key }
    }

    mutating func didAttach(_ id: String, handle: UInt64?, now: Instant) {
        guard let handle else { return }
        guard let feed = subscriptions[id]?.feed else {
            return send(.detach, for: .other, handle: handle, now: now)
        }
        subscriptions[id]?.handle = handle
        var body = VideoRoomRequest(.join)
        body.ptype = .subscriber
        body.room = JanusID(settings.room, isText: usesTextIDs)
        body.pin = settings.options.pin
        body.privateID = privateID
        body.streams = [.init(feed: feed)]
        send(.message, for: .joinSubscriber(id: id), handle: handle, body: body, now: now)
    }

    /// An offer: the first one, or one with new credentials or media.
    mutating func didHappen(_ message: JanusMessage, toSubscription id: String) {
        guard subscriptions[id] != nil, let offer = message.description, offer.type == "offer" else { return }
        emit(.message(.offer(subscription: id, sdp: offer.sdp)))
    }

    mutating func endSubscription(_ id: String, _ reason: SubscriptionEndReason) {
        guard subscriptions.removeValue(forKey: id) != nil else { return }
        emit(.message(.subscriptionEnded(subscription: id, reason: reason)))
    }

    mutating func refuseSubscription(_ id: String, _ refusal: JanusRefusal) {
        guard subscriptions.removeValue(forKey: id) != nil else { return }
        refuse(id, .init(rawValue: "\(refusal.code)"), refusal.text)
    }

    private mutating func refuse(_ id: String, _ code: SignalingError.Code, _ text: String) {
        emit(.message(.error(SignalingError(code, text, subscription: id))))
    }
}
