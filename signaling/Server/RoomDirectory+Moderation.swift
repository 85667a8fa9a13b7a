import EmisoraSignalingProtocol

/// What moderators may do, and what they are told so that they can.
extension RoomDirectory {
    /// Of those that are in a room when a moderator comes; beyond it, it is told their ids alone.
    private static var introductionByteLimit: Int { 128 << 10 }

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
            outputs.append(.send(.muteForced(word), to: stream.publisher))
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
        outputs.append(.send(.forceDisconnected(word), to: target))
        remove(target, reason: .left)
        participants[target]?.grant = nil
        outputs.append(.close(target))
    }

    /// Tells those who are told of others of a newcomer, and a newcomer that moderates of those who are there.
    mutating func introduce(_ newcomer: ConnectionID, in room: String) {
        guard let joined = rooms[room], let participant = participants[newcomer] else { return }
        for one in audience(in: joined) where one != newcomer {
            outputs.append(.send(.participantJoined(id: participant.id, data: participant.grant?.data), to: one))
        }
        guard moderates(newcomer) else { return }
        var budget = Self.introductionByteLimit
        for one in joined.participants where one != newcomer {
            guard let known = participants[one] else { continue }
            let data = known.grant?.data.flatMap { $0.utf8.count <= budget ? $0 : nil }
            budget -= data?.utf8.count ?? 0
            outputs.append(.send(.participantJoined(id: known.id, data: data), to: newcomer))
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
