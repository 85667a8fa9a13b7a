import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// WHEP and the clock, in virtual time and without sockets.
@Suite struct ServerCoreTests {
    typealias Core = ServerCore<CountingGenerator>

    static let offer = """
        v=0\r
        o=- 1 1 IN IP4 127.0.0.1\r
        s=-\r
        t=0 0\r
        m=video 9 UDP/TLS/RTP/SAVPF 96\r
        a=setup:actpass\r
        a=ice-ufrag:abcd\r
        a=mid:0\r
        a=recvonly\r

        """

    struct World {
        var core = Core(random: CountingGenerator())
        var now = Instant.zero
        var messages: [Core.ConnectionID: [SignalingMessage]] = [:]
        var closed: Set<Core.ConnectionID> = []
        /// Whose messages do not go out.
        var stalled: Set<Core.ConnectionID> = []
        var hungUp: Set<Core.ConnectionID> = []
        var admitted: Set<Core.ConnectionID> = []
        var responses: [HTTPRequestID: HTTPResponse] = [:]
        var requests: UInt64 = 0

        mutating func drain() throws {
            while let output = core.pollOutput() {
                switch output {
                case .send(let bytes, let to):
                    messages[to, default: []].append(try SignalingMessage(json: bytes))
                    if !stalled.contains(to) { core.sent(to: to) }
                case .hangUp(let connection): hungUp.insert(connection)
                case .close(let connection): closed.insert(connection)
                case .admitted(let connection): admitted.insert(connection)
                case .backplane: Issue.record("it stands alone")
                case .respond(let response, let id): responses[id] = response
                }
            }
        }

        mutating func publisher() throws -> Core.ConnectionID {
            let connection = core.opened(room: "demo", now: now)
            try say(.join(version: 1, room: "demo"), connection)
            try say(.publish(stream: "camera"), connection)
            messages[connection] = []
            return connection
        }

        mutating func say(_ message: SignalingMessage, _ connection: Core.ConnectionID) throws {
            core.received(message.json(), from: connection, now: now)
            try drain()
        }

        /// Who receives what encoders send under that name.
        mutating func receiver(_ stream: String? = "camera") throws -> Core.ConnectionID {
            let connection = core.opened(room: "demo", now: now)
            try say(.join(version: 1, room: "demo"), connection)
            try say(.receive(stream: stream), connection)
            #expect(messages[connection]?.last == .receiving(stream: stream))
            messages[connection] = []
            return connection
        }

        @discardableResult
        mutating func ask(
            _ method: HTTPRequest.Method, _ path: String, type: String? = nil, ifMatch: String? = nil,
            from address: IPAddress = .loopbackV4, _ body: String = ""
        ) throws -> HTTPRequestID {
            requests += 1
            let id = HTTPRequestID(number: requests)
            core.requested(
                HTTPRequest(
                    method: method, path: path, contentType: type, ifMatch: ifMatch, address: address,
                    body: Array(body.utf8)),
                id: id, now: now)
            try drain()
            return id
        }

        /// POSTs the offer; the request and the subscription the publisher was asked for.
        mutating func post(
            _ publisher: Core.ConnectionID, _ path: String = "/whep/demo", from address: IPAddress = .loopbackV4
        ) throws -> (
            HTTPRequestID, String
        ) {
            let id = try ask(.post, path, type: "application/sdp; charset=utf-8", from: address, ServerCoreTests.offer)
            guard case .subscribe(let subscription, "camera", ServerCoreTests.offer)? = messages[publisher]?.last else {
                throw SignalingError(
                    .malformedMessage, "the publisher was not asked: \(String(describing: responses[id]))")
            }
            return (id, subscription)
        }
    }

    static let trickling =
        "v=0\r\na=ice-options:trickle\r\nm=audio 9 x 0\r\na=mid:0\r\nm=video 9 x 0\r\na=mid:1\r\n"

    static func candidate(_ text: String) -> TrickledCandidate {
        TrickledCandidate(candidate: text, sdpMid: "0", sdpMLineIndex: 0)
    }

