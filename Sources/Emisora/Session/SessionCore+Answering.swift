import EmisoraCore
import EmisoraEventLoop
import EmisoraPeerEngine
import EmisoraSDP
import EmisoraSignalingProtocol

/// Peers whose offers the application brings: one connection may send a stream of ours and receive the peer's.
extension SessionCore {
    func answer(
        _ offer: String, sending publisher: Publisher?, receiving subscriber: Subscriber?
    ) throws(SessionError) -> String {
        let now = SystemClock.now()
        guard let hub else { throw .invalidState("The session is closed.") }
        var publication: Publication?
        if let publisher {
            publication = publications[publisher.name]
            guard publication?.publisher === publisher else {
                throw .invalidState("Publish the stream \(publisher.name) in this session before an offer is answered.")
            }
        }
        guard publisher != nil || subscriber != nil else {
            throw .invalidState("An offer is answered by a publisher, a subscriber, or both.")
        }
        let media = Self.joined(publisher.map(Self.media(of:)) ?? [], subscriber.map(Self.media(of:)) ?? [])
        let hasChannels = (publisher?.options.usesDataChannels ?? false, subscriber?.wantsDataChannels ?? false)
        guard
            let peer = hub.makePeer(
                media: media, hasDataChannels: hasChannels.0 || hasChannels.1, sockets: .own, owner: self, now: now)
        else { throw .system("The session has too many connections.") }
        let id = makeSubscriptionID()
        do {
            let answer = try peer.engine.answer(offer: offer, now: now)
            if let subscriber {
                try begin(subscriber, id: id)
                // Not before: one that is in use has its channels by another connection.
                if hasChannels.1 || !hasChannels.0 { attach(subscriber.channels, to: peer, id: id) }
                let reception = Reception(subscriber: subscriber, peer: peer, now: now)
                hub.add(reception)
                let stream = publisher?.name ?? SignalingProtocol.defaultStream
                subscriptions[id] = Subscription(stream: stream, reception: reception)
            }
            if let publisher, let publication {
                // A connection has one set of channels; who takes what the peer sends has it.
                if hasChannels.0, !hasChannels.1 { attach(publisher, to: peer, id: id) }
                publications[publisher.name]?.peers[id] = peer
                publication.fanout.add(peer, id: id, now: now)
            }
            return answer
        } catch {
            hub.close(peer, now: now)
            if let error = error as? SessionError { throw error }
            throw .system("The offer cannot be answered: \(error)")
        }
    }

    /// Each kind of media once, which may go both ways.
    private static func joined(
        _ sent: [PeerConfiguration.Media], _ received: [PeerConfiguration.Media]
    ) -> [PeerConfiguration.Media] {
        var media = sent
        for one in received {
            if let index = media.firstIndex(where: { $0.kind == one.kind }) {
                media[index].receives = true
                media[index].isStereo = media[index].isStereo || one.isStereo
            } else {
                media.append(one)
            }
        }
        return media
    }

    /// What was sent by a connection ends with what was received by it, and the other way round.
    func endDelivery(by peer: Peer, _ id: String, reason: String) {
        guard publications.values.contains(where: { $0.peers[id] === peer }) else { return }
        endDelivery(id, reason: reason, now: SystemClock.now())
    }

    func endReception(by peer: Peer, _ id: String) {
        guard subscriptions[id]?.reception.peer === peer else { return }
        let reason = "The stream was unpublished."
        endSubscription(id, reason: reason, error: .invalidState(reason))
    }
}
