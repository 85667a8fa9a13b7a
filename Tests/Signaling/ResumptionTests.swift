import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingClient
@testable import EmisoraSignalingServer

/// A server and its clients in virtual time and without sockets: messages go from the clients' memories to the directory
/// and back, connections break, the server forgets.
final class ResumptionWorld {
    typealias Directory = RoomDirectory<CountingGenerator>

    static let secret = SecretFile(Array("0123456789abcdef0123456789abcdef".utf8))
    static let subscription = "0123456789abcdef"

    struct Client {
        var memory = SignalingMemory()
        var connection: Directory.ConnectionID?
        var token: BearerToken?
        var inbox: [SignalingMessage] = []
        var isClosed = false
    }

    var directory: Directory
    var clients: [String: Client] = [:]
    var now = Instant.zero
    private let unixTime: @Sendable () -> Double
    private let asksForTokens: Bool
    private var lives: UInt64 = 0
    let limits: ServerLimits

    init(
        asksForTokens: Bool = false, limits: ServerLimits = ServerLimits(),
        unixTime: @escaping @Sendable () -> Double = { AccessTokenTests.now }
    ) {
        self.asksForTokens = asksForTokens
        self.unixTime = unixTime
        self.limits = limits
        directory = Self.directory(asksForTokens, limits, unixTime, skipping: 0)
    }

    private static func directory(
        _ asksForTokens: Bool, _ limits: ServerLimits, _ unixTime: @escaping @Sendable () -> Double,
        skipping count: UInt64, by secret: SecretFile = ResumptionWorld.secret
    ) -> Directory {
        var random = CountingGenerator()
        for _ in 0..<count { _ = random.next() }
        let access = AccessPolicy(
            key: asksForTokens ? AccessTokenTests.key : nil, resumptionKey: TokenKey(derivedFrom: secret, for: "tests"),
            unixTime: unixTime)
        return Directory(random: random, limits: limits, access: access)
    }

    // MARK: What happens

    /// The server's memory is gone, and with it every connection.
    func restart(by secret: SecretFile = ResumptionWorld.secret) {
        lives += 1
        directory = Self.directory(asksForTokens, limits, unixTime, skipping: lives * 1000, by: secret)
        for name in clients.keys {
            clients[name]?.connection = nil
            clients[name]?.memory.lost()
        }
    }

    func join(_ name: String, room: String = "demo", from address: IPAddress? = nil) {
        let connection = directory.connect(allowedRoom: room, from: address)
        var client = clients[name] ?? Client()
        client.connection = connection
        client.isClosed = false
        let join = client.memory.opened(room: room, token: client.token)
        clients[name] = client
        directory.handle(join, from: connection, now: now)
        drain()
    }

    func say(_ message: SignalingMessage, _ name: String) {
        guard clients[name]?.memory.willSend(message, byteCount: message.json().count) == .send,
            let connection = clients[name]?.connection
        else { return }
        directory.handle(message, from: connection, now: now)
        drain()
    }

    /// The server notices that the client's connection is gone; the client does, too.
    func lose(_ name: String) {
        clients[name]?.memory.lost()
        guard let connection = clients[name]?.connection else { return }
        clients[name]?.connection = nil
        directory.lost(connection, now: now)
        drain()
    }

    func pass(_ duration: Duration) {
        now = now + duration
        directory.handleTimeout(now: now)
        drain()
    }

    func drain() {
        while let output = directory.pollOutput() {
            switch output {
            case .send(let message, let connection), .relay(let message, _, let connection, _):
                guard let name = clients.first(where: { $0.value.connection == connection })?.key else { continue }
                clients[name]?.inbox.append(message)
                for kept in clients[name]?.memory.didReceive(message) ?? [] {
                    directory.handle(kept, from: connection, now: now)
                }
            case .close(let connection):
                if let name = clients.first(where: { $0.value.connection == connection })?.key {
                    clients[name]?.isClosed = true
                }
            case .backplane: Issue.record("it stands alone")
            }
        }
    }

    // MARK: What there is

