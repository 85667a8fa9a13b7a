import EmisoraCore
import EmisoraEventLoop
import EmisoraSignalingProtocol

/// A session joins its room: for the first time, as the participant that it was before its connection broke, or as another
/// one where the server does not know it any more. Media goes on in each case.
extension SessionCore {
    /// - Parameter grace: how long others who lost their connections, too, may take to come back.
    func handleWelcome(_ id: String, _ streams: [StreamDescription], grace: Duration) {
        let isResumed = wasWelcome && id == participantID
        participantID = id
        let before = roomStreams
        let missing = roomStreams.filter { known in !streams.contains { $0.stream == known.stream } }
        roomStreams = isResumed ? streams + missing : streams
        isWelcome = true
        if wasWelcome {
            emit(.reconnected)
            announceAgain(known: isResumed ? streams : [], isResumed: isResumed)
        }
        wasWelcome = true
        lastRefusal = nil
        for stream in streams {
            emit(.streamPublished(name: stream.stream))
            if let old = before.first(where: { $0.stream == stream.stream }) { tellChange(from: old, to: stream) }
        }
        if let completion = welcomed.take() { completion(.success(())) }
        sendSignals(now: SystemClock.now())
        guard isResumed else { return }
        unconfirmedStreams = Set(missing.map(\.stream))
        for stream in unconfirmedStreams { expectBack(stream, within: grace) }
        repairPaths()
    }

    /// What the room has to be told again. A session that was resumed has named its streams and subscriptions with `join`.
    private func announceAgain(known: [StreamDescription], isResumed: Bool) {
        for name in publications.keys.sorted() {
            if let stream = known.first(where: { $0.stream == name && $0.publisher == participantID }) {
                publications[name]?.announcedProperties = stream.properties
                // Its confirmation was lost with the connection.
                completeAnnouncement(of: name, attempt: nil, .success(()))
                // What changed meanwhile could not be said.
                updateProperties(of: name, now: SystemClock.now())
            } else {
                sendPublish(name)
            }
        }
        if !isResumed { registerReceiversAgain() }
    }

    /// After a restart of the server a stream is there again when its publisher is.
    private func expectBack(_ stream: String, within grace: Duration) {
        schedule(after: grace) { [weak self] in
            guard let self, isWelcome, unconfirmedStreams.remove(stream) != nil else { return }
            roomStreams.removeAll { $0.stream == stream }
            emit(.streamUnpublished(name: stream))
        }
    }

    /// What broke the connection to the server may have broken paths to peers, too, for which nothing could be said.
    private func repairPaths() {
        let peers = subscriptions.map { ($0.key, $0.value.reception.peer) }
        let others = publications.values.flatMap { $0.peers.map { ($0.key, $0.value) } }
        for (id, peer) in peers + others where peer.engine.selectedPath == nil && !peer.engine.hasOpenOffer {
            restartICE(of: id)
        }
    }
}
