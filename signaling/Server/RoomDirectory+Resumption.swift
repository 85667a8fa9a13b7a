import EmisoraCore
import EmisoraSignalingProtocol

/// Sessions that outlive their connections, and the server's memory.
///
/// ```
/// joined ──connection lost──▶ away ──join with the secret──▶ joined, over another connection
///                              └───────── grace over ──────▶ gone
/// ```
///
/// A server that has forgotten takes a participant's word for its streams, since the secret says what it may publish,
/// and for a subscription once both sides have named it. Until then it is a claim, which ends with the grace time.
extension RoomDirectory {
    /// Somebody whose connection is lost.
    struct Away {
        let until: Instant
        /// What it would have been told, to be told once it is back.
        var held: HeldMessages<ConnectionID>
        /// The last that came while it was there.
        let lastArrival: UInt64
    }

    struct ClaimKey: Hashable {
        var room: String
        var subscription: String
        /// Which side has named it.
        var sends: Bool
    }

    /// One side's word for a subscription of which the other side has not spoken yet.
    struct Claim {
        var stream: String
        var connection: ConnectionID
        let until: Instant
        /// What the receiver has asked for meanwhile.
        var selected: MediaSelection?
    }

    /// Of all rooms. Each costs a look at every return and every end.
    private static var maximumClaims: Int { 50_000 }
    /// After a restart both sides of a subscription come back, each in its own time, also where nobody is waited for
    /// otherwise.
    private var claimTime: Duration { max(limits.resumeGrace, .seconds(5)) }

    /// As ``handle(_:from:)``, of clients that may have been here before.
    mutating func handle(_ message: SignalingMessage, from connection: ConnectionID, now: Instant) {
        guard case .join(let version, let room, let token, let resumption?) = message,
            let participant = participants[connection], participant.room == nil,
            let grant = access.grant(resuming: resumption, with: token ?? participant.token, in: room)
        else {
            // Also for who does not prove who it was: it joins like any stranger, or does not.
            return handle(message, from: connection)
        }
        if let word = expulsions.word(for: resumption.id) {
            outputs += [.send(.forceDisconnected(word), to: connection), .close(connection)]
            return
        }
        do throws(SignalingError) {
            try checkJoin(participant, version: version, room: room)
            try resume(resumption, by: connection, in: room, grant, now: now)
        } catch {
            refuse(error, to: connection)
        }
    }

    /// The connection is gone without `leave`: who can come back is waited for.
    mutating func lost(_ connection: ConnectionID, now: Instant) {
        guard limits.resumeGrace > .zero, let participant = participants[connection], participant.room != nil,
            participant.isResumable
        else { return disconnect(connection) }
        // Whoever makes connections only to break them is not waited for without bounds.
        if away.count >= limits.connections, let longest = away.min(by: { $0.value.until < $1.value.until })?.key {
            disconnect(longest)
        }
        if let site = participant.site {
            // As many as an address may have connections; those of others are none of its business.
            if absentees.count(from: site) >= limits.connectionsPerAddress,
                let longest = absentees.oldest(where: { $0.site == site })
            {
                disconnect(longest)
            }
            absentees.enter(connection, from: site, now: now)
        }
        away[connection] = Away(
            until: now + limits.resumeGrace,
            // All of it goes out behind the welcome, and must not make a slow reader of who reads it.
            held: HeldMessages(byteLimit: limits.backlogBytes / 2), lastArrival: lastArrival)
        expect(now + limits.resumeGrace)
    }

    mutating func handleTimeout(now: Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        for (connection, absence) in away where absence.until <= now {
            counters.countExpired()
            disconnect(connection)
        }
        for (key, claim) in claims where claim.until <= now {
            claims[key] = nil
            outputs.append(
                .send(.subscriptionEnded(subscription: key.subscription, reason: .signalingLost), to: claim.connection))
        }
        nextDeadline = [away.values.lazy.map(\.until).min(), claims.values.lazy.map(\.until).min()]
            .compactMap(\.self).min()
    }

    private mutating func expect(_ deadline: Instant) {
        nextDeadline = min(nextDeadline ?? deadline, deadline)
    }

    // MARK: Coming back