    /// What the client was told since the last look.
    func told(_ name: String) -> [SignalingMessage] {
        defer { clients[name]?.inbox = [] }
        return clients[name]?.inbox ?? []
    }

    func toldTypes(_ name: String) -> [String] { told(name).map(\.type) }

    func id(_ name: String) -> String? { clients[name]?.memory.id }

    var streams: [String] { directory.liveRooms.first?.streams ?? [] }
    var participants: Int { directory.liveRooms.reduce(0) { $0 + $1.participants } }

    /// A publisher of `camera` and a viewer that receives it; everything told.
    static func call(asksForTokens: Bool = false, limits: ServerLimits = ServerLimits()) -> ResumptionWorld {
        let world = ResumptionWorld(asksForTokens: asksForTokens, limits: limits)
        if asksForTokens {
            world.clients["publisher"] = Client(token: AccessTests.token(.publisher))
            world.clients["viewer"] = Client(token: AccessTests.token(.subscriber))
        }
        world.join("publisher")
        world.say(.publish(stream: "camera"), "publisher")
        world.join("viewer")
        world.say(.subscribe(subscription: subscription, stream: "camera", sdp: "offer"), "viewer")
        world.say(.answer(subscription: subscription, sdp: "answer"), "publisher")
        _ = world.told("publisher")
        _ = world.told("viewer")
        return world
    }

    /// Whether a candidate of each side reaches the other: the subscription is whole.
    func isConnected(_ subscription: String = ResumptionWorld.subscription) -> Bool {
        let candidate = SignalingMessage.candidate(subscription: subscription, candidate: .endOfCandidates)
        _ = told("viewer")
        _ = told("publisher")
        say(candidate, "publisher")
        say(candidate, "viewer")
        return told("viewer") == [candidate] && told("publisher") == [candidate]
    }
}

@Suite struct ResumptionTests {
    typealias World = ResumptionWorld

    // MARK: A server that remembers

    @Test(arguments: ["publisher", "viewer"])
    func whoComesBackInTimeIsTheSameAndNobodyHearsOfIt(_ name: String) {
        let world = World.call()
        let other = name == "viewer" ? "publisher" : "viewer"
        let id = world.id(name)
        world.lose(name)
        world.pass(.seconds(9))
        world.join(name)
        #expect(world.id(name) == id)
        #expect(world.toldTypes(name) == ["welcome"])
        #expect(world.told(other) == [])
        #expect(world.isConnected())
        world.pass(.seconds(60))
        #expect(world.told(other) == [])
        #expect(world.participants == 2)
    }

    @Test(arguments: ["publisher", "viewer"])
    func aHalfOpenConnectionGivesWay(_ name: String) {
        let world = World.call()
        let id = world.id(name)
        let old = world.clients[name]?.connection
        // The client has noticed, the server has not.
        world.clients["ghost"] = World.Client(connection: old)
        world.clients[name]?.memory.lost()
        world.join(name)
        #expect(world.id(name) == id)
        #expect(world.clients["ghost"]?.isClosed == true)
        #expect(world.told("ghost").first.map(Self.code) == .takenOver)
        #expect(world.streams == ["camera"])
        #expect(world.isConnected())
        // The server notices at last.
        world.lose("ghost")
        world.pass(.seconds(60))
        #expect(world.isConnected())
        #expect(world.participants == 2)
    }