    @Test func anAnswerWaitsForTheCandidatesThatItsPublisherStillFinds() throws {
        var world = World()
        let publisher = try world.publisher()
        let (id, subscription) = try world.post(publisher)
        try world.say(.answer(subscription: subscription, sdp: Self.trickling), publisher)
        #expect(world.responses[id] == nil)
        // The second is no line by itself and would write others into the description.
        for text in [
            "candidate:1 1 udp 1 192.0.2.1 9 typ relay", "candidate:2 1 udp 1 192.0.2.2\r\na=x 9 typ host", "",
        ] {
            try world.say(.candidate(subscription: subscription, candidate: Self.candidate(text)), publisher)
        }
        let response = try #require(world.responses[id])
        #expect(response.status == 201)
        #expect(
            String(decoding: response.body, as: UTF8.self)
                == Self.trickling.replacing(
                    "m=video",
                    with: "a=candidate:1 1 udp 1 192.0.2.1 9 typ relay\r\na=end-of-candidates\r\nm=video"))
    }

    @Test func anAnswerWhoseCandidatesDoNotEndGoesOutWithThoseThereAre() throws {
        var world = World()
        let publisher = try world.publisher()
        let (id, subscription) = try world.post(publisher)
        try world.say(.answer(subscription: subscription, sdp: Self.trickling), publisher)
        let candidate = Self.candidate("candidate:1 1 udp 1 192.0.2.1 9 typ host")
        try world.say(.candidate(subscription: subscription, candidate: candidate), publisher)
        let bound = world.now + .seconds(2)
        #expect(world.core.nextDeadline == bound)
        world.core.handleTimeout(now: bound - .milliseconds(1))
        try world.drain()
        #expect(world.responses[id] == nil)
        world.core.handleTimeout(now: bound)
        try world.drain()
        let response = try #require(world.responses[id])
        #expect(response.status == 201)
        #expect(String(decoding: response.body, as: UTF8.self).contains("a=\(candidate.candidate)\r\n"))
        #expect(world.core.nextDeadline == nil)
    }

    @Test func anAnswerThatCameLateWaitsForCandidatesNoLongerThanTheClientDoes() throws {
        var world = World()
        let publisher = try world.publisher()
        let (id, subscription) = try world.post(publisher)
        let end = world.now + .seconds(10)
        world.now = world.now + .seconds(9)
        try world.say(.answer(subscription: subscription, sdp: Self.trickling), publisher)
        #expect(world.core.nextDeadline == end)
        world.core.handleTimeout(now: end)
        try world.drain()
        #expect(world.responses[id]?.status == 201)
    }

    @Test func iceServersAreHandedOutToWhoJoinsAndToPlayers() throws {
        var settings = Core.Settings()
        let all = [
            ICEServerDescription(urls: ["stun:stun.test"]),
            ICEServerDescription(urls: ["turn:turn.test?transport=tcp"], username: "a\"b", credential: "c"),
        ]
        settings.iceServers = ICEServerList(all)
        var world = World(core: Core(random: CountingGenerator(), settings: settings))
        let connection = world.core.opened(room: "demo", now: world.now)
        try world.say(.join(version: 1, room: "demo"), connection)
        guard case .welcome(_, _, _, _, let servers, _)? = world.messages[connection]?.first else {
            Issue.record("no welcome")
            return
        }
        #expect(servers == all)
        let options = world.responses[try world.ask(.options, "/whep/demo")]
        #expect(
            options?.headers.filter { $0.name == "Link" }.map(\.value) == [
                "<stun:stun.test>; rel=\"ice-server\"",
                "<turn:turn.test?transport=tcp>; rel=\"ice-server\"; username=\"a\\\"b\"; credential=\"c\"; "
                    + "credential-type=\"password\"",
            ])
    }

    @Test func aSilentPublisherIsAnErrorAfterTenSeconds() throws {
        var world = World()
        let publisher = try world.publisher()
        let (id, subscription) = try world.post(publisher)
        #expect(world.core.nextDeadline == world.now + .seconds(10))
        world.now = world.now + .milliseconds(9_999)
        world.core.handleTimeout(now: world.now)
        try world.drain()
        #expect(world.responses[id] == nil)
        world.now = world.now + .milliseconds(1)
        world.core.handleTimeout(now: world.now)
        try world.drain()
        #expect(world.responses[id]?.status == 504)
        #expect(world.responses[id]?.header("Content-Type") == "application/problem+json")
        #expect(
            world.messages[publisher]?.contains(.subscriptionEnded(subscription: subscription, reason: .timedOut))
                == true)
        #expect(world.core.nextDeadline == nil)
    }

    @Test(arguments: [
        (SubscriptionEndReason.noCommonCodec, 406), (.invalidOffer, 400), (.tooManySubscribers, 503), (.bye, 404),
    ])
    func aRefusalOfThePublisherIsAStatus(_ reason: SubscriptionEndReason, _ status: Int) throws {
        var world = World()
        let publisher = try world.publisher()
        let (id, subscription) = try world.post(publisher)
        try world.say(.bye(subscription: subscription, reason: reason), publisher)
        #expect(world.responses[id]?.status == status)
    }

    @Test func anHTTPClientThatGoesAwayIsTakenOut() throws {
        var world = World()
        let publisher = try world.publisher()
        let (id, subscription) = try world.post(publisher)
        world.core.abandoned(id)
        try world.drain()
        #expect(
            world.messages[publisher]?.contains(.subscriptionEnded(subscription: subscription, reason: .left)) == true)
    }

    @Test(arguments: [
        (HTTPRequest.Method.post, "/whep/other", "application/sdp", offer, 404),
        (.post, "/whep/demo/other", "application/sdp", offer, 404),
        (.post, "/whep/demo", "application/json", offer, 415), (.post, "/whep/demo", "", offer, 415),
        (.post, "/whep/demo", "application/sdp", "hello", 400), (.post, "/whep/demo", "application/sdp", "", 400),
        (.post, "/whep/demo", "application/sdp", offer.replacing("actpass", with: "passive"), 400),
        (.post, "/whep/demo", "application/sdp", offer.replacing("recvonly", with: "sendonly"), 400),
        (.put, "/whep/demo", "", "", 405), (.delete, "/whep/demo", "", "", 405), (.patch, "/whep/demo", "", "", 405),
        (.post, "/whep/demo/camera/x", "application/sdp", offer, 405), (.options, "/whep/demo", "", "", 204),
        (.get, "/whep/demo", "", "", 204), (.get, "/whep/../demo", "", "", 404), (.get, "/whep//", "", "", 404),
        (.get, "/", "", "", 200), (.head, "/", "", "", 200), (.get, "/demo", "", "", 200),
        (.get, "/whip", "", "", 404), (.post, "/whip/demo", "", "", 415), (.put, "/whip/demo", "", "", 405),
        (.get, "/assets", "", "", 404), (.get, "/assets/../../etc/passwd", "", "", 404),
        (.get, "/a b", "", "", 404), (.post, "/", "", "", 405), (.delete, "/demo", "", "", 405),
        (.get, "", "", "", 200),
    ])
    func requestsGetTheirStatus(
        _ method: HTTPRequest.Method, _ path: String, _ type: String, _ body: String, _ status: Int
    ) throws {
        var world = World()
        let publisher = try world.publisher()
        let id = try world.ask(method, path, type: type.isEmpty ? nil : type, body)
        #expect(world.responses[id]?.status == status)
        #expect(world.messages[publisher] == [])
    }

    @Test func whoDoesNotJoinIsSentAway() throws {
        var world = World()
        let connection = world.core.opened(room: "demo", now: world.now)
        world.now = try #require(world.core.nextDeadline)
        world.core.handleTimeout(now: world.now)
        try world.drain()
        #expect(world.closed == [connection])
        #expect(world.core.nextDeadline == nil)
    }

    @Test func aFloodIsCutOffAndOthersGoOn() throws {
        var world = World()
        let publisher = try world.publisher()
        let flooder = world.core.opened(room: "demo", now: world.now)
        for _ in 0..<600 { world.core.received(Array("{}".utf8), from: flooder, now: world.now) }
        try world.drain()
        #expect(world.closed == [flooder])
        #expect(world.messages[flooder]?.count == 501)
        #expect(RoomDirectoryTests.errorCode(world.messages[flooder]) == .tooManyMessages)
        let (_, subscription) = try world.post(publisher)
        #expect(!subscription.isEmpty)
    }
}
