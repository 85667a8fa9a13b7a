import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// Who may do what in rooms that ask for a token, by websocket and by WHEP; in virtual time and without sockets.
@Suite struct AccessTests {
    typealias Core = ServerCoreTests.Core
    typealias World = ServerCoreTests.World

    static let offer = ServerCoreTests.offer

    static func token(
        _ role: AccessRole, room: String = "demo", stream: String? = nil, data: String? = nil,
        exp: Double = AccessTokenTests.now + 60
    ) -> BearerToken? {
        AccessTokenTests.key.sign(AccessClaims(room: room, role: role, stream: stream, exp: exp, data: data))
    }

    static func world(iceServers: ICEServerList = ICEServerList()) -> World {
        var settings = Core.Settings()
        settings.access = AccessPolicy(key: AccessTokenTests.key, unixTime: { AccessTokenTests.now })
        settings.iceServers = iceServers
        return World(core: Core(random: CountingGenerator(), settings: settings))
    }

    static func join(
        _ world: inout World, _ token: BearerToken?, room: String = "demo"
    ) throws -> Core.ConnectionID {
        let connection = world.core.opened(room: room, now: world.now)
        try world.say(.join(version: 1, room: room, token: token), connection)
        return connection
    }

    static func error(_ messages: [SignalingMessage]?) -> SignalingError? {
        guard case .error(let error)? = messages?.last else { return nil }
        return error
    }

    static func welcome(_ messages: [SignalingMessage]?) -> [StreamDescription]? {
        guard case .welcome(_, _, _, let streams, _, _)? = messages?.first else { return nil }
        return streams
    }

    // MARK: Joining

    @Test func whoHasNoTokenIsSentAwayAndWhoHasOneIsLetIn() throws {
        var world = Self.world()
        let stranger = try Self.join(&world, nil)
        #expect(Self.error(world.messages[stranger])?.code == .unauthorized)
        #expect(world.closed == [stranger])
        let guest = try Self.join(&world, Self.token(.subscriber))
        #expect(Self.welcome(world.messages[guest]) == [])
        #expect(world.admitted == [guest])
    }

    @Test func aTokenMayComeWithTheRequestAndTheOneOfTheMessageCounts() throws {
        var world = Self.world()
        let early = world.core.opened(room: "demo", token: Self.token(.subscriber), now: world.now)
        try world.say(.join(version: 1, room: "demo"), early)
        #expect(Self.welcome(world.messages[early]) != nil)
        let wrong = world.core.opened(room: "demo", token: Self.token(.subscriber), now: world.now)
        try world.say(.join(version: 1, room: "demo", token: BearerToken("x")), wrong)
        #expect(Self.error(world.messages[wrong])?.code == .unauthorized)
    }

    @Test func anExpiredTokenIsToldFromAWrongOne() throws {
        var world = Self.world()
        let late = try Self.join(&world, Self.token(.subscriber, exp: AccessTokenTests.now - 61))
        #expect(Self.error(world.messages[late])?.message.contains("expired") == true)
    }

    @Test func aRoomThatIsNotThereAndOneThatIsForbiddenAnswerAlike() throws {
        var world = Self.world()
        _ = try Self.join(&world, Self.token(.publisher))
        var answers: Set<[UInt8]> = []
        for room in ["demo", "nowhere"] {
            for token in [
                nil, BearerToken("x"), Self.token(.subscriber, room: "third"), Self.token(.moderator, room: "demo2"),
            ] {
                let connection = world.core.opened(room: room, now: world.now)
                world.core.received(
                    SignalingMessage.join(version: 1, room: room, token: token).json(), from: connection, now: world.now
                )
                while let output = world.core.pollOutput() {
                    if case .send(let bytes, connection) = output { answers.insert(bytes) }
                }
                let request = HTTPRequest(
                    method: .post, path: "/whep/\(room)", contentType: "application/sdp", token: token,
                    body: Array(Self.offer.utf8))
                let id = HTTPRequestID(number: 1)
                world.core.requested(request, id: id, now: world.now)
                guard case .respond(let response, id)? = world.core.pollOutput() else {
                    Issue.record("no response")
                    return
                }
                #expect(response.status == 401)
                answers.insert(response.serialized(head: false, keepAlive: true))
            }
        }
        // One for websocket, one for WHEP.
        #expect(answers.count == 2)
    }

    @Test func neitherTellsByItsTimeWhichItIs() throws {
        var world = Self.world()
        for number in 0..<200 {
            _ = try Self.join(&world, Self.token(.subscriber, room: "room\(number)"), room: "room\(number)")
        }
        let token = Self.token(.subscriber, room: "other")
        func time(_ room: String) throws -> Duration {
            let connection = world.core.opened(room: room, now: world.now)
            let message = SignalingMessage.join(version: 1, room: room, token: token).json()
            let start = ContinuousClock.now
            world.core.received(message, from: connection, now: world.now)
            let time = ContinuousClock.now - start
            try world.drain()
            world.core.closed(connection, now: world.now)
            return time
        }
        var there: [Duration] = []
        var nowhere: [Duration] = []
        // By turns, so that whatever else the machine does meets both.
        for _ in 0..<300 {
            there.append(try time("room7"))
            nowhere.append(try time("room_"))
        }
        guard isTimingJudged else { return }
        let medians = [there, nowhere].map { $0.sorted()[150] }
        #expect(medians[0] < medians[1] * 1.5 && medians[1] < medians[0] * 1.5, "\(medians)")
    }