    @Test func whenTheGraceTimeIsOverItIsSaid() {
        let world = World.call()
        let id = world.id("publisher")
        world.lose("publisher")
        world.pass(.milliseconds(9_999))
        #expect(world.told("viewer") == [])
        world.pass(.milliseconds(1))
        #expect(
            world.told("viewer") == [
                .subscriptionEnded(subscription: World.subscription, reason: .signalingLost),
                .streamUnpublished(StreamDescription(stream: "camera", publisher: id ?? "")),
            ])
        // It may still come back, with its id and its stream.
        world.join("publisher")
        #expect(world.id("publisher") == id)
        #expect(world.streams == ["camera"])
        #expect(world.toldTypes("viewer") == ["streamPublished"])
    }

    @Test func whatIsSaidToOneWhoIsAwayAwaitsIt() {
        let world = World.call()
        world.lose("publisher")
        let another = "another-subscription"
        world.join("late")
        world.say(.subscribe(subscription: another, stream: "camera", sdp: "offer"), "late")
        world.say(.bye(subscription: World.subscription, reason: .bye), "viewer")
        world.join("publisher")
        #expect(
            world.told("publisher").dropFirst() == [
                .participantJoined(id: world.id("late") ?? ""),
                .subscribe(subscription: another, stream: "camera", sdp: "offer"),
                .subscriptionEnded(subscription: World.subscription, reason: .bye),
            ])
        world.say(.answer(subscription: another, sdp: "answer"), "publisher")
        #expect(world.toldTypes("late") == ["welcome", "answer"])
    }

    @Test func whatIsSaidWhileTheConnectionIsLostIsSaidAfterwards() {
        let world = World.call()
        world.lose("viewer")
        let offer = SignalingMessage.offer(subscription: World.subscription, sdp: "restart")
        world.say(offer, "viewer")
        #expect(world.told("publisher") == [])
        world.join("viewer")
        #expect(world.told("publisher") == [offer])
    }

    @Test func whatTheClientEndedMeanwhileIsOver() {
        var world = World.call()
        world.lose("publisher")
        world.say(.unpublish(stream: "camera"), "publisher")
        world.join("publisher")
        #expect(world.streams == [])
        #expect(world.toldTypes("viewer") == ["subscriptionEnded", "streamUnpublished"])

        world = World.call()
        // What was lost on the way to the broken connection: it never heard of its subscription.
        world.lose("publisher")
        world.clients["publisher"]?.memory.lost()
        var memory = world.clients["publisher"]?.memory ?? SignalingMemory()
        _ = memory.didReceive(.subscriptionEnded(subscription: World.subscription, reason: .bye))
        world.clients["publisher"]?.memory = memory
        world.join("publisher")
        #expect(world.told("viewer") == [.subscriptionEnded(subscription: World.subscription, reason: .bye)])
    }

    @Test func whoSendsMoreThanIsKeptForSomebodyAwayLosesItsSubscriptionAlone() {
        let world = World.call()
        world.lose("publisher")
        for number in 0..<8 {
            let offer = SignalingMessage.offer(
                subscription: World.subscription, sdp: String(repeating: "\(number)", count: 60_000))
            world.say(offer, "viewer")
        }
        let told = world.toldTypes("viewer")
        #expect(told.contains("subscriptionEnded") && !told.contains("streamUnpublished"))
        #expect(world.participants == 2)
        world.join("publisher")
        #expect(world.streams == ["camera"])
    }

    @Test func whoSendsManySmallMessagesToSomebodyAwayLosesItsSubscriptionAlone() {
        let world = World.call()
        world.join("other")
        world.say(.subscribe(subscription: "other-subscription-1", stream: "camera", sdp: "offer"), "other")
        world.lose("publisher")
        for number in 0..<600 {
            let candidate = TrickledCandidate(
                candidate: "candidate:\(number) 1 udp 1 192.0.2.1 9 typ host", sdpMid: "0")
            world.say(.candidate(subscription: World.subscription, candidate: candidate), "viewer")
        }
        #expect(world.toldTypes("viewer").contains("subscriptionEnded"))
        #expect(!world.toldTypes("other").contains("subscriptionEnded"))
        #expect(world.streams == ["camera"] && world.participants == 3)
        world.join("publisher")
        let told = world.told("publisher")
        // Of what the flood was about it hears that it is over, and nothing else.
        #expect(!told.contains { $0.subscription == World.subscription })
        #expect(told.filter { $0.type == "subscriptionEnded" }.count == 1)
        #expect(world.streams == ["camera"])
    }

    @Test func whoComesBackAfterItsTimeIsAnnouncedAgain() {
        let world = World.call()
        world.lose("viewer")
        world.pass(.seconds(11))
        #expect(world.toldTypes("publisher").contains("participantLeft"))
        world.join("viewer")
        #expect(world.toldTypes("publisher").contains("participantJoined"))
    }

    @Test func whoDoesNotPublishClaimsNothingThatItSends() {
        let world = World.call()
        world.restart()
        let connection = world.directory.connect(allowedRoom: "demo")
        let memory = world.clients["viewer"]?.memory
        guard var memory,
            case .join(let version, let room, let token, var resumption?) = memory.opened(room: "demo", token: nil)
        else {
            Issue.record("nothing to resume")
            return
        }
        resumption.holdings?.sending = ["camera": [World.subscription]]
        resumption.holdings?.receiving = [:]
        world.directory.handle(
            .join(version: version, room: room, token: token, resume: resumption), from: connection, now: world.now)
        #expect(world.directory.claims.isEmpty)
    }

    @Test(arguments: [-1e10, .infinity, -.infinity, 1e300, 7200])
    func aTicketsGraceIsBounded(grace: Double) throws {
        #expect((0...3600).contains(ResumptionTicket(secret: BearerToken("x"), grace: grace).grace))
        guard grace.isFinite else { return }
        let text =
            #"{"type":"welcome","version":1,"id":"a","room":"demo","streams":[],"#
            + #""resume":{"secret":"x","grace":\#(grace)}}"#
        guard case .welcome(_, _, _, _, _, let ticket?) = try SignalingMessage(json: Array(text.utf8)) else {
            Issue.record("no welcome")
            return
        }
        #expect((0...3600).contains(ticket.grace))
    }

    @Test func aPublisherThatIsStartedAnewNeedNotWaitForItsGhost() {
        let world = World.call()
        world.lose("publisher")
        world.join("successor")
        world.say(.publish(stream: "camera"), "successor")
        #expect(world.toldTypes("viewer") == ["subscriptionEnded", "streamUnpublished", "streamPublished"])
        // The ghost was none: it comes back, and the name is taken.
        world.join("publisher")
        let told = world.told("publisher")
        #expect(told.compactMap(Self.code) == [.streamTaken])
        // What it sent is over with its stream.
        #expect(told.last?.type == "subscriptionEnded")
        #expect(world.streams == ["camera"])
        #expect(world.directory.liveRooms.first?.participants == 3)
    }

    @Test func whoTakesItsNameBackFromAnotherGhostIsWelcomedFirst() {
        let world = World.call()
        world.lose("publisher")
        world.join("successor")
        world.say(.publish(stream: "camera"), "successor")
        world.lose("successor")
        world.join("publisher")
        #expect(world.toldTypes("publisher").first == "welcome")
        #expect(world.streams == ["camera"])
    }

    @Test func aFullRoomWaitsForNobody() {
        var limits = ServerLimits()
        limits.participantsPerRoom = 2
        limits.rooms = 1
        let world = World.call(limits: limits)
        world.lose("viewer")
        world.join("late")
        #expect(world.toldTypes("late") == ["welcome"])
        #expect(world.participants == 2)
        world.lose("late")
        world.lose("publisher")
        world.join("elsewhere", room: "other")
        #expect(world.toldTypes("elsewhere") == ["welcome"])
        #expect(world.directory.liveRooms.map(\.name) == ["other"])
    }

    @Test func anAddressHasItsOwnLongestAwayGoAndNobodyElses() throws {
        var limits = ServerLimits()
        limits.connectionsPerAddress = 2
        let world = World(limits: limits)
        let home = try #require(IPAddress("192.0.2.1"))
        let crowd = try #require(IPAddress("2001:db8::1"))
        let neighbour = try #require(IPAddress("2001:db8::2"))
        world.join("viewer", from: home)
        world.lose("viewer")
        for (name, address) in [("one", crowd), ("two", neighbour), ("three", crowd), ("four", crowd)] {
            world.pass(.milliseconds(10))
            world.join(name, from: address)
            world.lose(name)
        }
        #expect(world.participants == 3)
        // These are waited for still.
        for name in ["viewer", "three", "four"] {
            world.join(name, from: home)
            #expect(world.participants == 3)
        }
        world.join("two", from: crowd)
        #expect(world.participants == 4)
        world.lose("four")
        #expect(world.participants == 4)
        world.pass(.seconds(10))
        #expect(world.participants == 3)
    }

    @Test func whoComesBackAndGoesAgainIsCountedOnce() throws {
        var limits = ServerLimits()
        limits.connectionsPerAddress = 2
        let world = World(limits: limits)
        let home = try #require(IPAddress("192.0.2.1"))
        world.join("still", from: home)
        world.lose("still")
        for _ in 0..<5 {
            world.join("restless", from: home)
            world.lose("restless")
        }
        #expect(world.participants == 2)
        for name in ["still", "restless"] {
            world.join(name, from: home)
            #expect(world.participants == 2)
        }
    }

    @Test func withoutAGraceTimeNobodyIsWaitedFor() {
        var limits = ServerLimits()
        limits.resumeGrace = .zero
        let world = World.call(limits: limits)
        world.lose("publisher")
        #expect(world.toldTypes("viewer") == ["subscriptionEnded", "streamUnpublished"])
    }

    @Test func whoSaidGoodbyeIsNotWaitedFor() {
        let world = World.call()
        world.say(.leave, "publisher")
        #expect(world.toldTypes("viewer") == ["subscriptionEnded", "streamUnpublished"])
        world.lose("publisher")
        #expect(world.participants == 1)
        #expect(world.directory.nextDeadline == nil)
    }

    // MARK: A server that has forgotten

    @Test(arguments: [["publisher", "viewer"], ["viewer", "publisher"]])
    func aRestartedServerKnowsAllAgainOnceBothAreBack(_ order: [String]) {
        let world = World.call(asksForTokens: true)
        let ids = [world.id("publisher"), world.id("viewer")]
        world.restart()
        for name in order {
            world.pass(.seconds(4))
            world.join(name)
        }
        #expect([world.id("publisher"), world.id("viewer")] == ids)
        #expect(world.streams == ["camera"])
        // Of who is back after it the publisher hears again, since the server does not know that it was told.
        #expect(
            world.toldTypes("publisher") == (order[0] == "publisher" ? ["welcome", "participantJoined"] : ["welcome"]))
        // Who is back first has to be told of the stream.
        #expect(world.toldTypes("viewer") == (order[0] == "viewer" ? ["welcome", "streamPublished"] : ["welcome"]))
        #expect(world.isConnected())
        world.pass(.seconds(60))
        #expect(world.told("viewer") == [])
        #expect(world.participants == 2)
        #expect(world.directory.claims.isEmpty)
    }

    @Test func aViewerWhosePublisherDoesNotComeBackIsToldAfterTheGraceTime() {
        let world = World.call()
        world.restart()
        world.join("viewer")
        #expect(world.toldTypes("viewer") == ["welcome"])
        // What it says meanwhile to who is not back yet is no mistake of its.
        world.say(.candidate(subscription: World.subscription, candidate: .endOfCandidates), "viewer")
        #expect(world.told("viewer") == [])
        world.pass(.seconds(10))
        #expect(world.told("viewer") == [.subscriptionEnded(subscription: World.subscription, reason: .signalingLost)])
        #expect(world.directory.nextDeadline == nil)
    }

    @Test func aPublisherWhoseViewerDoesNotComeBackHasNoGhost() {
        let world = World.call()
        world.restart()
        world.join("publisher")
        world.pass(.seconds(10))
        #expect(
            world.toldTypes("publisher") == ["welcome", "subscriptionEnded"])
        #expect(world.participants == 1)
    }

    @Test func aClaimIsTakenBackWithItsSubscriptionAndWithItsOwner() {
        let world = World.call()
        world.restart()
        world.join("viewer")
        world.say(.bye(subscription: World.subscription, reason: .bye), "viewer")
        #expect(world.directory.claims.isEmpty)
        world.join("publisher")
        world.lose("publisher")
        world.pass(.seconds(10))
        #expect(world.directory.claims.isEmpty)
        #expect(world.participants == 1)
    }

    @Test func whoBreaksAgainInTheMiddleOfARestartKeepsItsClaim() {
        let world = World.call()
        world.restart()
        world.join("viewer")
        world.lose("viewer")
        world.join("publisher")
        world.join("viewer")
        #expect(world.isConnected())
    }

    @Test func aServerWithAnotherKeyTakesThemForStrangers() {
        let world = World.call()
        let id = world.id("publisher")
        world.restart(by: SecretFile(Array("another secret of thirty-two bytes".utf8)))
        world.join("publisher")
        #expect(world.id("publisher") != id)
        #expect(world.streams == [])
        world.say(.publish(stream: "camera"), "publisher")
        #expect(world.streams == ["camera"])
    }

    @Test func receiversOfEncodersComeBackToo() {
        let world = World()
        world.join("receiver")
        world.say(.receive(stream: nil), "receiver")
        world.say(.receive(stream: "studio"), "receiver")
        world.restart()
        world.join("receiver")
        #expect(world.directory.receivedStream(in: "demo", named: "studio") == "studio")
        #expect(world.directory.receivedStream(in: "demo", named: "anything") == "anything")
        world.lose("receiver")
        world.say(.stopReceiving(stream: nil), "receiver")
        world.join("receiver")
        #expect(world.directory.receivedStream(in: "demo", named: "studio") == "studio")
        #expect(world.directory.receivedStream(in: "demo", named: "anything") == nil)
    }

    @Test func aNameThatAnotherTookMeanwhileIsToldAndNotAskedForAgain() {
        let world = World()
        world.join("receiver")
        world.say(.receive(stream: "studio"), "receiver")
        world.say(.receive(stream: nil), "receiver")
        world.lose("receiver")
        world.join("other")
        world.say(.receive(stream: "studio"), "other")
        _ = world.told("receiver")
        world.join("receiver")
        let refusals = world.told("receiver").compactMap { if case .error(let error) = $0 { error } else { nil } }
        #expect(refusals.map(\.code) == [.streamTaken])
        #expect(refusals.map(\.stream) == ["studio"])
        #expect(refusals.map(\.inReplyTo) == ["receive"])
        world.say(.leave, "other")
        world.restart()
        world.join("receiver")
        #expect(world.told("receiver").contains(.receiving(stream: nil)))
        #expect(world.directory.receivedStream(in: "demo", named: nil) == "main")
    }

    // MARK: Who is let back

    @Test func twoThatResumeAtOnceAreOneAndTheLastOneStays() {
        let world = World.call()
        world.lose("publisher")
        world.clients["twin"] = world.clients["publisher"]
        world.join("publisher")
        world.join("twin")
        #expect(world.clients["publisher"]?.isClosed == true)
        #expect(world.told("publisher").last.map(Self.code) == .takenOver)
        #expect(world.participants == 2)
        #expect(world.streams == ["camera"])
        // What the first still says reaches nobody.
        world.say(.unpublish(stream: "camera"), "publisher")
        #expect(world.streams == ["camera"])
        world.clients["publisher"] = world.clients["twin"]
        world.clients["twin"] = nil
        #expect(world.isConnected())
    }

    @Test func aForgedSecretAnotherRoomAndAnotherIdAreAStrangers() throws {
        let world = World.call(asksForTokens: true)
        let join = world.clients["publisher"]?.memory.opened(room: "demo", token: nil)
        guard case .join(_, _, _, let resumption?)? = join else {
            Issue.record("no secret")
            return
        }
        let viewer = try #require(world.id("viewer"))
        let text = resumption.secret.text
        let forged = BearerToken(String(text.dropLast(2)) + (text.hasSuffix("AA") ? "BB" : "AA"))
        for (room, attempt) in [
            ("demo", SessionResumption(id: resumption.id, secret: forged)),
            ("demo", SessionResumption(id: viewer, secret: resumption.secret)),
            ("other", resumption),
            // A token of the room is no secret of a session, whatever it says of its bearer.
            (
                "demo",
                SessionResumption(
                    id: viewer,
                    secret: AccessTokenTests.key.sign(
                        AccessClaims(
                            room: "demo", role: .publisher, exp: AccessTokenTests.now + 60, participant: viewer))
                        ?? forged)
            ),
        ] {
            let connection = world.directory.connect(allowedRoom: room)
            world.directory.handle(
                .join(version: 1, room: room, resume: attempt), from: connection, now: world.now)
            var outputs: [World.Directory.Output] = []
            while let output = world.directory.pollOutput() { outputs.append(output) }
            #expect(outputs.count == 2)
            #expect(outputs.last == .close(connection))
            guard case .send(let message, _)? = outputs.first else { continue }
            #expect(Self.code(message) == .unauthorized)
        }
        #expect(world.told("publisher") == [])
        #expect(world.told("viewer") == [])
    }

    @Test func aTokenThatHasRunOutStaysOutAndANewerOneCounts() {
        final class Clock: Sendable {
            // Read and set by the one thread of the test.
            nonisolated(unsafe) var time = AccessTokenTests.now
        }
        let clock = Clock()
        let world = World(asksForTokens: true, unixTime: { clock.time })
        world.clients["guest"] = World.Client(token: AccessTests.token(.publisher, exp: AccessTokenTests.now + 3600))
        world.join("guest")
        let id = world.id("guest")
        clock.time += 3600 + 61
        world.lose("guest")
        world.join("guest")
        #expect(world.told("guest").last.map(Self.code) == .unauthorized)
        #expect(world.clients["guest"]?.isClosed == true)
        // With a newer token it is let in, as somebody else: the secret has run out, too.
        world.clients["guest"]?.token = AccessTests.token(.subscriber, exp: clock.time + 3600)
        world.join("guest")
        #expect(world.toldTypes("guest") == ["welcome"])
        #expect(world.id("guest") != id)
        // A newer token within the time of the secret says what may be done from now on.
        world.lose("guest")
        world.clients["guest"]?.token = AccessTests.token(.publisher, stream: "camera", exp: clock.time + 7200)
        let second = world.id("guest")
        world.join("guest")
        #expect(world.id("guest") == second)
        world.say(.publish(stream: "camera"), "guest")
        #expect(world.streams == ["camera"])
        // And a newer one may allow less.
        world.lose("guest")
        world.clients["guest"]?.token = AccessTests.token(.subscriber, exp: clock.time + 7200)
        world.join("guest")
        #expect(world.id("guest") == second)
        #expect(world.streams == [])
    }

    @Test func alsoWhereNobodyIsWaitedForARestartedServerWaitsForTheOtherSide() {
        var limits = ServerLimits()
        limits.resumeGrace = .zero
        let world = World.call(limits: limits)
        world.restart()
        world.join("viewer")
        world.pass(.seconds(4))
        world.join("publisher")
        #expect(world.isConnected())
    }

    @Test func aSubscriberDoesNotPublishByClaimingThatItDid() {
        let world = World.call(asksForTokens: true)
        world.restart()
        guard case .join(_, _, _, var resumption?)? = world.clients["viewer"]?.memory.opened(room: "demo", token: nil)
        else {
            Issue.record("no secret")
            return
        }
        resumption.holdings?.publishes = ["camera"]
        resumption.holdings?.sending = ["camera": [World.subscription]]
        let connection = world.directory.connect(allowedRoom: "demo")
        world.directory.handle(.join(version: 1, room: "demo", resume: resumption), from: connection, now: world.now)
        #expect(world.streams == [])
        world.clients["viewer"]?.connection = connection
        world.drain()
        world.join("publisher")
        #expect(world.streams == ["camera"])
    }

    @Test func secretsAreNotPrinted() {
        let world = World.call()
        guard case .join(_, _, _, let resumption?)? = world.clients["viewer"]?.memory.opened(room: "demo", token: nil)
        else {
            Issue.record("no secret")
            return
        }
        var printed = ""
        dump(resumption, to: &printed)
        printed += "\(resumption) \(String(reflecting: resumption))"
        #expect(!printed.contains(resumption.secret.text))
    }

    static func code(_ message: SignalingMessage) -> SignalingError.Code? {
        if case .error(let error) = message { error.code } else { nil }
    }
}
