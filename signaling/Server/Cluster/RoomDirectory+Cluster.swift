import EmisoraCore
import EmisoraSignalingProtocol

/// Rooms that span several nodes.
///
/// A participant lives on one node, which decides about it and tells the others of it in full; there it is a member of
/// its room like any other, but that messages to it are relayed. What a node has not heard, because it or the bus was
/// gone, a listing puts right. A lost node's participants are away, as after a broken connection, on every other node.
extension RoomDirectory {
    mutating func happened(_ event: BackplaneEvent, now: Instant) {
        guard cluster != nil else { return }
        switch event {
        case .connected: connected(now: now)
        case .disconnected: disconnected()
        case .claimed(let ticket, let isOurs): claimed(ticket, isOurs: isOurs)
        case .received(let bytes):
            guard let (node, message) = NodeMessage.read(json: bytes), node != cluster?.id else { return }
            counters.count(.received)
            received(message, from: node, now: now)
        }
    }

    mutating func ends() {
        announceTouched()
        publish(.ending)
        // Whose connections end now is not announced again.
        cluster?.isConnected = false
    }

    mutating func handleClusterTimeout(now: Instant) {
        guard let cluster, cluster.isConnected else { return }
        if let due = cluster.nextHeartbeat, due <= now {
            publish(.alive)
            self.cluster?.nextHeartbeat = now + Cluster<ConnectionID>.heartbeat
        }
        if let due = cluster.nextRenewal, due <= now {
            keepNames()
            self.cluster?.nextRenewal = now + Cluster<ConnectionID>.renewal
        }
        for (id, node) in cluster.nodes where node.deadline <= now { nodeLost(id, now: now) }
    }

    // MARK: The bus

    private mutating func connected(now: Instant) {
        cluster?.isConnected = true
        for id in (cluster?.nodes ?? [:]).keys {
            cluster?.nodes[id]?.deadline = now + Cluster<ConnectionID>.silence
        }
        cluster?.nextHeartbeat = now + Cluster<ConnectionID>.heartbeat
        cluster?.nextRenewal = now + Cluster<ConnectionID>.renewal
        list(to: nil, asks: true)
        keepNames()
        for (message, node) in cluster?.waiting ?? [] { publish(message, to: node) }
        cluster?.waiting.removeAll()
    }

    /// Goes on alone: names are given out at once and asked for when the bus is back.
    private mutating func disconnected() {
        cluster?.isConnected = false
        let pending = cluster?.pending ?? [:]
        cluster?.pending.removeAll()
        for waiting in pending.sorted(by: { $0.key < $1.key }).map(\.value)
        // Of who went to another node, that one keeps the name.
        where !waiting.isLive && isHere(waiting.connection)
            && participants[waiting.connection]?.room == waiting.claim.room
        {
            let holder = rooms[waiting.claim.room]?.publisher(of: waiting.claim.stream)
            if let holder, holder != waiting.connection, !isAbsent(holder) {
                refuse(Self.taken(waiting.claim.stream), to: waiting.connection)
            } else {
                took(waiting)
            }
        }
    }

    mutating func publish(_ message: NodeMessage, to node: String? = nil) {
        if let output = output(of: message, to: node) { outputs.append(output) }
    }

    /// Tells of all participants of this node.
    private mutating func list(to node: String?, asks: Bool) {
        publish(.hello(asks: asks), to: node)
        for connection in participants.keys {
            guard let member = member(connection) else { continue }
            if node == nil { cluster?.announced.updateValue(member, forKey: connection) }
            publish(.member(member), to: node)
        }
        publish(.listed, to: node)
    }

    private mutating func received(_ message: NodeMessage, from node: String, now: Instant) {
        let (deadline, arrival) = (now + Cluster<ConnectionID>.silence, lastArrival)
        if cluster?.nodes[node] == nil {
            guard let count = cluster?.nodes.count, count < Cluster<ConnectionID>.maximumNodes else { return }
            if message == .ending { return }
            cluster?.nodes[node] = .init(deadline: deadline, lastArrival: arrival)
            // Its listing was missed, or has been forgotten since.
            if case .hello = message {} else { list(to: node, asks: true) }
        }
        cluster?.nodes[node]?.deadline = deadline
        cluster?.nodes[node]?.lastArrival = arrival
        switch message {
        case .hello(let asks):
            let known = Set(members(of: node))
            cluster?.nodes[node]?.unlisted = known
            if asks { list(to: node, asks: false) }
        case .listed:
            for id in cluster?.nodes[node]?.unlisted ?? [] { left(id, node, reason: .signalingLost) }
            cluster?.nodes[node]?.unlisted = nil
        case .member(let member):
            cluster?.nodes[node]?.unlisted?.remove(member.id)
            take(member, of: node)
        case .left(let id, let reason): left(id, node, reason: reason)
        case .alive: break
        case .ending: nodeLost(node, now: now)
        case .relay(let relay): deliver(relay)
        case .holding(let holding): heard(holding, now: now)
        }
    }

