import EmisoraCore
import EmisoraEventLoop
import EmisoraPeerEngine
import EmisoraSDP
import EmisoraSignalingProtocol

/// Streams of ours and those who receive them.
extension SessionCore {
    var publishers: [Publisher] { publications.values.map(\.publisher) }

    func reserve(_ publisher: Publisher) throws(SessionError) {
        guard let hub else { throw .invalidState("The session is closed.") }
        guard SignalingProtocol.isValid(name: publisher.name) else {
            throw .invalidState(
                "\(publisher.name) is no stream name; use 1 to 64 of A-Z a-z 0-9 _ - that are not reserved.")
        }
        guard publications[publisher.name] == nil else {
            throw .invalidState("This session already publishes a stream named \(publisher.name).")
        }
        if let fault = VideoEncoding.fault(in: publisher.options.encodings) { throw .invalidState(fault) }
        let fanout = MediaFanout(video: publisher.video, audio: publisher.audio)
        fanout.setSendsPictures(publisher.publishesVideo)
        hub.add(fanout)
        publications[publisher.name] = Publication(publisher: publisher, fanout: fanout)
        hub.prepareSharedCandidates(now: SystemClock.now())
    }

    func announce(_ publisher: Publisher, attempt: Int, _ completion: @escaping Completion) {
        guard publications[publisher.name]?.publisher === publisher else {
            return completion(.failure(.invalidState("The session is closed.")))
        }
        publications[publisher.name]?.announced = completion
        publications[publisher.name]?.attempt = attempt
        sendPublish(publisher.name)
        let patience = channel.answerTimeout
        schedule(after: patience) { [weak self] in
            self?.completeAnnouncement(
                of: publisher.name, attempt: attempt,
                .failure(
                    .timedOut(
                        "The server did not confirm the stream \(publisher.name) within \(patience.inSeconds) s.")))
        }
    }

    /// - Parameter attempt: Whose end it is; `nil`: of whichever waits.
    func completeAnnouncement(of name: String, attempt: Int?, _ result: Result<Void, SessionError>) {
        guard let publication = publications[name], let completion = publication.announced,
            attempt == nil || attempt == publication.attempt
        else { return }
        publications[name]?.announced = nil
        switch result {
        case .success:
            publications[name]?.isAnnounced = true
            // What changed while the server was asked.
            updateProperties(of: name, now: SystemClock.now())
        // The server may take it yet, and would then keep a stream that nobody sends.
        case .failure(.cancelled), .failure(.timedOut): channel.send(.unpublish(stream: name))
        case .failure: break
        }
        completion(result)
    }

    func removePublication(_ publisher: Publisher) {
        guard let publication = publications[publisher.name], publication.publisher === publisher else { return }
        publications[publisher.name] = nil
        let now = SystemClock.now()
        for (id, peer) in publication.peers {
            channel.send(.bye(subscription: id, reason: .unpublished))
            hub?.close(peer, now: now)
            endReception(by: peer, id)
        }
        hub?.remove(publication.fanout)
        if publication.isAnnounced || publication.announced != nil { channel.send(.unpublish(stream: publisher.name)) }
        publication.publisher.setReceivers(video: 0, audio: 0)
        publication.announced?(.failure(.invalidState("The stream was unpublished before the room knew it.")))
    }

    func handle(_ event: Publisher.PublisherEvent, of publisher: Publisher) {
        switch event {
        case .propertiesChanged: propertiesChanged(of: publisher, now: SystemClock.now())
        case .captureFailed(let error): emit(.captureFailed(stream: publisher.name, error))
        case .captureReported(let kind, let report):
            emit(.captureReported(stream: publisher.name, kind, report))
        }
    }

