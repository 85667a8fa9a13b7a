import EmisoraSignalingProtocol

/// Who receives what: how subscriptions begin, and how they end with their streams and participants.
extension RoomDirectory {
    mutating func receive(
        _ stream: String?, by connection: ConnectionID, in room: String, _ message: SignalingMessage
    ) throws(SignalingError) {
        if let stream { try Self.check(name: stream, "stream", inReplyTo: message.type) }
        guard participants[connection]?.grant?.mayReceive(stream) == true else {
            throw SignalingError(
                .notAllowed, "Your token does not let you receive this stream from encoders.", inReplyTo: message.type,
                stream: stream)
        }
        rooms[room]?.receivers.removeAll { $0.stream == stream && away[$0.connection] != nil }
        let receivers = rooms[room]?.receivers ?? []
        if let known = receivers.first(where: { $0.stream == stream }) {
            guard known.connection == connection else {
                throw SignalingError(
                    .streamTaken,
                    "Another participant receives \(stream.map { "streams named \"\($0)\"" } ?? "any stream") here.",
                    inReplyTo: message.type, stream: stream)
            }
        } else {
            guard receivers.count < limits.streamsPerRoom,
                receivers.count(where: { $0.connection == connection }) < limits.streamsPerParticipant
            else {
                throw SignalingError(
                    .limitReached, "No more receivers are taken here.", inReplyTo: message.type, stream: stream)
            }
            rooms[room]?.receivers.append((stream, connection))
        }
        outputs.append(.send(.receiving(stream: stream), to: connection))
    }

    /// Hands the offer of an HTTP encoder, a participant of the room, to who receives streams of that name.
    mutating func ingest(subscription: String, stream: String, sdp: String, from connection: ConnectionID) {
        guard let room = participants[connection]?.room, let receiver = rooms[room]?.receiver(of: stream) else {
            return refuse(
                SignalingError(.streamNotFound, "Nobody receives this stream.", subscription: subscription),
                to: connection)
        }
        let taken = rooms[room]?.subscriptions ?? [:]
        guard taken.values.count(where: { $0.subscriber == receiver }) < limits.subscriptionsPerParticipant else {
            return refuse(
                SignalingError(.limitReached, "The receiver takes no more.", subscription: subscription),
                to: connection)
        }
        rooms[room]?.subscriptions[subscription] = Subscription(
            stream: stream, subscriber: receiver, publisher: connection)
        outputs.append(
            .relay(
                .ingest(subscription: subscription, stream: stream, sdp: sdp), from: connection, to: receiver,
                canFail: true))
    }

    mutating func subscribe(
        _ connection: ConnectionID, subscription: String, stream: String, in room: String, _ message: SignalingMessage
    ) throws(SignalingError) {
        guard SignalingProtocol.isValid(subscription: subscription) else {
            throw SignalingError(
                .invalidName, "A subscription's id is 16 to 64 of the characters A-Z a-z 0-9 _ -.",
                inReplyTo: message.type)
        }
        let taken = rooms[room]?.subscriptions ?? [:]
        guard taken[subscription] == nil else {
            throw SignalingError(
                .subscriptionTaken, "This subscription exists; make the id of random bits.", inReplyTo: message.type)
        }
        guard let publisher = rooms[room]?.publisher(of: stream) else {
            throw SignalingError(
                .streamNotFound, "No stream of this name is live in the room.", inReplyTo: message.type,
                subscription: subscription)
        }
        guard taken.values.count(where: { $0.subscriber == connection }) < limits.subscriptionsPerParticipant else {
            throw SignalingError(
                .limitReached, "No more subscriptions from one participant.", inReplyTo: message.type,
                subscription: subscription)
        }
        dropClaim(subscription, of: connection)
        rooms[room]?.subscriptions[subscription] = Subscription(
            stream: stream, subscriber: connection, publisher: publisher)
        outputs.append(.relay(message, from: connection, to: publisher, canFail: true))
    }

    // MARK: Ends

    /// Too much of the sender's waits for the receiver already: what the message is about ends, fails or is told later, and
    /// nothing else is touched, so that nobody has the other side taken for a slow reader.
    mutating func relayFailed(_ message: SignalingMessage, from sender: ConnectionID, to receiver: ConnectionID) {
        if case .streamPropertyChanged(let stream) = message {
            participants[receiver]?.missedChanges.insert(stream.stream)
            return
        }
        counters.count(away[receiver] == nil ? .backlog : .away)
        switch message {
        case .signal: return wordFailed(inReplyTo: "signal", from: sender, to: receiver)
        case .muteForced: return wordFailed(inReplyTo: "forceMute", from: sender, to: receiver)
        default: break
        }
        guard let id = message.subscription, let room = participants[sender]?.room,
            let subscription = rooms[room]?.subscriptions[id], subscription.other(than: sender) != nil
        else { return }
        rooms[room]?.subscriptions[id] = nil
        let reason: SubscriptionEndReason = receiver == subscription.publisher ? .tooManySubscribers : .timedOut
        outputs.append(.send(.subscriptionEnded(subscription: id, reason: reason), to: sender))
        // Of a new one it has not heard.
        if message.begunSubscription == nil, receiver != sender {
            outputs.append(
                .relay(.subscriptionEnded(subscription: id, reason: reason), from: sender, to: receiver, canFail: false)
            )
        }
    }

    mutating func remove(_ connection: ConnectionID, reason: SubscriptionEndReason) {
        guard let participant = participants[connection], let room = participant.room else { return }
        participants[connection]?.room = nil
        forgetAbsence(of: connection)
        rooms[room]?.participants.remove(connection)
        rooms[room]?.receivers.removeAll { $0.connection == connection }
        for stream in rooms[room]?.streams ?? [] where stream.publisher == connection {
            removeStream(stream.name, in: room, reason: reason)
        }
        for (id, subscription) in rooms[room]?.subscriptions ?? [:] {
            guard let other = subscription.other(than: connection) else { continue }
            rooms[room]?.subscriptions[id] = nil
            outputs.append(
                .relay(
                    .subscriptionEnded(subscription: id, reason: reason), from: connection, to: other, canFail: false))
        }
        guard let left = rooms[room] else { return }
        if left.participants.isEmpty {
            rooms[room] = nil
        } else {
            for audience in audience(in: left) {
                outputs.append(.send(.participantLeft(id: participant.id), to: audience))
            }
        }
    }

    mutating func removeStream(_ stream: String, in room: String, reason: SubscriptionEndReason) {
        guard let publisher = rooms[room]?.publisher(of: stream) else { return }
        for (id, subscription) in rooms[room]?.subscriptions ?? [:]
        where subscription.stream == stream && subscription.publisher == publisher {
            rooms[room]?.subscriptions[id] = nil
            // A participant may watch its own stream; when it is gone there is nobody to tell.
            let ends: Set = [subscription.subscriber, subscription.publisher]
            for end in ends where participants[end]?.room == room && (end != publisher || reason == .unpublished) {
                outputs.append(.send(.subscriptionEnded(subscription: id, reason: reason), to: end))
            }
        }
        rooms[room]?.streams.removeAll { $0.name == stream }
        tell(room, .streamUnpublished(describe(stream, by: publisher)))
    }
}

extension SignalingMessage {
    /// The subscription that a relayed message is about.
    var subscription: String? {
        switch self {
        case .subscribe(let id, _, _), .ingest(let id, _, _), .offer(let id, _), .answer(let id, _),
            .candidate(let id, _), .select(let id, _):
            id
        default: nil
        }
    }
}
