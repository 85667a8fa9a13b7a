import EmisoraSignalingProtocol

/// What moderators may do, and what they are told so that they can.
extension RoomDirectory {
    /// Asks the publishers concerned to mute. Media goes from peer to peer, so the word is all that a server has; who
    /// does not heed it can be put out.
    mutating func forceMute(
        _ mute: ForcedMute, by connection: ConnectionID, in room: String, _ message: SignalingMessage
    ) throws(SignalingError) {
        try checkModerator(connection, reason: mute.reason, inReplyTo: message.type)
        guard mute.media.video || mute.media.audio else {
            throw SignalingError(
                .malformedMessage, "Say \"audio\": true, \"video\": true, or both.", inReplyTo: message.type)
        }
        let streams = (rooms[room]?.streams ?? []).filter { stream in
            mute.stream.map { $0 == stream.name } ?? (stream.publisher != connection)
        }
        guard mute.stream == nil || !streams.isEmpty else {
            throw SignalingError(
                .streamNotFound, "No stream of this name is live in the room.", inReplyTo: message.type)
        }
        for stream in streams {
            let word = ForcedMute(
                stream: stream.name, media: mute.media, reason: mute.reason, by: participants[connection]?.id)
            outputs.append(.relay(.muteForced(word), from: connection, to: stream.publisher, canFail: true))
        }
    }

    mutating func forceDisconnect(
        _ disconnect: ForcedDisconnect, by connection: ConnectionID, in room: String, _ message: SignalingMessage
    ) throws(SignalingError) {
        try checkModerator(connection, reason: disconnect.reason, inReplyTo: message.type)
        guard let target = participant(disconnect.id, in: room) else {
            throw SignalingError(
                .participantNotFound, "Nobody with this id is in the room; it may have left.", inReplyTo: message.type)
        }
        let word = ForcedDisconnect(id: disconnect.id, reason: disconnect.reason, by: participants[connection]?.id)
        expulsions.add(word)
        tellNodes(NodeRelay(room: room, from: word.by, to: word.id, message: .forceDisconnected(word)))
        if node(of: target) == nil { putOut(target, word) }
    }

    mutating func putOut(_ target: ConnectionID, _ word: ForcedDisconnect) {
        if away[target] != nil {
            // It is told when it tries to come back; there is no connection that could end.
            remove(target, reason: .left)
            participants[target] = nil
        } else {
            outputs.append(.send(.forceDisconnected(word), to: target))
            remove(target, reason: .left)
            participants[target]?.grant = nil
            outputs.append(.close(target))
        }
    }

    /// Tells those who are told of others.
    mutating func announceArrival(of newcomer: ConnectionID, in room: String) {
        guard let joined = rooms[room], let participant = participants[newcomer] else { return }
        for one in audience(in: joined) where one != newcomer {
            outputs.append(.send(.participantJoined(id: participant.id, data: participant.grant?.data), to: one))
        }
    }

    /// Tells somebody of those in its room that came after an arrival, the newest first, as far as there is space beside
    /// what it is told then. Without an arrival it comes itself, and only who moderates is told.
    mutating func introduceOthers(
        to connection: ConnectionID, in room: String, since arrival: UInt64? = nil, before held: [SignalingMessage] = []
    ) {
        guard let joined = rooms[room],
            arrival == nil ? moderates(connection) : audience(in: joined).contains(connection)
        else { return }
        let others = joined.participants.filter { $0 != connection }.compactMap { participants[$0] }
            .filter { $0.arrival > arrival ?? 0 }.sorted { $0.arrival > $1.arrival }
        // All of it goes out behind the welcome, and must not make a slow reader of who reads it.
        var left = limits.backlogBytes / 4 * 3 - held.reduce(0) { $0 + $1.json().count }
        for case .send(let message, to: connection) in outputs[nextOutput...] { left -= message.json().count }
        for (index, other) in others.enumerated() {
            let brief = SignalingMessage.participantJoined(id: other.id)
            let whole = SignalingMessage.participantJoined(id: other.id, data: other.grant?.data)
            // What tokens say of some must leave place for the ids of the rest.
            let reserve = (others.count - index - 1) * brief.json().count
            let message = whole.json().count + reserve <= left ? whole : brief
            left -= message.json().count
            guard left >= 0 else { return }
            outputs.append(.send(message, to: connection))
        }
    }

    /// Who is told of comings and goings: publishers, and moderators by their token. Were every viewer told of every
    /// other, a room of n would cost n² messages; without tokens everybody may moderate, and nobody is told for that.
    func audience(in room: Room) -> Set<ConnectionID> {
        Set(room.streams.map(\.publisher)).union(room.participants.filter(moderates))
    }

    private func moderates(_ connection: ConnectionID) -> Bool {
        !access.isOpen && participants[connection]?.grant?.role == .moderator
    }

    private func checkModerator(
        _ connection: ConnectionID, reason: String?, inReplyTo type: String
    ) throws(SignalingError) {
        guard participants[connection]?.grant?.role == .moderator else {
            throw SignalingError(.notAllowed, "Only moderators may do that; it takes another token.", inReplyTo: type)
        }
        guard Moderation.isAllowed(reason: reason) else {
            throw SignalingError(
                .malformedMessage,
                "A \"reason\" is at most \(Moderation.maximumReasonByteCount) bytes without control characters.",
                inReplyTo: type)
        }
    }
}
