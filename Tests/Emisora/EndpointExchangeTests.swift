import EmisoraCore
import EmisoraHTTPClient
import EmisoraSignalingClient
import EmisoraSignalingProtocol
import Testing

@testable import Emisora

/// The client's side of WHIP and WHEP, in virtual time and without a network.
@Suite struct EndpointExchangeTests {
    static let offer =
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n"
        + "a=mid:0\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789abcdef012345\r\na=sendonly\r\n"
        + "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\na=end-of-candidates\r\n"
    static let answer =
        "v=0\r\no=- 2 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\n"
        + "a=ice-ufrag:wxyz\r\na=ice-pwd:987654321098765432109876\r\na=recvonly\r\n"
        + "a=candidate:1 1 udp 1 192.0.2.2 9 typ host\r\n"

    struct Seeded: RandomNumberGenerator, Sendable {
        var value: UInt64 = 1
        mutating func next() -> UInt64 {
            value &*= 0x9E37_79B9_7F4A_7C15
            return value
        }
    }

    struct World {
        var exchange: EndpointExchange
        var now = Instant.zero
        let endpoint: HTTPURL

        init(token: String? = "secret", takesICEServers: Bool = true) throws {
            endpoint = try #require(HTTPURL("https://whip.test/whip/studio"))
            exchange = EndpointExchange(
                settings: .init(endpoint: endpoint, token: token, takesICEServers: takesICEServers),
                random: RandomSource(Seeded()))
            exchange.start()
        }

        mutating func events() -> [SignalingClientEvent] {
            var events: [SignalingClientEvent] = []
            while let event = exchange.pollEvent() { events.append(event) }
            return events
        }

        mutating func messages() -> [SignalingMessage] {
            events().compactMap { if case .message(let message) = $0 { message } else { nil } }
        }

        mutating func say(_ message: SignalingMessage) { exchange.handle(message, now: now) }

        /// Publishes, and gives the id of the session's offer.
        mutating func publish() throws -> String {
            _ = events()
            say(.publish(stream: "main"))
            guard case .subscribe(let id, "main", "")? = messages().last else {
                throw SignalingError(.malformedMessage, "the session was not asked for an offer")
            }
            say(.offer(subscription: id, sdp: EndpointExchangeTests.offer))
            return id
        }

        mutating func respond(
            _ status: Int, _ headers: [(name: String, value: String)] = [], _ body: String = "", sawToken: Bool = true
        ) {
            exchange.handle(
                .success(
                    HTTPClientResponse(
                        status: status, url: endpoint, sawToken: sawToken, headers: headers, body: Array(body.utf8))),
                now: now)
        }

        mutating func created(_ headers: [(name: String, value: String)] = [], sawToken: Bool = true) {
            respond(
                201, [("Content-Type", "application/sdp"), ("Location", "/s/1"), ("ETag", "\"one\"")] + headers,
                EndpointExchangeTests.answer, sawToken: sawToken)
        }

        /// A stream that is published, with nothing left to send.
        mutating func live() throws -> String {
            let id = try publish()
            _ = exchange.nextRequest()
            created()
            _ = exchange.nextRequest()
            respond(204)
            _ = events()
            return id
        }

        mutating func advance() throws {
            now = try #require(exchange.nextDeadline)
            exchange.handleTimeout(now: now)
        }

        mutating func request() throws -> HTTPClientRequest {
            let request = exchange.nextRequest()
            return try #require(request)
        }

        mutating func body() throws -> String {
            String(decoding: try request().body ?? [], as: UTF8.self)
        }
    }

