import EmisoraCore
import EmisoraEventLoop
import EmisoraPeerEngine
import EmisoraSDP
import EmisoraSignalingProtocol
import EmisoraTURN

/// What is negotiated while a connection stands: candidates one by one, offers and answers, restarts of ICE.
extension SessionCore {
    /// After the address of a path is gone the others are tried with the same credentials first, which needs no
    /// signaling and keeps pictures going; the restart follows within a second, so that both sides agree on what is
    /// there now.
    private static let repairInterval: Duration = .milliseconds(250)
    private static let repairAttempts = 3
    private static let answerTimeout: Duration = .seconds(5)
    /// As long as consent lasts (RFC 7675 §5.1): then a peer without a path that answers no offer is gone.
    private static let restartAttempts = 6

    /// Answers whether the event was about paths, which both sides of a subscription treat alike.
    func handlePathEvent(_ event: PeerEvent, of id: String, _ peer: Peer) -> Bool {
        switch event {
        case .localCandidate(let line):
            channel.send(
                .candidate(
                    subscription: id,
                    candidate: TrickledCandidate(
                        candidate: line.candidate, sdpMid: line.mid, sdpMLineIndex: line.mLineIndex,
                        usernameFragment: line.usernameFragment)))
        case .localAddressLost:
            repairPath(of: id, peer, patience: Self.repairAttempts)
        case .selectedPathChanged(let statistics):
            peer.selectedPathChanges += 1
            guard let pair = candidatePairStatistics(statistics), let stream = stream(of: id) else { break }
            emit(.selectedCandidatePairChanged(stream: stream, connection: id, pair))
        case .iceStateChanged(let state, let reason):
            guard let stream = stream(of: id) else { break }
            emit(.iceConnectionStateChanged(stream: stream, connection: id, .init(state), reason: reason))
        // The hub's affair.
        case .connectionWanted: break
        case .stateChanged, .keyFrameNeeded, .layerKeyFrameNeeded, .targetBitrateChanged, .remoteSourceEnded:
            return false
        }
        return true
    }

    private func stream(of id: String) -> String? {
        subscriptions[id]?.stream ?? publications.first { $0.value.peers[id] != nil }?.key
    }

    /// A restart ends the checks that are under way, so it comes when a path works again, where it costs nothing, or when
    /// none was found; while there is no address at all nobody could answer it.
    private func repairPath(of id: String, _ peer: Peer, patience: Int) {
        schedule(after: Self.repairInterval) { [weak self, weak peer] in
            guard let self, let peer, self.peer(of: id) === peer, let hub else { return }
            if peer.engine.selectedPath != nil || patience <= 1 { return restartICE(of: id) }
            repairPath(of: id, peer, patience: hub.isOnNetwork ? patience - 1 : patience)
        }
    }

    /// Offers with new credentials; media goes on over the path in use, if there is one.
    func restartICE(of id: String, attempt: Int = 1) {
        guard isWelcome, let peer = peer(of: id), !peer.engine.hasOpenOffer,
            let offer = try? peer.engine.makeOffer(iceRestart: true)
        else { return }
        channel.send(.offer(subscription: id, sdp: offer))
        schedule(after: Self.answerTimeout) { [weak self, weak peer] in
            guard let self, let peer, self.peer(of: id) === peer, peer.engine.hasOpenOffer else { return }
            peer.engine.rollback()
            guard peer.engine.selectedPath == nil else { return }
            if attempt < Self.restartAttempts {
                restartICE(of: id, attempt: attempt + 1)
            } else {
                giveUp(id, reason: "The path to the peer is gone, and it does not answer.")
            }
        }
    }

    private func giveUp(_ id: String, reason: String) {
        channel.send(.bye(subscription: id, reason: .connectionFailed))
        endSubscription(id, reason: reason, error: .system(reason))
        endDelivery(id, reason: reason, now: SystemClock.now())
    }

    /// Where both sides offer at once the publisher's offer stands (W3C webrtc §10.7, "perfect negotiation").
    func handleOffer(_ subscription: String, _ sdp: String, now: Instant) {
        guard let peer = peer(of: subscription) else { return }
        if peer.engine.hasOpenOffer {
            guard subscriptions[subscription] != nil else { return }
            peer.engine.rollback()
        }
        do throws(SDPError) {
            channel.send(.answer(subscription: subscription, sdp: try peer.engine.answer(offer: sdp, now: now)))
            completeSubscribe(subscription, .success(()))
        } catch {
            refuse(subscription, because: error, now: now)
        }
    }

    func handleAnswer(_ subscription: String, _ sdp: String, now: Instant) {
        // One that comes after its offer was taken back is no fault of the peer's.
        guard let peer = peer(of: subscription), peer.engine.hasOpenOffer else { return }
        do throws(SDPError) {
            try peer.engine.setRemoteAnswer(sdp, now: now)
            completeSubscribe(subscription, .success(()))
        } catch {
            refuse(subscription, because: error, now: now)
        }
    }
}

extension SessionCore: PeerHubOwner {
    func iceServerDidFail(url: String, reason: String) {
        emit(.iceServerFailed(url: url, reason: reason))
    }
}

extension ICEServer {
    init(_ server: ICEServerDescription) {
        self.init(urls: server.urls, username: server.username, credential: server.credential)
    }
}