    private mutating func resume(
        _ resumption: SessionResumption, by connection: ConnectionID, in room: String, _ grant: Grant, now: Instant
    ) throws(SignalingError) {
        var held: [SignalingMessage] = []
        var lastArrival: UInt64?
        if let old = participant(resumption.id, in: room) {
            counters.count(away[old] == nil ? .connected : .away)
            // What a connection that only seemed to be there was told last, nobody knows.
            lastArrival = away[old]?.lastArrival ?? self.lastArrival
            held = takeOver(old, by: connection, in: room)
            participants[connection]?.grant = grant
        } else {
            try enter(connection, room, grant)
            counters.count(.unknown)
            participants[connection]?.id = resumption.id
            announceArrival(of: connection, in: room)
        }
        // First, so that the welcome has them.
        let refused = resumption.holdings.map { republish($0, by: connection, in: room) } ?? []
        welcome(connection, to: room)
        introduceOthers(to: connection, in: room, since: lastArrival, before: held)
        for message in held { outputs.append(.send(message, to: connection)) }
        for error in refused { refuse(error, to: connection) }
        // A newer token may allow less.
        for stream in rooms[room]?.streams ?? [] where stream.publisher == connection && !grant.mayPublish(stream.name)
        {
            removeStream(stream.name, in: room, reason: .unpublished)
        }
        rooms[room]?.receivers.removeAll { $0.connection == connection && !grant.mayReceive($0.stream) }
        guard let holdings = resumption.holdings else { return }
        for stream in rooms[room]?.streams ?? []
        where stream.publisher == connection && !holdings.publishes.contains(stream.name) {
            removeStream(stream.name, in: room, reason: .unpublished)
        }
        register(holdings.receives, of: connection, in: room)
        let named = take(holdings, of: connection, in: room, now: now)
        endUnnamed(named.union(held.compactMap(\.begunSubscription)), of: connection, in: room)
    }

    /// Everything of the one connection becomes the other's. Gives what the participant has not been told.
    private mutating func takeOver(
        _ old: ConnectionID, by new: ConnectionID, in room: String
    ) -> [SignalingMessage] {
        let wasAway = away[old] != nil
        absentees.leave(old)
        var held = away.removeValue(forKey: old)?.held.messages ?? []
        outputs = outputs[nextOutput...].filter { output in
            switch output {
            case .send(let message, to: old), .relay(let message, _, to: old, _):
                held.append(message)
                return false
            default:
                return true
            }
        }
        nextOutput = 0
        if let allowedRoom = participants[new]?.allowedRoom { participants[old]?.allowedRoom = allowedRoom }
        let site = participants[new]?.site
        participants[new] = participants.removeValue(forKey: old)
        participants[new]?.site = site
        rooms[room]?.replace(old, by: new)
        for (key, claim) in claims where claim.connection == old { claims[key]?.connection = new }
        if !wasAway {
            // Half open, or a second one with the same secret: whichever comes last is the session's.
            refuse(SignalingError(.takenOver, "This session goes on over another connection."), to: old)
            outputs.append(.close(old))
        }
        return held
    }

    /// Puts streams back where they are not known any more, and what is in them to what the client last said. Gives a
    /// refusal for each that has another publisher now.
    private mutating func republish(
        _ holdings: SessionHoldings, by connection: ConnectionID, in room: String
    ) -> [SignalingError] {
        var refused: [SignalingError] = []
        let told = outputs.count
        for stream in holdings.publishes.prefix(limits.streamsPerParticipant) {
            let properties = holdings.properties[stream]
            do throws(SignalingError) {
                try publish(
                    stream, properties, by: connection, in: room, .publish(stream: stream, properties: properties))
            } catch {
                refused.append(error)
            }
        }
        outputs[told...].removeAll { output in
            switch output {
            case .send(.streamPublished, to: connection), .send(.streamUnpublished, to: connection),
                .relay(.streamPropertyChanged, from: _, to: connection, canFail: _):
                true
            default: false
            }
        }
        return refused
    }

    private mutating func register(_ names: [String?], of connection: ConnectionID, in room: String) {
        rooms[room]?.receivers.removeAll { $0.connection == connection && !names.contains($0.stream) }
        for name in names.prefix(limits.streamsPerParticipant) {
            do throws(SignalingError) {
                try receive(name, by: connection, in: room, .receive(stream: name))
            } catch {
                refuse(error, to: connection)
            }
        }
    }

    // MARK: Subscriptions

    /// Claims what is not known here. Gives the ids of all that were named.
    private mutating func take(
        _ holdings: SessionHoldings, of connection: ConnectionID, in room: String, now: Instant
    ) -> Set<String> {
        var named: Set<String> = []
        // Those of an earlier return are named again, or have no one that stands up for them any more.
        for (key, claim) in claims where claim.connection == connection { claims[key] = nil }
        for (sends, subscriptions, limit) in [
            (true, holdings.sending, limits.participantsPerRoom),
            (false, holdings.receiving, limits.subscriptionsPerParticipant),
        ] {
            let all = subscriptions.lazy.flatMap { stream, ids in ids.lazy.map { (stream, $0) } }
            for (stream, id) in all.prefix(limit) where SignalingProtocol.isValid(subscription: id) {
                named.insert(id)
                if rooms[room]?.subscriptions[id] == nil {
                    claim(id, of: stream, by: connection, sends: sends, in: room, now: now)
                }
            }
        }
        return named
    }

