import EmisoraCore
import EmisoraJanusProtocol
import EmisoraSignalingClient
import EmisoraSignalingProtocol

/// What Janus says.
extension JanusExchange {
    mutating func handle(_ message: JanusMessage, now: Instant) {
        switch message.kind {
        // The result of a message to the room comes as an event.
        case .ack:
            switch purpose(of: message.transaction) {
            case .keepalive, .other: _ = take(message.transaction)
            default: break
            }
        case .serverInfo:
            if take(message.transaction)?.purpose == .info, let seconds = message.sessionTimeout {
                setKeepalive(sessionTimeout: seconds)
            }
        case .success, .event: didAnswer(message, now: now)
        case .error:
            guard let failure = message.failure, let asked = take(message.transaction) else { return }
            didFail(asked.purpose, handle: asked.handle, failure, now: now)
        case .webrtcUp:
            if message.sender == handle { failures = 0 }
        case .media, .slowLink:
            if message.sender == handle, let sentence = reports.sentence(for: message, now: now) {
                emit(.notice(sentence))
            }
        case .hangup: didHangUp(message, now: now)
        case .trickle: didTrickle(message)
        case .detached:
            if message.sender == handle, handle != nil {
                lose(keepsSession: true, now: now)
            } else if let id = subscription(of: message.sender) {
                endSubscription(id, .left)
            }
        case .timeout:
            if message.session == session { lose(keepsSession: false, now: now) }
        }
    }

    private mutating func didAnswer(_ message: JanusMessage, now: Instant) {
        // An answer that is of another handle than its request is none.
        guard let asked = take(message.transaction),
            asked.handle == nil || message.sender == nil || message.sender == asked.handle
        else { return didHappen(message, now: now) }
        if let failure = message.videoRoom?.failure {
            return didFail(asked.purpose, handle: asked.handle, failure, now: now)
        }
        switch asked.purpose {
        case .create:
            guard let id = message.id else { return }
            session = id
            proceed(now: now)
        case .attach:
            guard let id = message.id else { return }
            handle = id
            proceed(now: now)
        case .claim: welcome()
        case .join:
            privateID = message.videoRoom?.privateID
            let there = message.videoRoom?.feeds ?? []
            for gone in feeds.keys where !there.contains(where: { $0.id == gone }) { remove(gone) }
            didJoin(now: now)
            add(there)
        case .configure(let id, let isUpdate): didConfigure(id, isUpdate: isUpdate, message, now: now)
        case .attachSubscriber(let id): didAttach(id, handle: message.id, now: now)
        case .joinSubscriber(let id): didHappen(message, toSubscription: id)
        case .info, .keepalive, .other: break
        }
    }

    private mutating func didConfigure(_ id: String, isUpdate: Bool, _ message: JanusMessage, now: Instant) {
        guard media.id == id, let answer = message.description, answer.type == "answer" else { return }
        guard !isUpdate else {
            // Only what answers the last restart counts.
            guard let offer = nextOffer.take() else {
                return emit(.message(.answer(subscription: id, sdp: answer.sdp)))
            }
            return configure(id, offer, isUpdate: true, now: now)
        }
        let refused = SessionDescriptionText.refusedMedia(answer.sdp)
        if refused.contains("video") || (!refused.isEmpty && SessionDescriptionText.refusesAll(answer.sdp)) {
            return refusePublishing(.noCommonCodec(room: settings.room, kinds: refused), now: now)
        }
        media = .live(id: id)
        wasLive = true
        emit(.message(.answer(subscription: id, sdp: answer.sdp)))
        announce()
        if !refused.isEmpty { emit(.notice(JanusRefusal.noCommonCodec(room: settings.room, kinds: refused).text)) }
    }

    /// What never was is told to who asked for it; what was is tried again.
    private mutating func refusePublishing(_ refusal: JanusRefusal, now: Instant) {
        endMedia(.connectionFailed)
        failures += 1
        if wasLive {
            emit(.notice(refusal.text))
            retry(now: now)
        } else {
            stream = nil
            emit(.message(.error(refusal.error(inReplyTo: "publish"))))
        }
    }

