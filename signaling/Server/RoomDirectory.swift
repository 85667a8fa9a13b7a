import EmisoraCore
import EmisoraSignalingProtocol

/// Who is in which room, who publishes what, and who watches whom: the server without its sockets.
///
/// One mutation (`connect`, `handle`, `lost`, `disconnect`, `handleTimeout`), then drain `pollOutput()`. A participant can only reach the other
/// side of its own subscriptions, and a refused message changes nothing.
///
/// ```
/// connected ──join──▶ joined ──publish/subscribe/…──▶ joined ──leave or disconnect──▶ gone
///                        ◀──resume── away ◀──lost──┘
/// ```
struct RoomDirectory<Random: RandomNumberGenerator & Sendable>: Sendable {
    /// One connection, for as long as the process lives; never shown to others.
    struct ConnectionID: Hashable, Sendable {
        fileprivate var number: UInt64
    }

    enum Output: Equatable, Sendable {
        case send(SignalingMessage, to: ConnectionID)
        /// What another participant says, or the end that it brings about: it counts as that one's. Where it does not fit, and `canFail`,
        /// call `relayFailed`.
        case relay(SignalingMessage, from: ConnectionID, to: ConnectionID, canFail: Bool)
        /// The connection has left; close it once everything sent has gone out.
        case close(ConnectionID)
        case backplane(BackplaneCommand)
    }

    struct Subscription {
        var stream: String
        var subscriber: ConnectionID
        var publisher: ConnectionID

        func other(than connection: ConnectionID) -> ConnectionID? {
            connection == subscriber ? publisher : connection == publisher ? subscriber : nil
        }
    }

    struct Room {
        var participants: Set<ConnectionID> = []
        /// In the order of publication: a room's first stream is its oldest.
        var streams: [(name: String, publisher: ConnectionID, properties: StreamProperties?)] = []
        /// Who takes what HTTP encoders send, for one name of a stream or for any, in the order of registration.
        var receivers: [(stream: String?, connection: ConnectionID)] = []
        /// Of published streams and of received ones alike: the publisher is who sends.
        var subscriptions: [String: Subscription] = [:]

        /// Who receives streams of that name, rather than streams of any.
        func receiver(of stream: String) -> ConnectionID? {
            (receivers.first { $0.stream == stream } ?? receivers.first { $0.stream == nil })?.connection
        }

        func publisher(of stream: String) -> ConnectionID? {
            streams.first { $0.name == stream }?.publisher
        }
    }

    struct Participant {
        var id: String
        /// The room in the connection's URL; nil admits any.
        var allowedRoom: String?
        /// What came with the request for the connection; `join` may bring another.
        var token: BearerToken?
        var grant: Grant?
        var room: String?
        /// Where it is connected from: see ``IPAddress/site``; `nil`: not by a socket of its own.
        var site: IPAddress?
        /// It has the secret with which it can come back.
        var isResumable = false
        /// Which arrival in a room it was, of all.
        var arrival: UInt64 = 0
        /// Streams whose properties it was not told as they are, since it reads too slowly.
        var missedChanges: Set<String> = []
        var home = ParticipantHome.here
        /// It lost its connection to another node, which waits for it.
        var isAwayElsewhere = false
        /// It resumed without saying what it holds: what others say counts.
        var holdsWhatOthersSay = false
    }

    private var random: Random
    let limits: ServerLimits
    let access: AccessPolicy
    private let iceServers: ICEServerList
    private var lastConnection: UInt64 = 0
    private(set) var lastArrival: UInt64 = 0
    // Touched by the extensions, too.
    var participants: [ConnectionID: Participant] = [:]
    var rooms: [String: Room] = [:]
    var away: [ConnectionID: Away] = [:]
    /// Those of them whose address is known.
    var absentees = Strangers<ConnectionID>()
    var claims: [ClaimKey: Claim] = [:]
    var counters = RoomCounters()
    var expulsions = Expulsions()
    /// Not later than the end of the first of these.
    var nextAbsenceDeadline: Instant?
    /// `nil`: this server is the only one.
    var cluster: Cluster<ConnectionID>?
    var outputs: [Output] = []
    var nextOutput = 0

    /// - Parameters:
    ///   - iceServers: What every participant is told to connect with.
    ///   - node: This server's id among several that share their rooms.
    init(
        random: Random, limits: ServerLimits = ServerLimits(), access: AccessPolicy = .open,
        iceServers: ICEServerList = ICEServerList(), node: String? = nil
    ) {
        self.random = random
        self.limits = limits
        self.access = access
        self.iceServers = iceServers
        cluster = node.map(Cluster.init)
    }