    // MARK: Participants of other nodes

    func node(of connection: ConnectionID) -> String? {
        guard cluster != nil, case .node(let id)? = participants[connection]?.home else { return nil }
        return id
    }

    func isAbsent(_ connection: ConnectionID) -> Bool {
        away[connection] != nil || participants[connection]?.isAwayElsewhere == true
    }

    private func isHere(_ connection: ConnectionID) -> Bool {
        participants[connection]?.home == .here
    }

    private func members(of node: String) -> [String] {
        (cluster?.remote ?? [:]).filter { participants[$0.value.connection]?.home == .node(node) }.map(\.key)
    }

    private mutating func take(_ member: NodeMember, of node: String) {
        let known = participant(member.id, in: member.room)
        let connection: ConnectionID
        var hasMoved = true
        if let known, isOutdated(member, of: node, known) { return }
        if let known, isHere(known) {
            // It came back over there.
            connection = makeConnection()
            let held = takeOver(known, by: connection, in: member.room)
            outputs += held.map { .send($0, to: connection) }
        } else if let known {
            connection = known
            hasMoved = participants[known]?.home != .node(node)
            outputs += (away.removeValue(forKey: known)?.held.messages ?? []).map { .send($0, to: known) }
        } else {
            guard let cluster, cluster.remote[member.id] == nil,
                cluster.remote.count < Cluster<ConnectionID>.maximumMembers
            else { return }
            connection = makeConnection()
            participants[connection] = Participant(id: member.id, allowedRoom: nil)
            participants[connection]?.grant = Self.grant(of: member)
            rooms[member.room, default: Room()].participants.insert(connection)
            arrives(connection, in: member.room)
            announceArrival(of: connection, in: member.room)
        }
        participants[connection]?.home = .node(node)
        participants[connection]?.grant = Self.grant(of: member)
        participants[connection]?.isAwayElsewhere = member.isAway
        cluster?.remote[member.id] = (connection, member)
        takeNames(of: connection, member)
        if hasMoved { askForHoldings(of: connection, in: member.room) }
        for (key, claim) in claims
        where !key.sends && key.room == member.room && isHere(claim.connection)
            && member.streams.contains { $0.name == claim.stream }
        {
            askFor(key.subscription, of: claim.stream, by: claim.connection, with: connection, in: member.room)
        }
    }

    /// What it may do its own node judges.
    private static func grant(of member: NodeMember) -> Grant {
        var grant = Grant(role: .subscriber, stream: nil, data: member.data)
        grant.turn = member.turn
        return grant
    }

    /// Whether a node tells of somebody who came to another one, or here, since: what nodes say of it crosses on the way.
    private func isOutdated(_ member: NodeMember, of node: String, _ known: ConnectionID) -> Bool {
        guard let participant = participants[known], participant.home != .node(node), let own = cluster?.id else {
            return false
        }
        let turn = participant.grant?.turn ?? 0
        guard member.turn == turn else { return member.turn < turn }
        // It came to both with one secret, since the welcome of one got lost. Every node decides the same.
        guard isAbsent(known) == member.isAway else { return member.isAway }
        return switch participant.home {
        case .here: node < own
        case .node(let other): node < other
        case .nowhere: false
        }
    }

