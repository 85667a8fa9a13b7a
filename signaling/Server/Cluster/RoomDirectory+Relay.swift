import EmisoraCore
import EmisoraSignalingProtocol

/// Messages between participants of different nodes, and subscriptions whose sides change nodes.
extension RoomDirectory {
    /// What becomes of a message to somebody on another node; `nil`: that node tells it itself, or it is moot.
    ///
    /// - Parameter sender: The participant whose message is refused where it cannot go out.
    mutating func relay(
        _ message: SignalingMessage, from sender: ConnectionID?, to connection: ConnectionID, at node: String
    ) -> Output? {
        guard let participant = participants[connection], let room = participant.room else { return nil }
        var from = sender.flatMap { participants[$0]?.id }
        switch message {
        case .subscribe(let id, _, _), .ingest(let id, _, _), .offer(let id, _), .answer(let id, _),
            .candidate(let id, _), .select(let id, _):
            guard let other = rooms[room]?.subscriptions[id]?.other(than: connection),
                let id = participants[other]?.id
            else { return nil }
            from = id
        case .subscriptionEnded, .signal, .muteForced: break
        case .error(let error) where error.subscription != nil || Self.isAboutWords(error): break
        default: return nil
        }
        let relayed = NodeMessage.relay(NodeRelay(room: room, from: from, to: participant.id, message: message))
        if let output = output(of: relayed, to: node) { return output }
        if !wait(relayed, for: node), let sender { relayFailed(message, from: sender, to: connection) }
        return nil
    }

    /// What a node could not hand on is told to its sender, wherever that is.
    private static func isAboutWords(_ error: SignalingError) -> Bool {
        error.code == .limitReached && ["signal", "forceMute"].contains(error.inReplyTo)
    }

    /// Something for participants of all nodes.
    mutating func tellNodes(_ relay: NodeRelay) {
        guard cluster != nil else { return }
        if cluster?.isConnected == true { publish(.relay(relay)) } else { _ = wait(.relay(relay), for: nil) }
    }

    mutating func output(of message: NodeMessage, to node: String?) -> Output? {
        guard let cluster, cluster.isConnected else { return nil }
        counters.count(.sent)
        return .backplane(.publish(message.json(from: cluster.id), to: node))
    }

    /// While the bus is gone, what is to go out waits, within bounds.
    private mutating func wait(_ message: NodeMessage, for node: String?) -> Bool {
        guard let waiting = cluster?.waiting, waiting.count < Cluster<ConnectionID>.maximumWaiting else { return false }
        cluster?.waiting.append((message, node))
        return true
    }

    mutating func deliver(_ relay: NodeRelay) {
        let from = relay.from.flatMap { participant($0, in: relay.room) }
        if case .forceDisconnected(let word) = relay.message { return expel(word, relay) }
        guard let id = relay.to else {
            guard case .signal(let signal) = relay.message, let from, let said = said(signal, by: from) else { return }
            return tellAll(said, from: from, in: relay.room)
        }
        guard let to = participant(id, in: relay.room) else { return }
        if let node = node(of: to) {
            guard !relay.isForwarded else { return }
            var forwarded = relay
            forwarded.isForwarded = true
            return publish(.relay(forwarded), to: node)
        }
        switch relay.message {
        case .subscribe(let id, let stream, _):
            guard let from else { return }
            begin(id, Subscription(stream: stream, subscriber: from, publisher: to), relay)
        case .ingest(let id, let stream, _):
            guard let from else { return }
            begin(id, Subscription(stream: stream, subscriber: to, publisher: from), relay)
        case .offer(let id, _), .answer(let id, _), .candidate(let id, _), .select(let id, _):
            guard let from, rooms[relay.room]?.subscriptions[id]?.other(than: from) == to else { return }
            outputs.append(.relay(relay.message, from: from, to: to, canFail: true))
        case .subscriptionEnded(let id, _): end(id, of: to, relay)
        case .signal(let signal):
            guard let from, let said = said(signal, by: from) else { return }
            outputs.append(.relay(said, from: from, to: to, canFail: true))
        case .muteForced(let mute):
            guard let from, Moderation.isAllowed(reason: mute.reason) else { return }
            outputs.append(.relay(relay.message, from: from, to: to, canFail: true))
        case .error(let error):
            if let id = error.subscription { return end(id, of: to, relay) }
            if Self.isAboutWords(error) { outputs.append(.send(relay.message, to: to)) }
        default: return
        }
    }

    /// Who it is from is known here, too.
    private func said(_ signal: RoutedSignal, by sender: ConnectionID) -> SignalingMessage? {
        guard signal.content.fault == nil, let participant = participants[sender] else { return nil }
        return .signal(
            RoutedSignal(signal.content, to: signal.to, from: participant.id, fromData: participant.grant?.data))
    }