    // MARK: Roles

    @Test(
        arguments: [
            (AccessRole.subscriber, nil, "camera", false), (.subscriber, "camera", "camera", false),
            (.publisher, "camera", "camera", true), (.publisher, "camera", "screen", false),
            (.publisher, nil, "screen", true),
            (.moderator, nil, "camera", true), (.moderator, "camera", "screen", false),
        ] as [(AccessRole, String?, String, Bool)])
    func aRolePublishesWhatItMay(_ role: AccessRole, _ own: String?, _ stream: String, _ isAllowed: Bool) throws {
        var world = Self.world()
        let watcher = try Self.join(&world, Self.token(.subscriber))
        let connection = try Self.join(&world, Self.token(role, stream: own))
        try world.say(.publish(stream: stream), connection)
        #expect(Self.error(world.messages[connection])?.code == (isAllowed ? nil : .notAllowed))
        let isLive =
            world.messages[watcher]?.contains { if case .streamPublished = $0 { true } else { false } } ?? false
        #expect(isLive == isAllowed)
        #expect(!world.closed.contains(connection))
    }

    @Test(
        arguments: [
            (AccessRole.subscriber, nil, nil, false), (.subscriber, "camera", "camera", false),
            (.publisher, nil, nil, true),
            (.publisher, nil, "camera", true), (.publisher, "camera", "camera", true),
            (.publisher, "camera", "screen", false),
            (.publisher, "camera", nil, false), (.moderator, nil, nil, true),
        ] as [(AccessRole, String?, String?, Bool)])
    func whoMayPublishMayReceiveFromEncoders(
        _ role: AccessRole, _ own: String?, _ stream: String?, _ isAllowed: Bool
    ) throws {
        var world = Self.world()
        let connection = try Self.join(&world, Self.token(role, stream: own))
        try world.say(.receive(stream: stream), connection)
        #expect(Self.error(world.messages[connection])?.code == (isAllowed ? nil : .notAllowed))
    }

    @Test func anEncoderSendsTheStreamOfItsToken() throws {
        var world = Self.world()
        let receiver = try Self.join(&world, Self.token(.publisher))
        try world.say(.receive(stream: nil), receiver)
        let offer = Self.offer.replacing("recvonly", with: "sendonly")
        for (token, path, status) in [
            (nil, "/whip/demo", 401), (Self.token(.publisher, room: "other"), "/whip/demo", 401),
            (Self.token(.subscriber), "/whip/demo/camera", 403),
            (Self.token(.publisher, stream: "camera"), "/whip/demo/screen", 403),
        ] {
            let id = try Self.ask(&world, .post, path, token, type: "application/sdp", offer)
            #expect(world.responses[id]?.status == status)
        }
        _ = try Self.ask(
            &world, .post, "/whip/demo", Self.token(.publisher, stream: "camera"), type: "application/sdp", offer)
        guard case .ingest(_, "camera", _)? = world.messages[receiver]?.last else {
            Issue.record("the receiver was not asked")
            return
        }
    }

    @Test func everyRoleMayWatch() throws {
        var world = Self.world()
        let publisher = try Self.join(&world, Self.token(.publisher))
        try world.say(.publish(stream: "camera"), publisher)
        for (index, role) in AccessRole.all.enumerated() {
            let viewer = try Self.join(&world, Self.token(role))
            try world.say(.subscribe(subscription: "0123456789abcde\(index)", stream: "camera", sdp: "v=0"), viewer)
            #expect(Self.error(world.messages[viewer]) == nil)
        }
        #expect(world.messages[publisher]?.count { if case .subscribe = $0 { true } else { false } } == 3)
    }

    @Test func whatATokenSaysOfItsBearerIsToldToTheOthers() throws {
        var world = Self.world()
        let watcher = try Self.join(&world, Self.token(.subscriber))
        let publisher = try Self.join(&world, Self.token(.publisher, data: "Ana"))
        try world.say(.publish(stream: "camera"), publisher)
        guard case .streamPublished(let stream)? = world.messages[watcher]?.last else {
            Issue.record("not told")
            return
        }
        #expect(stream.data == "Ana")
        let late = try Self.join(&world, Self.token(.subscriber, data: "{\"name\":\"Bo\"}"))
        #expect(Self.welcome(world.messages[late])?.first?.data == "Ana")
        guard case .participantJoined(_, let data)? = world.messages[publisher]?.last else {
            Issue.record("not told")
            return
        }
        #expect(data == "{\"name\":\"Bo\"}")
    }

    // MARK: WHEP

