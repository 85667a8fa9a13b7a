import EmisoraSignalingProtocol

/// What streams have in them.
extension RoomDirectory {
    /// Told to everybody in the room, but only where something changed.
    mutating func update(
        _ stream: String, _ properties: StreamProperties, by connection: ConnectionID, in room: String,
        _ message: SignalingMessage
    ) throws(SignalingError) {
        try Self.check(properties, inReplyTo: message.type)
        guard !keepForName(properties, stream, of: connection) else { return }
        guard rooms[room]?.publisher(of: stream) == connection else {
            throw SignalingError(
                .streamNotFound, "You do not publish a stream of this name.", inReplyTo: message.type)
        }
        change(stream, to: properties, by: connection, in: room)
    }

    mutating func change(
        _ stream: String, to properties: StreamProperties?, by connection: ConnectionID, in room: String
    ) {
        guard
            let index = rooms[room]?.streams.firstIndex(where: { $0.name == stream && $0.publisher == connection })
        else { return }
        guard rooms[room]?.streams[index].properties != properties else { return }
        rooms[room]?.streams[index].properties = properties
        let changed = SignalingMessage.streamPropertyChanged(describe(stream, by: connection))
        for participant in rooms[room]?.participants ?? [] {
            outputs.append(.relay(changed, from: connection, to: participant, canFail: true))
        }
    }

    /// Tells somebody that reads again how streams are of which it missed a change.
    mutating func catchUp(_ connection: ConnectionID) {
        guard let room = participants[connection]?.room, let missed = participants[connection]?.missedChanges,
            !missed.isEmpty
        else { return }
        participants[connection]?.missedChanges = []
        for stream in rooms[room]?.streams ?? [] where missed.contains(stream.name) {
            outputs.append(
                .relay(
                    .streamPropertyChanged(describe(stream.name, by: stream.publisher)), from: stream.publisher,
                    to: connection, canFail: true))
        }
    }

    static func check(_ properties: StreamProperties?, inReplyTo type: String) throws(SignalingError) {
        guard properties?.isValid ?? true else {
            throw SignalingError(
                .malformedMessage,
                "A stream's properties: \"width\" and \"height\" 1 to 16383, \"rotation\" 0, 90, 180 or 270, and at most "
                    + "8 \"codecs\" by their names.",
                inReplyTo: type)
        }
    }
}