    /// A new connection; `allowedRoom` is the room of its URL, `grant` what it may do, where that was judged already.
    mutating func connect(
        allowedRoom: String?, from address: IPAddress? = nil, token: BearerToken? = nil, grant: Grant? = nil
    ) -> ConnectionID {
        let connection = makeConnection()
        participants[connection] = Participant(
            id: SignalingProtocol.makeIdentifier(using: &random), allowedRoom: allowedRoom, token: token, grant: grant,
            site: address?.site)
        return connection
    }

    mutating func makeConnection() -> ConnectionID {
        lastConnection += 1
        return ConnectionID(number: lastConnection)
    }

    mutating func handle(_ message: SignalingMessage, from connection: ConnectionID) {
        touch(connection)
        do {
            try accept(message, from: connection)
        } catch {
            refuse(error, to: connection)
            // Who may not join has nothing more to say; another token comes on another connection.
            if error.code == .unauthorized { outputs.append(.close(connection)) }
        }
    }

    /// The connection is gone without `leave`, and nobody is to come back.
    mutating func disconnect(_ connection: ConnectionID) {
        remove(connection, reason: .signalingLost)
        participants[connection] = nil
    }

    /// Tells one client that its message was refused.
    mutating func refuse(_ error: SignalingError, to connection: ConnectionID) {
        outputs.append(.send(.error(error), to: connection))
    }

    mutating func pollOutput() -> Output? {
        announceTouched()
        while nextOutput < outputs.count {
            let output = outputs[nextOutput]
            nextOutput += 1
            let (message, sender, connection): (SignalingMessage, ConnectionID?, ConnectionID)
            switch output {
            case .send(let said, let receiver): (message, sender, connection) = (said, nil, receiver)
            case .relay(let said, let from, let receiver, let canFail):
                (message, sender, connection) = (said, canFail ? from : nil, receiver)
            default: return output
            }
            if away[connection] != nil {
                hold(message, from: sender, for: connection)
            } else if let node = node(of: connection) {
                if let relayed = relay(message, from: sender, to: connection, at: node) { return relayed }
            } else {
                return output
            }
        }
        outputs.removeAll(keepingCapacity: true)
        nextOutput = 0
        return nil
    }

    // MARK: What is there

    /// The rooms with somebody in them, by name, with the names of their streams.
    var liveRooms: [(name: String, streams: [String], participants: Int)] {
        rooms.map { ($0.key, $0.value.streams.map(\.name), $0.value.participants.count) }.sorted { $0.name < $1.name }
    }

    var roomCount: Int { rooms.count }

    func hasJoined(_ connection: ConnectionID) -> Bool {
        participants[connection]?.room != nil
    }

    /// The stream of that name, or the room's oldest; nil when it is not live.
    func liveStream(in room: String, named name: String?) -> String? {
        rooms[room]?.streams.first { name == nil || $0.name == name }?.name
    }

    /// The name of a stream that an encoder may send into the room, or, where it gives none, the one that is waited for
    /// longest; nil when nobody receives it.
    func receivedStream(in room: String, named name: String?) -> String? {
        guard let room = rooms[room] else { return nil }
        guard let name else { return room.receivers.first.map { $0.stream ?? SignalingProtocol.defaultStream } }
        return SignalingProtocol.isValid(name: name) && room.receiver(of: name) != nil ? name : nil
    }

    // MARK: Messages