    @Test("RFC 9725 §4.2: a stream is offered by POST and its answer taken from the 201") func publishing() throws {
        var world = try World()
        guard case .message(.welcome(_, _, _, let streams, _, _))? = world.events().last else {
            Issue.record("no welcome")
            return
        }
        #expect(streams.map(\.stream) == ["studio"])
        let id = try world.publish()
        let post = try world.request()
        #expect(post.method == "POST" && post.url == world.endpoint && post.token == "secret")
        #expect(post.header("Content-Type") == "application/sdp")
        // More may come, by servers that the 201 names.
        #expect(
            String(decoding: post.body ?? [], as: UTF8.self)
                == Self.offer.replacing("a=end-of-candidates\r\n", with: ""))
        #expect(world.exchange.nextRequest() == nil)
        world.created()
        #expect(
            world.messages() == [
                .answer(subscription: id, sdp: Self.answer),
                .streamPublished(StreamDescription(stream: "main", publisher: EndpointExchange.participant)),
            ])
        // Nobody names servers, so these were all.
        let patch = try world.request()
        #expect(patch.method == "PATCH" && patch.url.text == "https://whip.test/s/1" && patch.token == "secret")
        #expect(patch.header("If-Match") == "\"one\"")
        #expect(patch.header("Content-Type") == "application/trickle-ice-sdpfrag")
        #expect(
            String(decoding: patch.body ?? [], as: UTF8.self)
                == "a=group:BUNDLE 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\na=ice-ufrag:abcd\r\n"
                + "a=ice-pwd:0123456789abcdef012345\r\na=end-of-candidates\r\n")
    }

    @Test("RFC 9725 §4.3.2: candidates wait for the ETag and go out in one request") func trickling() throws {
        var world = try World(takesICEServers: false)
        let id = try world.publish()
        _ = world.exchange.nextRequest()
        for number in 2...4 {
            world.say(
                .candidate(
                    subscription: id,
                    candidate: TrickledCandidate(
                        candidate: "candidate:\(number) 1 udp 1 192.0.2.\(number) 9 typ srflx", sdpMid: "0",
                        sdpMLineIndex: 0, usernameFragment: number == 4 ? "other" : "abcd")))
        }
        #expect(world.exchange.nextRequest() == nil)
        world.created()
        let body = try world.body()
        #expect(body.contains("a=candidate:2 ") && body.contains("a=candidate:3 "))
        // That one is of before a restart.
        #expect(!body.contains("a=candidate:4 ") && !body.contains("a=candidate:1 "))
        // Once more after a fault, but not where the server takes none.
        world.respond(503)
        #expect(world.exchange.nextRequest() == nil)
        try world.advance()
        #expect(try world.body() == body)
        world.respond(405)
        world.say(.candidate(subscription: id, candidate: .endOfCandidates))
        #expect(world.exchange.nextRequest() == nil)
    }

    @Test(
        "RFC 9725 §4.3.3: a restart goes out with If-Match: *, and its credentials make the answer",
        arguments: [true, false])
    func restarting(bringsCandidates: Bool) throws {
        var world = try World()
        let id = try world.live()
        let renewed = Self.offer.replacing("abcd\r\n", with: "efgh\r\n")
        world.say(.offer(subscription: id, sdp: renewed))
        let patch = try world.request()
        #expect(patch.header("If-Match") == "*")
        let body = String(decoding: patch.body ?? [], as: UTF8.self)
        #expect(body.contains("a=ice-ufrag:efgh\r\n") && body.contains("a=candidate:1 "))
        let credentials = "a=ice-ufrag:stuv\r\na=ice-pwd:aaaaaaaaaaaaaaaaaaaaaaaa\r\n"
        let candidate = "m=video 9 x 0\r\na=mid:0\r\na=candidate:7 1 udp 1 192.0.2.7 9 typ host\r\n"
        world.respond(200, [("ETag", "\"two\"")], credentials + (bringsCandidates ? candidate : ""))
        guard case .answer(id, let answer)? = world.messages().last else {
            Issue.record("no answer")
            return
        }
        #expect(answer.contains("a=ice-ufrag:stuv\r\n") && !answer.contains("wxyz"))
        #expect(answer.contains("a=ice-pwd:aaaaaaaaaaaaaaaaaaaaaaaa\r\n"))
        #expect(answer.contains("a=candidate:7 ") == bringsCandidates)
        #expect(answer.contains("a=candidate:1 ") == !bringsCandidates)
        #expect(answer.contains("o=- 2 2 "))
        world.say(
            .candidate(
                subscription: id,
                candidate: TrickledCandidate(
                    candidate: "candidate:9 1 udp 1 192.0.2.9 9 typ host", sdpMLineIndex: 0, usernameFragment: "efgh")))
        #expect(world.exchange.nextRequest()?.header("If-Match") == "\"two\"")
    }

    @Test("RFC 9725 §4.3.3: only the answer to the last restart counts") func overlappingRestarts() throws {
        var world = try World()
        let id = try world.live()
        for name in ["efgh", "ijkl"] {
            world.say(.offer(subscription: id, sdp: Self.offer.replacing("abcd\r\n", with: "\(name)\r\n")))
            if name == "efgh" { _ = world.exchange.nextRequest() }
        }
        world.respond(200, [("ETag", "\"two\"")], "a=ice-ufrag:stuv\r\na=ice-pwd:aaaaaaaaaaaaaaaaaaaaaaaa\r\n")
        #expect(world.messages() == [])
        #expect(try world.body().contains("a=ice-ufrag:ijkl"))
    }

    @Test func aRefusedRestartChangesNothingAndAForgottenSessionIsBegunAnew() throws {
        var world = try World()
        let id = try world.live()
        for status in [405, 412, 500] {
            world.say(.offer(subscription: id, sdp: Self.offer))
            _ = world.exchange.nextRequest()
            world.respond(status)
            #expect(world.messages() == [])
        }
        world.say(.offer(subscription: id, sdp: Self.offer))
        _ = world.exchange.nextRequest()
        world.respond(404)
        #expect(world.messages() == [.subscriptionEnded(subscription: id, reason: .timedOut)])
        try world.advance()
        guard case .subscribe(let next, "main", "")? = world.messages().last else {
            Issue.record("no new session")
            return
        }
        #expect(next != id)
    }

    @Test("RFC 9725 §4.2: who leaves deletes the session, also one whose 201 came late") func leaving() throws {
        var world = try World()
        _ = try world.live()
        world.say(.leave)
        let deletion = try world.request()
        #expect(
            deletion.method == "DELETE" && deletion.url.text == "https://whip.test/s/1" && deletion.token == "secret")
        #expect(deletion.header("If-Match") == nil)
        world.respond(200)
        #expect(world.exchange.nextRequest() == nil)
        #expect(world.exchange.nextDeadline == nil)

        var late = try World()
        _ = try late.publish()
        _ = late.exchange.nextRequest()
        late.say(.unpublish(stream: "main"))
        late.created()
        #expect(late.exchange.nextRequest()?.method == "DELETE")
    }

    @Test("RFC 9725 §4.7: a session's address sees the token only if it was named by who saw it")
    func tokens() throws {
        var world = try World()
        _ = try world.publish()
        _ = world.exchange.nextRequest()
        // After a redirect to another origin.
        world.created(sawToken: false)
        #expect(world.exchange.nextRequest()?.token == nil)
        var downgraded = try World()
        _ = try downgraded.publish()
        _ = downgraded.exchange.nextRequest()
        downgraded.respond(
            201, [("Content-Type", "application/sdp"), ("Location", "http://whip.test/s/1")], Self.answer)
        guard case .error? = downgraded.messages().last else {
            Issue.record("a session without TLS was taken")
            return
        }
        #expect(downgraded.exchange.nextRequest() == nil)
    }

    @Test("RFC 9725 §4.6: servers in Link headers are handed on, and the end of candidates waits for them")
    func iceServers() throws {
        var world = try World()
        _ = try world.publish()
        _ = world.exchange.nextRequest()
        world.created([
            ("Link", "<stun:a.test>; rel=\"ice-server\", <https://help.test>; rel=help"),
            (
                "Link",
                "<turn:t.test?transport=udp>; rel=\"ice-server\"; username=\"a\\\"b\"; credential=c;credential-type=\"password\""
            ),
            ("Link", "<turn:o.test>; rel=ice-server; credential-type=oauth"), ("Link", "<turn:broken"),
            ("Link", "<stun:b>;"),
        ])
        guard case .iceServers(let servers)? = world.events().first else {
            Issue.record("no servers")
            return
        }
        #expect(
            servers == [
                ICEServerDescription(urls: ["stun:a.test"]),
                ICEServerDescription(urls: ["turn:t.test?transport=udp"], username: "a\"b", credential: "c"),
            ])
        #expect(world.exchange.nextRequest() == nil)
    }

    @Test func aProblemIsToldInTheServersWords() throws {
        var world = try World()
        let id = try world.publish()
        _ = world.exchange.nextRequest()
        world.respond(
            406, [("Content-Type", "application/problem+json")],
            #"{"title":"Not Acceptable","status":406,"detail":"H.264\u001b[31m\u009b7m\u202e alone\nis taken."}"#)
        #expect(
            world.messages() == [
                .subscriptionEnded(subscription: id, reason: .connectionFailed),
                .error(SignalingError(.init(rawValue: "406"), "H.264 [31m 7m alone is taken.", inReplyTo: "publish")),
            ])
        #expect(world.exchange.nextDeadline == nil)
    }

    @Test("RFC 9725 §4.5: Retry-After is honoured") func retryAfter() throws {
        var world = try World()
        let first = try world.publish()
        _ = world.exchange.nextRequest()
        world.respond(503, [("Retry-After", "7")])
        #expect(world.events().contains { if case .disconnected = $0 { true } else { false } })
        #expect(world.exchange.nextRequest() == nil)
        #expect(world.exchange.nextDeadline == world.now + .seconds(7))
        try world.advance()
        guard case .subscribe(let id, "main", "")? = world.messages().last else {
            Issue.record("no second attempt")
            return
        }
        #expect(id != first)
        world.say(.offer(subscription: id, sdp: Self.offer))
        _ = world.exchange.nextRequest()
        world.created()
        let messages = world.messages()
        #expect(messages.contains { if case .welcome = $0 { true } else { false } })
        #expect(messages.contains { if case .streamPublished = $0 { true } else { false } })
        // Longer than anyone waits for an announcement is a refusal that says so.
        var long = try World()
        _ = try long.publish()
        _ = long.exchange.nextRequest()
        long.respond(503, [("Retry-After", "600")])
        guard case .error(let error)? = long.messages().last else {
            Issue.record("no refusal")
            return
        }
        #expect(error.message.contains("600 s"))
    }

    @Test func whatWasPublishedComesBackAfterAnOutage() throws {
        var world = try World()
        let id = try world.live()
        world.say(.bye(subscription: id, reason: .connectionFailed))
        #expect(world.exchange.nextRequest()?.method == "DELETE")
        world.exchange.handle(.failure(.unreachable(url: "x", reason: "gone")), now: world.now)
        var waits: [Duration] = []
        for attempt in 0..<5 {
            let before = world.now
            try world.advance()
            waits.append(world.now - before)
            guard case .subscribe(let next, _, _)? = world.messages().last else {
                Issue.record("attempt \(attempt) was not made")
                return
            }
            world.say(.offer(subscription: next, sdp: Self.offer))
            #expect(world.exchange.nextRequest()?.method == "POST")
            world.exchange.handle(.failure(.unreachable(url: "x", reason: "gone")), now: world.now)
            let outages = world.events().count { if case .disconnected = $0 { true } else { false } }
            #expect(outages == (attempt == 0 ? 1 : 0))
        }
        #expect(waits == [1, 1, 2, 4, 5].map { .seconds($0) })
    }

    @Test func aPlayerOffersAndComesBackForAStreamThatIsNotThereYet() throws {
        var world = try World()
        _ = world.events()
        world.say(.subscribe(subscription: "viewer", stream: "studio", sdp: Self.offer))
        #expect(world.exchange.nextRequest()?.method == "POST")
        world.respond(409, [("Retry-After", "3"), ("Content-Type", "text/plain")], "nothing is live")
        let studio = StreamDescription(stream: "studio", publisher: EndpointExchange.participant)
        #expect(
            world.messages() == [
                .streamUnpublished(studio),
                .error(SignalingError(.init(rawValue: "409"), "nothing is live", subscription: "viewer")),
            ])
        #expect(world.exchange.nextDeadline == world.now + .seconds(3))
        try world.advance()
        #expect(world.messages() == [.streamPublished(studio)])
        world.say(.subscribe(subscription: "again", stream: "studio", sdp: Self.offer))
        _ = world.exchange.nextRequest()
        world.created()
        #expect(world.messages() == [.answer(subscription: "again", sdp: Self.answer)])
        // One that is refused for good is not announced again.
        var refused = try World()
        _ = refused.events()
        refused.say(.subscribe(subscription: "viewer", stream: "studio", sdp: Self.offer))
        _ = refused.exchange.nextRequest()
        refused.respond(401)
        #expect(refused.exchange.nextDeadline == nil)
    }

    @Test(
        arguments: [
            [("Content-Type", "application/sdp")], [("Location", "/s/1")],
            [("Location", "ftp://a/"), ("Content-Type", "application/sdp")],
        ] as [[(String, String)]])
    func anAnswerThatLacksSomethingIsRefused(_ headers: [(String, String)]) throws {
        var world = try World()
        _ = try world.publish()
        _ = world.exchange.nextRequest()
        world.respond(201, headers.map { (name: $0.0, value: $0.1) }, Self.answer)
        guard case .error? = world.messages().last else {
            Issue.record("it was taken")
            return
        }
    }
}
