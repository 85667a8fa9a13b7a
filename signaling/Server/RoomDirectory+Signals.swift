import EmisoraSignalingProtocol

/// What participants say to each other.
extension RoomDirectory {
    /// To one participant, or to all, of whom the sender is one: that way each sees the same signals in the same order.
    mutating func relay(
        _ signal: RoutedSignal, from connection: ConnectionID, in room: String, _ message: SignalingMessage
    ) throws(SignalingError) {
        if let fault = signal.content.fault {
            throw SignalingError(.invalidSignal, fault, inReplyTo: message.type)
        }
        let sender = participants[connection]
        let said = SignalingMessage.signal(
            RoutedSignal(signal.content, to: signal.to, from: sender?.id, fromData: sender?.grant?.data))
        guard let to = signal.to else {
            tellAll(said, from: connection, in: room)
            if rooms[room]?.participants.contains(where: { node(of: $0) != nil }) == true {
                tellNodes(NodeRelay(room: room, from: sender?.id, to: nil, message: said))
            }
            return
        }
        guard let recipient = participant(to, in: room) else {
            throw SignalingError(
                .participantNotFound, "Nobody with this id is in the room; it may have left.", inReplyTo: message.type)
        }
        outputs.append(.relay(said, from: connection, to: recipient, canFail: true))
    }

    /// Those whom this node tells.
    mutating func tellAll(_ signal: SignalingMessage, from connection: ConnectionID, in room: String) {
        for recipient in rooms[room]?.participants ?? [] where node(of: recipient) == nil {
            outputs.append(.relay(signal, from: connection, to: recipient, canFail: true))
        }
    }

    /// A word did not fit into what waits for a slow reader, or for somebody away: its sender learns it, and the reader is
    /// not cut off for it.
    mutating func wordFailed(inReplyTo request: String, from sender: ConnectionID, to receiver: ConnectionID) {
        refuse(
            SignalingError(
                .limitReached,
                "\(participants[receiver]?.id ?? "The recipient") reads too slowly for this; try again later.",
                inReplyTo: request),
            to: sender)
    }

    /// Of a message's names and brackets, about.
    private static var framingByteCount: Int { 128 }

    /// How many bytes a signal becomes for all that it goes to.
    func relayedByteCount(of signal: RoutedSignal, from connection: ConnectionID) -> Int {
        guard signal.to == nil, let room = participants[connection]?.room.flatMap({ rooms[$0] }) else { return 0 }
        let names = signal.content.type.utf8.count + (participants[connection]?.grant?.data?.utf8.count ?? 0)
        return (signal.content.data.utf8.count + names + Self.framingByteCount) * room.participants.count
    }

    func participant(_ id: String, in room: String) -> ConnectionID? {
        if let known = cluster?.remote[id]?.connection {
            return participants[known]?.room == room ? known : nil
        }
        return rooms[room]?.participants.first { participants[$0]?.id == id }
    }
}