    /// Streams and receivers become those that its node tells of.
    private mutating func takeNames(of connection: ConnectionID, _ member: NodeMember) {
        let room = member.room
        for stream in rooms[room]?.streams ?? []
        where stream.publisher == connection && !member.streams.contains(where: { $0.name == stream.name }) {
            removeStream(stream.name, in: room, reason: .unpublished)
        }
        for stream in member.streams {
            if let holder = rooms[room]?.publisher(of: stream.name) {
                change(stream.name, to: stream.properties, by: connection, in: room)
                // Who publishes here learns from its claim which of the two it is.
                if holder == connection || isHere(holder) && !isAbsent(holder) { continue }
                removeStream(stream.name, in: room, reason: .signalingLost)
            }
            // Two nodes may each have filled the room; one that keeps to no limits is not followed.
            guard (rooms[room]?.streams.count ?? 0) < 2 * limits.streamsPerRoom else { break }
            makeLive(stream.name, stream.properties, by: connection, in: room)
        }
        rooms[room]?.receivers.removeAll { $0.connection == connection && !member.receives.contains($0.stream) }
        for name in member.receives
        where rooms[room]?.receivers.contains(where: { $0.connection == connection && $0.stream == name }) == false
            && (rooms[room]?.receivers.count ?? 0) < 2 * limits.streamsPerRoom
        {
            rooms[room]?.receivers.append((name, connection))
        }
    }

    private mutating func left(_ id: String, _ node: String, reason: SubscriptionEndReason) {
        guard let connection = cluster?.remote[id]?.connection, self.node(of: connection) == node else { return }
        remove(connection, reason: reason)
        participants[connection] = nil
    }

    private mutating func nodeLost(_ node: String, now: Instant) {
        let arrival = cluster?.nodes.removeValue(forKey: node)?.lastArrival ?? lastArrival
        for id in members(of: node) {
            guard let connection = cluster?.remote[id]?.connection else { continue }
            participants[connection]?.home = .nowhere
            participants[connection]?.isAwayElsewhere = false
            if limits.resumeGrace > .zero {
                waitFor(connection, since: arrival, now: now)
            } else {
                disconnect(connection)
            }
        }
    }

    // MARK: Participants of this node

    mutating func touch(_ connection: ConnectionID) {
        guard cluster != nil, participants[connection] == nil || isHere(connection) else { return }
        cluster?.touched.insert(connection)
    }

    mutating func departs(_ connection: ConnectionID, _ reason: SubscriptionEndReason) {
        guard cluster != nil, let participant = participants[connection] else { return }
        guard participant.home == .here else {
            cluster?.remote[participant.id] = nil
            return
        }
        cluster?.departures[connection] = reason
        touch(connection)
        for (ticket, waiting) in cluster?.pending ?? [:] where waiting.connection == connection {
            cluster?.pending[ticket] = nil
            release(waiting.claim)
        }
    }

    mutating func movesAnnounced(_ old: ConnectionID, to new: ConnectionID) {
        guard cluster != nil, let participant = participants[old] else { return }
        let known = cluster?.announced.removeValue(forKey: old)
        cluster?.announced[new] = known
        cluster?.remote[participant.id] = nil
        for (ticket, waiting) in cluster?.pending ?? [:] where waiting.connection == old {
            cluster?.pending[ticket]?.connection = new
        }
        touch(new)
    }

    private func member(_ connection: ConnectionID) -> NodeMember? {
        guard let participant = participants[connection], participant.home == .here, let name = participant.room,
            let room = rooms[name]
        else { return nil }
        return NodeMember(
            id: participant.id, room: name, data: participant.grant?.data,
            streams: room.streams.filter { $0.publisher == connection }
                .map { NodeStream($0.name, properties: $0.properties) },
            receives: room.receivers.filter { $0.connection == connection }.map(\.stream),
            isAway: away[connection] != nil, turn: participant.grant?.turn ?? 0)
    }

    /// Before anything else that follows from the change, since others know whom a message is from by this.
    mutating func announceTouched() {
        guard let touched = cluster?.touched, !touched.isEmpty else { return }
        cluster?.touched.removeAll(keepingCapacity: true)
        let later = outputs[nextOutput...]
        outputs = []
        nextOutput = 0
        for connection in touched {
            let reason = cluster?.departures.removeValue(forKey: connection) ?? .left
            if let member = member(connection) {
                guard cluster?.announced[connection] != member else { continue }
                cluster?.announced[connection] = member
                publish(.member(member))
            } else if let known = cluster?.announced.removeValue(forKey: connection), node(of: connection) == nil {
                publish(.left(id: known.id, reason: reason))
            }
        }
        outputs += later
    }

    // MARK: Names