    private mutating func claim(
        _ id: String, of stream: String, by connection: ConnectionID, sends: Bool, in room: String, now: Instant
    ) {
        let other = ClaimKey(room: room, subscription: id, sends: !sends)
        if let matching = claims[other], matching.stream == stream,
            rooms[room]?.publisher(of: stream) == (sends ? connection : matching.connection)
        {
            claims[other] = nil
            rooms[room]?.subscriptions[id] = Subscription(
                stream: stream, subscriber: sends ? matching.connection : connection,
                publisher: sends ? connection : matching.connection)
            if let media = matching.selected {
                outputs.append(
                    .relay(
                        .select(subscription: id, media), from: matching.connection, to: connection, canFail: true))
            }
            return
        }
        // Nobody talks a claim out of another's hands: ids are known to two sides only.
        let key = ClaimKey(room: room, subscription: id, sends: sends)
        guard claims[key] == nil else { return }
        guard claims.count < Self.maximumClaims, !sends || rooms[room]?.publisher(of: stream) == connection else {
            outputs.append(.send(.subscriptionEnded(subscription: id, reason: .signalingLost), to: connection))
            return
        }
        claims[key] = Claim(stream: stream, connection: connection, until: now + claimTime)
        expect(now + claimTime)
    }

    /// What the client does not have any more, or never heard of, is over for the other side, too.
    private mutating func endUnnamed(_ named: Set<String>, of connection: ConnectionID, in room: String) {
        for (id, subscription) in rooms[room]?.subscriptions ?? [:] where !named.contains(id) {
            guard let other = subscription.other(than: connection) else { continue }
            rooms[room]?.subscriptions[id] = nil
            if other != connection {
                outputs.append(.send(.subscriptionEnded(subscription: id, reason: .bye), to: other))
            }
        }
    }

    /// Whether the message is about a claim: the other side may come back any moment; until then there is nobody to pass
    /// it on to. Of what is said once, and not again, the last is kept.
    mutating func keepForClaim(
        _ message: SignalingMessage, _ subscription: String, of connection: ConnectionID
    ) -> Bool {
        let keys = claimKeys(subscription, of: connection)
        if case .select(_, let media) = message {
            for key in keys where !key.sends { claims[key]?.selected = media }
        }
        return !keys.isEmpty
    }

    /// Answers whether there was one.
    @discardableResult
    mutating func dropClaim(_ subscription: String, of connection: ConnectionID) -> Bool {
        let keys = claimKeys(subscription, of: connection)
        for key in keys { claims[key] = nil }
        return !keys.isEmpty
    }

    private func claimKeys(_ subscription: String, of connection: ConnectionID) -> [ClaimKey] {
        guard !claims.isEmpty, let room = participants[connection]?.room else { return [] }
        return [true, false].map { ClaimKey(room: room, subscription: subscription, sends: $0) }
            .filter { claims[$0]?.connection == connection }
    }

    // MARK: Being away

    /// Keeps what somebody who is away would have been told.
    ///
    /// - Parameter sender: The participant that sent it, and whose message is refused where there is no room for more.
    mutating func hold(_ message: SignalingMessage, from sender: ConnectionID? = nil, for connection: ConnectionID) {
        guard let sender else {
            away[connection]?.held.hold(message)
            return
        }
        guard away[connection]?.held.hold(message, from: sender) == false else { return }
        relayFailed(message, from: sender, to: connection)
    }

    mutating func forgetAbsence(of connection: ConnectionID) {
        away[connection] = nil
        absentees.leave(connection)
        for (key, claim) in claims where claim.connection == connection { claims[key] = nil }
    }

    /// Makes place in a full room.
    mutating func dropLongestAway(of room: String) {
        let absent = away.filter { participants[$0.key]?.room == room }
        if let longest = absent.min(by: { $0.value.until < $1.value.until })?.key { disconnect(longest) }
    }

    /// Makes place on a full server: a room in which nobody is but those who are away.
    mutating func dropDesertedRoom() {
        let deserted = rooms.values.first { $0.participants.allSatisfy { away[$0] != nil } }
        for connection in deserted?.participants ?? [] { disconnect(connection) }
    }
}

extension RoomDirectory.Room {
    /// Everywhere that a room knows a connection.
    fileprivate mutating func replace(
        _ old: RoomDirectory.ConnectionID, by new: RoomDirectory.ConnectionID
    ) {
        if participants.remove(old) != nil { participants.insert(new) }
        for index in streams.indices where streams[index].publisher == old { streams[index].publisher = new }
        for index in receivers.indices where receivers[index].connection == old { receivers[index].connection = new }
        for (id, subscription) in subscriptions {
            if subscription.subscriber == old { subscriptions[id]?.subscriber = new }
            if subscription.publisher == old { subscriptions[id]?.publisher = new }
        }
    }
}