    private mutating func didFail(
        _ purpose: Purpose, handle asked: UInt64?, _ failure: JanusMessage.Failure, now: Instant
    ) {
        if failure.code == JanusProtocol.sessionNotFound { return lose(keepsSession: false, now: now) }
        if failure.code == JanusProtocol.handleNotFound, asked != nil, asked == handle {
            return lose(keepsSession: true, now: now)
        }
        let refusal = JanusRefusal(failure, room: settings.room)
        switch purpose {
        case .join where failure.code == JanusProtocol.invalidElement && !usesTextIDs:
            usesTextIDs = true
            proceed(now: now)
        case .claim:
            // Whatever keeps it from us: there is another one to be had.
            lose(keepsSession: false, now: now)
        case .create, .attach, .join:
            if purpose == .join, wasLive, failure.code == JanusProtocol.idExists {
                // Until Janus has noticed that we are gone, we are in our own way.
                failures = 0
            } else {
                failures += 1
                if isWelcome {
                    emit(.notice(refusal.text))
                } else {
                    emit(.message(.error(refusal.error(inReplyTo: "join"))))
                }
            }
            retry(now: now)
        case .configure(let id, let isUpdate):
            // A restart that is refused leaves the connection alone.
            if media.id == id, !isUpdate { refusePublishing(refusal, now: now) }
            if isUpdate { nextOffer = nil }
        case .attachSubscriber(let id), .joinSubscriber(let id): refuseSubscription(id, refusal)
        case .info, .keepalive, .other: break
        }
    }

    /// What nobody asked for.
    private mutating func didHappen(_ message: JanusMessage, now: Instant) {
        guard message.sender == handle, handle != nil else {
            if let id = subscription(of: message.sender) { didHappen(message, toSubscription: id) }
            return
        }
        guard let room = message.videoRoom else { return }
        add(room.feeds)
        for gone in [room.leaving, room.unpublished].compactMap(\.self) { remove(gone) }
        if room.kind == "destroyed" {
            emit(.notice("The room \(settings.room) was taken down; waiting for it to come back."))
            lose(keepsSession: true, now: now)
        } else if room.leaving == .text("ok"), let reason = room.reason {
            wasThrownOut(reason, now: now)
        } else if let moderation = room.moderation {
            emit(.notice("A moderator did this to what we send: \(moderation.prefix(32))."))
        }
    }

    /// A moderator's decision, which stands.
    private mutating func wasThrownOut(_ reason: String, now: Instant) {
        let name = stream
        stream = nil
        endMedia(.init(rawValue: reason == "kicked" ? "kicked" : "left"))
        dropHandle(now: now)
        if let name {
            emit(.message(.streamUnpublished(StreamDescription(stream: name, publisher: Self.participant))))
        }
        emit(.notice("A moderator put us out of the room \(settings.room)."))
    }

    private mutating func didHangUp(_ message: JanusMessage, now: Instant) {
        let why = message.reason.flatMap { ProblemDetails.text(of: Array($0.utf8), mediaType: nil) }
        let reason = SubscriptionEndReason(rawValue: why ?? SubscriptionEndReason.connectionFailed.rawValue)
        if message.sender == handle, handle != nil, media != .none {
            endMedia(reason)
            failures += 1
            retry(now: now)
        } else if let id = subscription(of: message.sender) {
            endSubscription(id, reason)
        }
    }

    private mutating func didTrickle(_ message: JanusMessage) {
        guard let candidate = message.candidate,
            let id = message.sender == handle ? media.id : subscription(of: message.sender)
        else { return }
        if candidate.completed == true {
            emit(.message(.candidate(subscription: id, candidate: .endOfCandidates)))
        } else if let line = candidate.candidate {
            emit(
                .message(
                    .candidate(
                        subscription: id,
                        candidate: TrickledCandidate(
                            candidate: line, sdpMid: candidate.sdpMid, sdpMLineIndex: candidate.sdpMLineIndex))))
        }
    }

    /// Janus no longer knows our handle, or the session with it: what was is over, and begun anew.
    private mutating func lose(keepsSession: Bool, now: Instant) {
        if !keepsSession { session = nil }
        handleIsGone()
        endMedia(.timedOut)
        for id in subscriptions.keys.sorted() { endSubscription(id, .timedOut) }
        feeds = [:]
        if isWelcome {
            isWelcome = false
            emit(.disconnected(.connectionLost))
        }
        proceed(now: now)
    }
}