    /// Every node keeps it in mind, since the participant may try to come back to any.
    private mutating func expel(_ word: ForcedDisconnect, _ relay: NodeRelay) {
        guard word.id == relay.to, Moderation.isAllowed(reason: word.reason) else { return }
        expulsions.add(word)
        guard let target = participant(word.id, in: relay.room), node(of: target) == nil else { return }
        putOut(target, word)
    }

    private mutating func begin(_ id: String, _ subscription: Subscription, _ relay: NodeRelay) {
        let room = rooms[relay.room]
        let isIngest = relay.message.type == "ingest"
        let isExpected =
            isIngest
            ? room?.receiver(of: subscription.stream) == subscription.subscriber
            : room?.publisher(of: subscription.stream) == subscription.publisher
        let (sender, receiver) =
            isIngest
            ? (subscription.publisher, subscription.subscriber) : (subscription.subscriber, subscription.publisher)
        guard SignalingProtocol.isValid(subscription: id), room?.subscriptions[id] == nil, isExpected else {
            return refuse(
                SignalingError(
                    .streamNotFound, "No stream of this name is live in the room.", inReplyTo: relay.message.type,
                    subscription: id), to: sender)
        }
        rooms[relay.room]?.subscriptions[id] = subscription
        outputs.append(.relay(relay.message, from: sender, to: receiver, canFail: true))
    }

    private mutating func end(_ id: String, of connection: ConnectionID, _ relay: NodeRelay) {
        let isClaimed = dropClaim(id, of: connection)
        let other = rooms[relay.room]?.subscriptions[id]?.other(than: connection)
        guard isClaimed || other != nil else { return }
        rooms[relay.room]?.subscriptions[id] = nil
        outputs.append(
            other.map { .relay(relay.message, from: $0, to: connection, canFail: false) }
                ?? .send(relay.message, to: connection))
    }

    // MARK: Sides that moved

    /// Somebody has come to another node: do both sides still hold what this node knows of?
    mutating func askForHoldings(of connection: ConnectionID, in room: String) {
        for (id, subscription) in rooms[room]?.subscriptions ?? [:] {
            guard let other = subscription.other(than: connection) else { continue }
            guard participants[other]?.home != .here else {
                tell(
                    id, of: subscription.stream, from: other, to: connection, in: room,
                    sends: subscription.publisher == other, stands: true, asks: true)
                continue
            }
            // Of no concern to this node any more.
            if node(of: other) != nil { rooms[room]?.subscriptions[id] = nil }
        }
    }

    mutating func askFor(
        _ id: String, of stream: String, by connection: ConnectionID, with publisher: ConnectionID, in room: String
    ) {
        tell(id, of: stream, from: connection, to: publisher, in: room, sends: false, stands: false, asks: true)
    }

    /// A subscription stands again.
    mutating func confirm(
        _ id: String, with other: ConnectionID, by connection: ConnectionID, in room: String
    ) {
        guard let subscription = rooms[room]?.subscriptions[id] else { return }
        tell(
            id, of: subscription.stream, from: connection, to: other, in: room,
            sends: subscription.publisher == connection, stands: true, asks: false)
    }

    private mutating func tell(
        _ id: String, of stream: String, from: ConnectionID, to: ConnectionID, in room: String, sends: Bool,
        stands: Bool, asks: Bool
    ) {
        guard let node = node(of: to), let other = participants[to], let one = participants[from], one.home == .here
        else { return }
        // First, so that the other node knows whom this is about.
        let holding = NodeHolding(
            room: room, from: one.id, to: other.id, subscription: id, stream: stream, sends: sends, stands: stands,
            asks: asks)
        if let output = output(of: .holding(holding), to: node) {
            outputs.append(output)
        } else {
            // What does not fit is asked for again when a claim is made anew, or ends with it.
            _ = wait(.holding(holding), for: node)
        }
    }

    mutating func heard(_ holding: NodeHolding, now: Instant) {
        let (id, room) = (holding.subscription, holding.room)
        guard let from = participant(holding.from, in: room), node(of: from) != nil,
            let to = participant(holding.to, in: room), participants[to]?.home == .here
        else { return }
        if rooms[room]?.subscriptions[id] == nil {
            let own = ClaimKey(room: room, subscription: id, sends: !holding.sends)
            if holding.stands, claims[own]?.connection == to || participants[to]?.holdsWhatOthersSay == true {
                let selected = claims.removeValue(forKey: own)?.selected
                rooms[room]?.subscriptions[id] = Subscription(
                    stream: holding.stream, subscriber: holding.sends ? to : from,
                    publisher: holding.sends ? from : to)
                if let selected {
                    outputs.append(.relay(.select(subscription: id, selected), from: to, to: from, canFail: true))
                }
            } else {
                claim(id, of: holding.stream, by: from, sends: holding.sends, in: room, now: now)
            }
        }
        if holding.asks, rooms[room]?.subscriptions[id]?.other(than: from) == to {
            confirm(id, with: from, by: to, in: room)
        }
    }
}