    /// Asks for the name of a stream. Answers whether it is to be waited for.
    mutating func awaitsName(
        _ claim: StreamClaim, _ properties: StreamProperties?, for connection: ConnectionID, isResumed: Bool
    ) -> Bool {
        guard cluster?.isConnected == true else { return false }
        // Said again while it waits.
        if !isResumed, let ticket = awaited(claim.stream, by: connection) {
            if let properties { cluster?.pending[ticket]?.properties = properties }
            return true
        }
        self.claim(claim, properties, for: connection, isLive: isResumed)
        return !isResumed
    }

    func awaitedNames(of connection: ConnectionID) -> Int {
        cluster?.pending.values.count { $0.connection == connection && !$0.isLive } ?? 0
    }

    func awaitedNames(in room: String) -> Int {
        cluster?.pending.values.count { $0.claim.room == room && !$0.isLive } ?? 0
    }

    private func awaited(_ stream: String, by connection: ConnectionID) -> UInt64? {
        cluster?.pending.first {
            $0.value.connection == connection && $0.value.claim.stream == stream && !$0.value.isLive
        }?.key
    }

    /// Answers whether the stream only waits for its name.
    mutating func keepForName(_ properties: StreamProperties, _ stream: String, of connection: ConnectionID) -> Bool {
        guard let ticket = awaited(stream, by: connection) else { return false }
        cluster?.pending[ticket]?.properties = properties
        return true
    }

    /// Answers whether the name was only waited for.
    mutating func forgetName(_ stream: String, of connection: ConnectionID) -> Bool {
        guard let ticket = awaited(stream, by: connection), let waiting = cluster?.pending.removeValue(forKey: ticket)
        else { return false }
        release(waiting.claim)
        return true
    }

    mutating func releaseName(_ stream: String, of publisher: ConnectionID, in room: String) {
        guard let participant = participants[publisher], node(of: publisher) == nil else { return }
        release(StreamClaim(room: room, stream: stream, holder: participant.id))
    }

    private mutating func release(_ claim: StreamClaim) {
        if cluster?.isConnected == true { outputs.append(.backplane(.release(claim))) }
    }

    private mutating func claim(
        _ claim: StreamClaim, _ properties: StreamProperties? = nil, for connection: ConnectionID, isLive: Bool
    ) {
        guard let ticket = cluster.map({ $0.lastTicket + 1 }) else { return }
        cluster?.lastTicket = ticket
        cluster?.pending[ticket] = .init(
            claim: claim, properties: properties, connection: connection, isLive: isLive)
        outputs.append(.backplane(.claim(claim, ticket: ticket)))
    }

    private mutating func keepNames() {
        for (connection, member) in cluster?.announced ?? [:] {
            for stream in member.streams {
                claim(
                    StreamClaim(room: member.room, stream: stream.name, holder: member.id), for: connection,
                    isLive: true)
            }
        }
    }

    private mutating func claimed(_ ticket: UInt64, isOurs: Bool) {
        guard let waiting = cluster?.pending.removeValue(forKey: ticket) else { return }
        let (claim, connection) = (waiting.claim, waiting.connection)
        guard isHere(connection), participants[connection]?.room == claim.room else {
            // Of who went to another node, that one keeps it.
            if isOurs, node(of: connection) == nil { release(claim) }
            return
        }
        switch (isOurs, waiting.isLive) {
        case (true, false): took(waiting)
        case (true, true): break
        case (false, true):
            guard rooms[claim.room]?.publisher(of: claim.stream) == connection else { return }
            removeStream(claim.stream, in: claim.room, reason: .unpublished)
            refuse(Self.taken(claim.stream), to: connection)
            // Whoever has it was told of before.
            for (known, member) in cluster?.remote.values.map(\.self) ?? []
            where member.room == claim.room && member.streams.contains(where: { $0.name == claim.stream }) {
                takeNames(of: known, member)
            }
        case (false, false): refuse(Self.taken(claim.stream), to: connection)
        }
    }

    private mutating func took(_ waiting: Cluster<ConnectionID>.PendingClaim) {
        let (stream, room, connection) = (waiting.claim.stream, waiting.claim.room, waiting.connection)
        touch(connection)
        if let holder = rooms[room]?.publisher(of: stream) {
            if holder == connection { return }
            removeStream(stream, in: room, reason: .signalingLost)
        }
        makeLive(stream, waiting.properties, by: connection, in: room)
    }

    static func taken(_ stream: String) -> SignalingError {
        SignalingError(
            .streamTaken, "A stream named \"\(stream)\" is live in this room; take another name.", inReplyTo: "publish")
    }
}