    /// Somebody wants a stream of ours: the answer to its offer, or, where it makes none, our offer.
    func handleSubscribe(_ id: String, stream: String, offer: String, now: Instant) {
        guard let publication = publications[stream] else {
            return channel.send(.bye(subscription: id, reason: .unpublished))
        }
        let publisher = publication.publisher
        guard
            let peer = hub?.makePeer(
                media: Self.media(of: publisher), hasDataChannels: publisher.options.usesDataChannels,
                sockets: .shared, owner: self, now: now)
        else { return channel.send(.bye(subscription: id, reason: .tooManySubscribers)) }
        if publisher.options.usesDataChannels { attach(publisher, to: peer, id: id) }
        do throws(SDPError) {
            if offer.isEmpty {
                channel.send(.offer(subscription: id, sdp: try peer.engine.makeOffer()))
            } else {
                channel.send(.answer(subscription: id, sdp: try peer.engine.answer(offer: offer, now: now)))
            }
        } catch {
            hub?.close(peer, now: now)
            return channel.send(
                .bye(subscription: id, reason: error == .noCommonCodec ? .noCommonCodec : .invalidOffer))
        }
        if let old = publications[stream]?.peers.updateValue(peer, forKey: id) { hub?.close(old, now: now) }
        publication.fanout.add(peer, id: id, now: now)
    }

    /// Channels of the peer are shown to the publisher.
    func attach(_ publisher: Publisher, to peer: Peer, id: String) {
        let channels = publisher.channels
        peer.dataChannels = DataChannelLink(loop: loop, engine: peer.engine, connectionID: id) { channels.accept($0) }
    }

    static func media(of publisher: Publisher) -> [PeerConfiguration.Media] {
        var media: [PeerConfiguration.Media] = []
        if publisher.audio != nil {
            let isStereo = (publisher.audioCapture?.format.channels ?? 1) > 1
            media.append(.init(.audio, sends: true, receives: false, isStereo: isStereo))
        }
        if let video = publisher.video {
            var pictures = PeerConfiguration.Media(
                .video, sends: true, receives: false, playoutDelay: publisher.options.playoutDelay)
            let encodings = video.layers?.encodings ?? []
            pictures.encodings = encodings.map(\.rid)
            pictures.mainEncoding = VideoEncoding.main(of: encodings)
            media.append(pictures)
        }
        return media
    }

    func delivery(to peer: Peer) -> (stream: String, id: String)? {
        for (name, publication) in publications {
            if let id = publication.peers.first(where: { $0.value === peer })?.key { return (name, id) }
        }
        return nil
    }

    func handle(_ event: PeerEvent, ofDelivery id: String, stream: String, peer: Peer, now: Instant) {
        switch event {
        case .keyFrameNeeded: publications[stream]?.fanout.keyFrameNeeded(by: peer, now: now)
        case .layerKeyFrameNeeded(let encoding):
            publications[stream]?.fanout.keyFrameNeeded(by: peer, encoding: encoding, now: now)
        case .stateChanged(.connected, _):
            publications[stream]?.connected.insert(id)
            // Before the first picture is let in: it has to suit the newcomer.
            publications[stream]?.fanout.pathChanged(now: now)
            countSubscribers(of: stream)
            emit(.subscriberConnected(stream: stream, count: publications[stream]?.connected.count ?? 0))
        case .targetBitrateChanged: publications[stream]?.fanout.pathChanged(now: now)
        case .stateChanged(.failed, let reason):
            channel.send(.bye(subscription: id, reason: .connectionFailed))
            endDelivery(id, reason: reason, now: now)
        case .stateChanged(.closed, let reason):
            // Also to a channel by which nobody else could say so, as HTTP.
            channel.send(.bye(subscription: id, reason: .bye))
            endDelivery(id, reason: reason, now: now)
        case .stateChanged, .remoteSourceEnded, .localCandidate, .selectedPathChanged, .localAddressLost,
            .connectionWanted, .iceStateChanged:
            break
        }
    }

    func endDelivery(_ id: String, reason: String, now: Instant) {
        for (name, publication) in publications {
            guard let peer = publication.peers[id] else { continue }
            publications[name]?.peers[id] = nil
            if let ledger = publication.fanout.remove(peer) { publications[name]?.pastDelivery.add(ledger) }
            publications[name]?.pastTotals.add(peer.engine.statistics)
            hub?.close(peer, now: now)
            if publications[name]?.connected.remove(id) != nil {
                countSubscribers(of: name)
                emit(
                    .subscriberDisconnected(
                        stream: name, count: publications[name]?.connected.count ?? 0, reason: reason))
            } else if peer.engine.connectionState == .failed {
                emit(.subscriberFailed(stream: name, reason: reason))
            }
        }
    }

    func countSubscribers(of stream: String) {
        guard let publication = publications[stream] else { return }
        let receivers = publication.fanout.receivers(among: publication.connected)
        publication.publisher.setReceivers(video: receivers.video, audio: receivers.audio)
    }
}