    private mutating func accept(
        _ message: SignalingMessage, from connection: ConnectionID
    ) throws(SignalingError) {
        switch message {
        case .join(let version, let room, let token, _):
            try join(connection, version: version, room: room, token: token)
        case .leave:
            remove(connection, reason: .left)
            participants[connection]?.grant = nil
            outputs.append(.close(connection))
        case .publish(let stream, let properties):
            try publish(stream, properties, by: connection, in: try room(of: connection, message), message)
        case .updateStream(let stream, let properties):
            try update(stream, properties, by: connection, in: try room(of: connection, message), message)
        case .signal(let signal):
            try relay(signal, from: connection, in: try room(of: connection, message), message)
        case .forceMute(let mute):
            try forceMute(mute, by: connection, in: try room(of: connection, message), message)
        case .forceDisconnect(let disconnect):
            try forceDisconnect(disconnect, by: connection, in: try room(of: connection, message), message)
        case .unpublish(let stream):
            let room = try room(of: connection, message)
            if forgetName(stream, of: connection) { return }
            guard rooms[room]?.publisher(of: stream) == connection else {
                throw SignalingError(
                    .streamNotFound, "You do not publish a stream of this name.", inReplyTo: message.type)
            }
            removeStream(stream, in: room, reason: .unpublished)
        case .receive(let stream):
            try receive(stream, by: connection, in: try room(of: connection, message), message)
        case .stopReceiving(let stream):
            let room = try room(of: connection, message)
            rooms[room]?.receivers.removeAll { $0.connection == connection && $0.stream == stream }
        case .subscribe(let subscription, let stream, _):
            try subscribe(
                connection, subscription: subscription, stream: stream, in: try room(of: connection, message), message)
        case .offer(let subscription, _), .answer(let subscription, _), .candidate(let subscription, _),
            .select(let subscription, _):
            // The other side may come back any moment; until then there is nobody to pass it on to.
            if keepForClaim(message, subscription, of: connection) { return }
            let other = try counterpart(of: connection, subscription, message)
            outputs.append(.relay(message, from: connection, to: other, canFail: true))
        case .bye(let subscription, let reason):
            if dropClaim(subscription, of: connection) { return }
            let other = try counterpart(of: connection, subscription, message)
            if let room = participants[connection]?.room { rooms[room]?.subscriptions[subscription] = nil }
            outputs.append(
                .relay(
                    .subscriptionEnded(subscription: subscription, reason: reason), from: connection, to: other,
                    canFail: false))
        case .welcome, .streamPublished, .streamUnpublished, .participantJoined, .participantLeft,
            .streamPropertyChanged, .muteForced, .forceDisconnected, .receiving, .ingest, .subscriptionEnded, .error:
            throw SignalingError(.notAllowed, "Only the server sends this message.", inReplyTo: message.type)
        }
    }

    private mutating func join(
        _ connection: ConnectionID, version: Int, room: String, token: BearerToken?
    ) throws(SignalingError) {
        guard let participant = participants[connection] else { return }
        try checkJoin(participant, version: version, room: room)
        // Before anything is said about the room.
        let grant = try grant(for: participant, room, token: token)
        try enter(connection, room, grant)
        welcome(connection, to: room)
        announceArrival(of: connection, in: room)
        introduceOthers(to: connection, in: room)
    }

    func checkJoin(_ participant: Participant, version: Int, room: String) throws(SignalingError) {
        guard participant.room == nil else {
            throw SignalingError(.alreadyJoined, "This connection is in a room already.", inReplyTo: "join")
        }
        guard version == SignalingProtocol.version else {
            throw SignalingError(
                .unsupportedVersion, "This server speaks version \(SignalingProtocol.version).", inReplyTo: "join")
        }
        try Self.check(name: room, "room", inReplyTo: "join")
        guard participant.allowedRoom == nil || participant.allowedRoom == room else {
            throw SignalingError(.notAllowed, "The room differs from the one in the URL.", inReplyTo: "join")
        }
    }

    mutating func enter(_ connection: ConnectionID, _ room: String, _ grant: Grant) throws(SignalingError) {
        if rooms[room] == nil, rooms.count >= limits.rooms { dropDesertedRoom() }
        guard rooms[room] != nil || rooms.count < limits.rooms else {
            throw SignalingError(.limitReached, "The server holds no more rooms.", inReplyTo: "join")
        }
        let capacity = min(limits.participantsPerRoom, grant.capacity ?? .max)
        // Where one place is enough: nobody is put out for who is refused all the same.
        if rooms[room]?.participants.count == capacity { dropLongestAway(of: room) }
        var joined = rooms[room] ?? Room()
        guard joined.participants.count < capacity else {
            throw SignalingError(.roomFull, "The room is full; try again when somebody has left.", inReplyTo: "join")
        }
        joined.participants.insert(connection)
        rooms[room] = joined
        arrives(connection, in: room)
        participants[connection]?.grant = grant
        participants[connection]?.token = nil
    }

    mutating func arrives(_ connection: ConnectionID, in room: String) {
        lastArrival += 1
        participants[connection]?.arrival = lastArrival
        participants[connection]?.room = room
    }

    mutating func welcome(_ connection: ConnectionID, to room: String) {
        guard let participant = participants[connection] else { return }
        let secret = participant.grant.flatMap { access.resumptionSecret(for: participant.id, in: room, $0) }
        participants[connection]?.isResumable = secret != nil
        participants[connection]?.missedChanges = []
        outputs.append(
            .send(
                .welcome(
                    version: SignalingProtocol.version, id: participant.id, room: room,
                    streams: rooms[room]?.streams.map { describe($0.name, by: $0.publisher) } ?? [],
                    iceServers: iceServers.servers(for: participant.id),
                    resume: secret.map { ResumptionTicket(secret: $0, grace: limits.resumeGrace.inSeconds) }),
                to: connection))
    }

