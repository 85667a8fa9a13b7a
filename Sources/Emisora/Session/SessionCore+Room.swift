import EmisoraCore
import EmisoraEventLoop
import EmisoraSignalingProtocol

/// Signals, properties of streams, and what moderators may do.
extension SessionCore {
    /// Changes of a stream's properties within that time are told as one: a window that is dragged larger changes sixty
    /// times a second.
    private static let propertyInterval: Duration = .milliseconds(100)

    // MARK: Signals

    func signal(_ content: SignalContent, to recipient: String?) throws(SessionError) {
        guard hub != nil else { throw .invalidState("The session is closed.") }
        if let fault = content.fault { throw .invalidSignal(fault) }
        guard signals.push(RoutedSignal(content, to: recipient)) else {
            throw .tooManySignals(
                "\(SignalOutbox.capacity) signals wait for the server; say less, or wait until they have gone.")
        }
        sendSignals(now: SystemClock.now())
    }

    func sendSignals(now: Instant) {
        guard isWelcome else { return }
        while let signal = signals.poll(now: now) { channel.send(.signal(signal)) }
    }

    func handle(_ signal: RoutedSignal) {
        emit(
            .signalReceived(
                Signal(
                    type: signal.content.type, data: signal.content.data,
                    sender: Session.Connection(id: signal.from ?? "", data: signal.fromData))))
    }

    // MARK: Moderation

    func request(_ message: SignalingMessage, reason: String?) throws(SessionError) {
        guard hub != nil else { throw .invalidState("The session is closed.") }
        guard isWelcome else { throw .invalidState("The signaling server is away; try again when it is back.") }
        guard Moderation.isAllowed(reason: reason) else {
            throw .invalidState(
                "A reason is at most \(Moderation.maximumReasonByteCount) bytes without control characters.")
        }
        channel.send(message)
    }

    func handle(_ mute: ForcedMute) {
        for name in mute.stream.map({ [$0] }) ?? publications.keys.sorted() {
            guard let publisher = publications[name]?.publisher else { continue }
            if mute.media.video { publisher.publishesVideo = false }
            if mute.media.audio { publisher.publishesAudio = false }
            emit(
                .muteForced(
                    stream: name, video: mute.media.video, audio: mute.media.audio, by: mute.by ?? "",
                    reason: Moderation.shown(mute.reason)))
        }
    }

    func handle(_ disconnect: ForcedDisconnect) {
        let reason = Moderation.shown(disconnect.reason)
        emit(.forceDisconnected(by: disconnect.by ?? "", reason: reason))
        end(.forceDisconnected(reason: reason))
    }

    // MARK: Properties of streams

    /// Something about a stream of ours is not as it was.
    func propertiesChanged(of publisher: Publisher, now: Instant) {
        guard let publication = publications[publisher.name], publication.publisher === publisher else { return }
        publication.fanout.setSendsPictures(publisher.publishesVideo)
        // Before that the announcement itself says how things are.
        guard publication.isAnnounced, !publication.awaitsUpdate else { return }
        let earliest = publication.updatedAt.map { $0 + Self.propertyInterval } ?? now
        guard earliest > now else { return updateProperties(of: publisher.name, now: now) }
        publications[publisher.name]?.awaitsUpdate = true
        schedule(after: earliest - now) { [weak self] in
            self?.publications[publisher.name]?.awaitsUpdate = false
            self?.updateProperties(of: publisher.name, now: SystemClock.now())
        }
    }

    func updateProperties(of name: String, now: Instant) {
        guard let publication = publications[name], publication.isAnnounced, isWelcome else { return }
        let properties = publication.publisher.properties
        guard properties != publication.announcedProperties else { return }
        publications[name]?.announcedProperties = properties
        publications[name]?.updatedAt = now
        channel.send(.updateStream(stream: name, properties: properties))
    }

    /// Announces a stream of ours as it is now.
    func sendPublish(_ name: String) {
        guard let publisher = publications[name]?.publisher else { return }
        let properties = publisher.properties
        publications[name]?.announcedProperties = properties
        channel.send(.publish(stream: name, properties: properties))
    }

    func handlePropertyChange(_ stream: StreamDescription) {
        guard let index = roomStreams.firstIndex(where: { $0.stream == stream.stream }) else { return }
        let old = roomStreams[index]
        guard old.publisher == stream.publisher else { return }
        roomStreams[index] = stream
        tellChange(from: old, to: stream)
    }

    func tellChange(from old: StreamDescription, to stream: StreamDescription) {
        guard old.publisher == stream.publisher, old != stream else { return }
        emit(.streamPropertyChanged(RoomStream(stream), from: RoomStream(old)))
    }

    // MARK: What is sent to whom

    /// A receiver of ours wants other media than before.
    func handleSelect(_ id: String, _ media: MediaSelection, now: Instant) {
        for (name, publication) in publications {
            guard let peer = publication.peers[id] else { continue }
            publication.fanout.select(media, for: peer, now: now)
            countSubscribers(of: name)
        }
    }

    /// A subscriber of ours wants other media than before.
    func sendSelection(ofSubscription id: String) {
        guard let subscription = subscriptions[id] else { return }
        let subscriber = subscription.reception.subscriber
        let media = MediaSelection(video: subscriber.subscribesToVideo, audio: subscriber.subscribesToAudio)
        guard media != subscription.selected else { return }
        let gainsVideo = media.video && !subscription.selected.video
        subscriptions[id]?.selected = media
        channel.send(.select(subscription: id, media))
        // A sender that does not know the message has gone on; what was passed over is missing.
        if gainsVideo { subscription.reception.peer.engine.requestKeyFrame(now: SystemClock.now()) }
    }
}