    static func ask(
        _ world: inout World, _ method: HTTPRequest.Method, _ path: String, _ token: BearerToken?, type: String? = nil,
        _ body: String = ""
    ) throws -> HTTPRequestID {
        world.requests += 1
        let id = HTTPRequestID(number: world.requests)
        world.core.requested(
            HTTPRequest(method: method, path: path, contentType: type, token: token, body: Array(body.utf8)), id: id,
            now: world.now)
        try world.drain()
        return id
    }

    @Test func aPlayerNeedsATokenFromOfferToEnd() throws {
        var world = Self.world(
            iceServers: ICEServerList([ICEServerDescription(urls: ["turn:t.test"], username: "u", credential: "c")]))
        let publisher = try Self.join(&world, Self.token(.publisher))
        try world.say(.publish(stream: "camera"), publisher)
        let own = Self.token(.subscriber)
        let foreign = Self.token(.moderator, room: "other")
        // Long over; what it began it may end.
        let expired = Self.token(.subscriber, exp: 1)
        let sdp = "application/sdp"
        for token in [nil, foreign, expired] {
            let id = try Self.ask(&world, .post, "/whep/demo", token, type: sdp, Self.offer)
            #expect(world.responses[id]?.status == 401)
            #expect(world.responses[id]?.header("WWW-Authenticate") == "Bearer")
            #expect(world.responses[id]?.header("Link") == nil)
        }
        let id = try Self.ask(&world, .post, "/whep/demo", own, type: sdp, Self.offer)
        guard case .subscribe(let subscription, _, _)? = world.messages[publisher]?.last else {
            Issue.record("the publisher was not asked")
            return
        }
        try world.say(.answer(subscription: subscription, sdp: "v=0"), publisher)
        #expect(world.responses[id]?.status == 201)
        #expect(world.responses[id]?.header("Link")?.contains("turn:t.test") == true)
        let session = try #require(world.responses[id]?.header("Location"))
        for token in [nil, foreign] {
            #expect(world.responses[try Self.ask(&world, .patch, session, token)]?.status == 401)
            #expect(world.responses[try Self.ask(&world, .delete, session, token)]?.status == 401)
        }
        #expect(world.responses[try Self.ask(&world, .delete, session, expired)]?.status == 200)
    }

    @Test func whoMayAskForARoomLearnsThatItIsNotThere() throws {
        var world = Self.world()
        let id = try Self.ask(
            &world, .post, "/whep/demo", Self.token(.subscriber), type: "application/sdp", Self.offer)
        #expect(world.responses[id]?.status == 404)
    }

    @Test func serversAreToldToWhoShowsAToken() throws {
        var world = Self.world(iceServers: ICEServerList([ICEServerDescription(urls: ["stun:s.test"])]))
        let own = Self.token(.subscriber)
        #expect(world.responses[try Self.ask(&world, .options, "/whep/demo", nil)]?.header("Link") == nil)
        #expect(world.responses[try Self.ask(&world, .options, "/whep/demo", nil)]?.status == 204)
        #expect(world.responses[try Self.ask(&world, .options, "/whep/demo", own)]?.header("Link") != nil)
        #expect(world.responses[try Self.ask(&world, .options, "/whep/other", own)]?.header("Link") == nil)
        // What an expired token may still do in a session is none of it.
        let expired = Self.token(.subscriber, exp: 1)
        for path in ["/whep/demo", "/whep/demo/camera", "/whep/demo/camera/session"] {
            #expect(world.responses[try Self.ask(&world, .options, path, expired)]?.header("Link") == nil)
        }
    }

    // MARK: TURN

    @Test func turnCredentialsAreTheReceiversOwnAndEnd() throws {
        let servers = [ICEServerDescription(urls: ["stun:s.test"]), ICEServerDescription(urls: ["TURN:t.test"])]
        let list = ICEServerList(servers, secret: SecretFile(Array("north".utf8)), unixTime: { 1_000_000.9 })
        let told = list.servers(for: "a1")
        #expect(told[0] == servers[0])
        // By Python's hmac: base64(HMAC-SHA1("north", "1043200:a1")).
        #expect(
            told[1]
                == ICEServerDescription(
                    urls: ["TURN:t.test"], username: "1043200:a1", credential: "xooj+AizWXu9Cr1Y4t2rXUwusJ8="))
        var world = Self.world(iceServers: list)
        let names = try (0..<2).map { _ in
            let connection = try Self.join(&world, Self.token(.subscriber))
            guard case .welcome(_, let id, _, _, let servers, _)? = world.messages[connection]?.first else { return "" }
            #expect(servers[1].username?.hasSuffix(":\(id)") == true)
            return servers[1].username ?? ""
        }
        #expect(names[0] != names[1])
    }

    // MARK: Pages

    @Test func roomsAreNotListedToStrangers() throws {
        var world = Self.world()
        let publisher = try Self.join(&world, Self.token(.publisher))
        try world.say(.publish(stream: "camera"), publisher)
        let page = String(decoding: world.responses[try world.ask(.get, "/")]?.body ?? [], as: UTF8.self)
        #expect(!page.contains("demo"))
        #expect(page.contains("not listed"))
    }
}