    mutating func publish(
        _ stream: String, _ properties: StreamProperties?, by connection: ConnectionID, in room: String,
        _ message: SignalingMessage, isResumed: Bool = false
    ) throws(SignalingError) {
        try Self.check(name: stream, "stream", inReplyTo: message.type)
        guard participants[connection]?.grant?.mayPublish(stream) == true else {
            throw SignalingError(
                .notAllowed, "Your token does not let you publish this stream.", inReplyTo: message.type)
        }
        try Self.check(properties, inReplyTo: message.type)
        var displaced: String?
        if let holder = rooms[room]?.publisher(of: stream) {
            // Said again after a broken connection.
            if holder == connection {
                if let properties { try update(stream, properties, by: connection, in: room, message) }
                return outputs.append(.send(.streamPublished(describe(stream, by: connection)), to: connection))
            }
            // Who is away gives way, so that a publisher that was started anew need not wait for its own ghost.
            if isAbsent(holder) {
                displaced = participants[holder]?.id
                removeStream(stream, in: room, reason: .signalingLost)
            }
        }
        let streams = rooms[room]?.streams ?? []
        guard !streams.contains(where: { $0.name == stream }) else {
            throw SignalingError(
                .streamTaken, "A stream named \"\(stream)\" is live in this room; take another name.",
                inReplyTo: message.type)
        }
        guard streams.count + awaitedNames(in: room) < limits.streamsPerRoom,
            streams.count(where: { $0.publisher == connection }) + awaitedNames(of: connection)
                < limits.streamsPerParticipant
        else { throw SignalingError(.limitReached, "No more streams are taken here.", inReplyTo: message.type) }
        let claim = StreamClaim(
            room: room, stream: stream, holder: participants[connection]?.id ?? "", over: displaced)
        guard !awaitsName(claim, properties, for: connection, isResumed: isResumed) else { return }
        makeLive(stream, properties, by: connection, in: room)
    }

    mutating func makeLive(
        _ stream: String, _ properties: StreamProperties?, by connection: ConnectionID, in room: String
    ) {
        rooms[room]?.streams.append((stream, connection, properties))
        tell(room, .streamPublished(describe(stream, by: connection)))
    }

    // MARK: Checks

    private func grant(
        for participant: Participant, _ room: String, token: BearerToken?
    ) throws(SignalingError) -> Grant {
        if let grant = participant.grant { return grant }
        switch access.authorize(token ?? participant.token, for: room) {
        case .granted(let grant): return grant
        case .refused(let why): throw SignalingError(.unauthorized, why, inReplyTo: "join")
        }
    }

    func room(
        of connection: ConnectionID, _ message: SignalingMessage
    ) throws(SignalingError) -> String {
        guard let room = participants[connection]?.room else {
            throw SignalingError(.notJoined, "Send \"join\" first.", inReplyTo: message.type)
        }
        return room
    }

    /// The other end of a subscription. Somebody else's is as unknown as none at all: ids are not to be probed.
    private func counterpart(
        of connection: ConnectionID, _ subscription: String, _ message: SignalingMessage
    ) throws(SignalingError) -> ConnectionID {
        let room = try room(of: connection, message)
        guard let other = rooms[room]?.subscriptions[subscription]?.other(than: connection) else {
            throw SignalingError(
                .subscriptionNotFound, "You have no such subscription; it may have ended.", inReplyTo: message.type,
                subscription: String(subscription.prefix(64)))
        }
        return other
    }

    static func check(name: String, _ what: String, inReplyTo type: String) throws(SignalingError) {
        guard SignalingProtocol.isWellFormed(name: name) else {
            throw SignalingError(
                .invalidName, "The name of a \(what) is 1 to 64 of the characters A-Z a-z 0-9 _ -.", inReplyTo: type)
        }
        guard SignalingProtocol.isValid(name: name) else {
            throw SignalingError(
                .reservedName, "The server uses this name itself; take another for the \(what).", inReplyTo: type)
        }
    }

    func describe(_ stream: String, by publisher: ConnectionID) -> StreamDescription {
        let participant = participants[publisher]
        let live = participant?.room.flatMap { rooms[$0] }?.streams.first { $0.name == stream }
        return StreamDescription(
            stream: stream, publisher: participant?.id ?? "", data: participant?.grant?.data,
            properties: live?.properties)
    }

    mutating func tell(_ room: String, _ message: SignalingMessage) {
        for participant in rooms[room]?.participants ?? [] {
            outputs.append(.send(message, to: participant))
        }
    }
}
