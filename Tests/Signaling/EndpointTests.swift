import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// WHIP and WHEP by the rules of RFC 9725, which the draft of WHEP has alike: in virtual time and without sockets.
@Suite struct EndpointTests {
    static let fragmentType = "application/trickle-ice-sdpfrag"
    static let kinds: [EndpointKind] = [.whip, .whep]

    static func offer(_ kind: EndpointKind) -> String {
        """
        v=0\r
        o=- 7 1 IN IP4 127.0.0.1\r
        s=-\r
        t=0 0\r
        a=group:BUNDLE 0 1\r
        m=audio 9 UDP/TLS/RTP/SAVPF 111\r
        a=setup:actpass\r
        a=ice-ufrag:abcd\r
        a=ice-pwd:0123456789abcdef012345\r
        a=candidate:1 1 udp 1 192.0.2.9 9 typ host\r
        a=mid:0\r
        a=\(kind.clientSends ? "sendonly" : "recvonly")\r
        m=video 0 UDP/TLS/RTP/SAVPF 96\r
        a=bundle-only\r
        a=ice-ufrag:abcd\r
        a=ice-pwd:0123456789abcdef012345\r
        a=mid:1\r
        a=\(kind.clientSends ? "sendrecv" : "recvonly")\r

        """
    }

    static let answer = """
        v=0\r
        o=- 9 1 IN IP4 127.0.0.1\r
        s=-\r
        t=0 0\r
        a=group:BUNDLE 0 1\r
        m=audio 9 UDP/TLS/RTP/SAVPF 111\r
        a=mid:0\r
        a=ice-ufrag:wxyz\r
        a=ice-pwd:987654321098765432109876\r
        a=fingerprint:sha-256 00\r
        a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r
        a=end-of-candidates\r
        m=video 9 UDP/TLS/RTP/SAVPF 96\r
        a=mid:1\r

        """

    static func fragment(_ usernameFragment: String = "abcd") -> String {
        "a=ice-ufrag:\(usernameFragment)\r\na=ice-pwd:0123456789abcdef012345\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n"
            + "a=mid:0\r\na=candidate:1 1 udp 1 192.0.2.2 9 typ host\r\na=end-of-candidates\r\n"
    }

    /// A room with a publisher and a receiver, and a session whose other side is one of them.
    struct Scene {
        var world = ServerCoreTests.World()
        let kind: EndpointKind
        let partner: ServerCoreTests.Core.ConnectionID

        init(_ kind: EndpointKind, settings: ServerCoreTests.Core.Settings = .init()) throws {
            self.kind = kind
            world.core = .init(random: CountingGenerator(), settings: settings)
            partner = try kind == .whep ? world.publisher() : world.receiver()
        }

        /// POSTs an offer: the request, and the session's id where the partner was asked.
        mutating func post(_ offer: String? = nil, _ path: String? = nil) throws -> (HTTPRequestID, String?) {
            world.messages[partner] = []
            let id = try world.ask(
                .post, path ?? "/\(kind.rawValue)/demo", type: "application/sdp", offer ?? EndpointTests.offer(kind))
            switch world.messages[partner]?.last {
            case .subscribe(let session, _, _), .ingest(let session, _, _): return (id, session)
            default: return (id, nil)
            }
        }

        /// A session that was answered.
        mutating func start() throws -> (path: String, id: String, etag: String) {
            let (request, id) = try post()
            let session = try #require(id)
            try world.say(.answer(subscription: session, sdp: EndpointTests.answer), partner)
            let response = try #require(world.responses[request])
            #expect(response.status == 201)
            world.messages[partner] = []
            return (
                try #require(response.header("Location")), session, try #require(response.header("ETag"))
            )
        }

        mutating func patch(
            _ path: String, _ body: String, ifMatch: String?, type: String = EndpointTests.fragmentType
        ) throws -> HTTPRequestID {
            try world.ask(.patch, path, type: type, ifMatch: ifMatch, body)
        }

        mutating func status(_ id: HTTPRequestID) -> Int? { world.responses[id]?.status }

        /// The offers that the partner was sent.
        var offers: [String] {
            (world.messages[partner] ?? []).compactMap { if case .offer(_, let sdp) = $0 { sdp } else { nil } }
        }
    }

    // MARK: Creation

    @Test("RFC 9725 §4.2: an offer is answered with 201, Location and ETag", arguments: kinds)
    func creation(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let (request, id) = try scene.post()
        let session = try #require(id)
        #expect(scene.status(request) == nil)
        try scene.world.say(.answer(subscription: session, sdp: Self.answer), scene.partner)
        let response = try #require(scene.world.responses[request])
        #expect(response.status == 201)
        #expect(response.header("Content-Type") == "application/sdp")
        #expect(response.header("Location") == "/\(kind.rawValue)/demo/camera/\(session)")
        #expect(response.header("Accept-Patch") == Self.fragmentType)
        #expect(response.body == Array(Self.answer.utf8))
        let etag = try #require(response.header("ETag"))
        #expect(etag.count > 20 && etag.hasPrefix("\"") && etag.hasSuffix("\""))
        #expect(response.header("Access-Control-Allow-Origin") == "*")
        let exposed = try #require(response.header("Access-Control-Expose-Headers"))
        for name in ["Location", "ETag", "Link", "Retry-After"] { #expect(exposed.contains(name)) }
    }

    @Test("RFC 9725 §4.2: an encoder's offer is sendonly or sendrecv, a player's asks to receive")
    func directions() throws {
        var whip = try Scene(.whip)
        for direction in ["recvonly", "inactive"] {
            let (request, session) = try whip.post(
                Self.offer(.whip).replacing("a=sendonly", with: "a=\(direction)"))
            #expect(whip.status(request) == 400)
            #expect(session == nil)
        }
        // A session's direction is that of m-lines without one, and without any they go both ways.
        let bare = Self.offer(.whip).replacing("a=sendonly\r\n", with: "").replacing("a=sendrecv\r\n", with: "")
        #expect(try whip.post(bare).1 != nil)
        let (request, _) = try whip.post(bare.replacing("t=0 0", with: "t=0 0\r\na=recvonly"))
        #expect(whip.status(request) == 400)
        var whep = try Scene(.whep)
        let (sending, _) = try whep.post(Self.offer(.whep).replacing("a=recvonly", with: "a=sendonly"))
        #expect(whep.status(sending) == 400)
    }

    @Test("RFC 9725 §4.4.2: more than one track of a kind is 422", arguments: ["video", "application"])
    func tooManyTracks(_ kind: String) throws {
        var scene = try Scene(.whip)
        let (request, session) = try scene.post(
            Self.offer(.whip) + "m=\(kind) 9 UDP/TLS/RTP/SAVPF 97\r\na=mid:2\r\na=sendonly\r\n")
        #expect(scene.status(request) == 422)
        #expect(session == nil)
    }

    @Test("RFC 9725 §4.4.3: an answer that refuses a track is 406 for an encoder, and no session")
    func partialAnswers() throws {
        let partial = Self.answer.replacing("m=video 9", with: "m=video 0")
        var scene = try Scene(.whip)
        let (request, id) = try scene.post()
        let session = try #require(id)
        try scene.world.say(.answer(subscription: session, sdp: partial), scene.partner)
        #expect(scene.status(request) == 406)
        #expect(
            scene.world.messages[scene.partner]?.last
                == .subscriptionEnded(subscription: session, reason: .noCommonCodec))
        #expect(scene.status(try scene.world.ask(.delete, "/whip/demo/camera/\(session)")) == 404)
        // A player may do without sound.
        var whep = try Scene(.whep)
        let (playing, played) = try whep.post()
        try whep.world.say(.answer(subscription: try #require(played), sdp: partial), whep.partner)
        #expect(whep.status(playing) == 201)
    }

    @Test("RFC 9725 §4.4.4: an encoder may offer to be the DTLS client") func activeOffers() throws {
        var scene = try Scene(.whip)
        #expect(try scene.post(Self.offer(.whip).replacing("actpass", with: "active")).1 != nil)
        #expect(try scene.post(Self.offer(.whip).replacing("actpass", with: "passive")).1 == nil)
    }

    @Test("RFC 9725 §4.2: GET and HEAD are answered with success and nothing", arguments: kinds)
    func reservedMethods(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let session = try scene.start().path
        for path in ["/\(kind.rawValue)/demo", "/\(kind.rawValue)/demo/camera", session] {
            for method in [HTTPRequest.Method.get, .head] {
                let response = try #require(scene.world.responses[try scene.world.ask(method, path)])
                #expect((200...299).contains(response.status) && response.body.isEmpty)
            }
        }
    }

    @Test("RFC 9725 §4.2: OPTIONS allows other origins and names the type of an offer", arguments: kinds)
    func preflight(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let session = try scene.start().path
        for path in ["/\(kind.rawValue)/demo", session] {
            let response = try #require(scene.world.responses[try scene.world.ask(.options, path)])
            #expect((200...299).contains(response.status))
            #expect(response.header("Accept-Post") == "application/sdp")
            #expect(response.header("Accept-Patch") == Self.fragmentType)
            #expect(response.header("Access-Control-Allow-Origin") == "*")
            let methods = try #require(response.header("Access-Control-Allow-Methods"))
            for method in ["POST", "PATCH", "DELETE"] { #expect(methods.contains(method)) }
            let headers = try #require(response.header("Access-Control-Allow-Headers"))
            for header in ["Authorization", "Content-Type", "If-Match"] { #expect(headers.contains(header)) }
        }
    }

    @Test("RFC 9725 §4.6: ICE servers come as Link headers of the 201", arguments: kinds)
    func iceServers(_ kind: EndpointKind) throws {
        var settings = ServerCoreTests.Core.Settings()
        settings.iceServers = ICEServerList([
            ICEServerDescription(urls: ["stun:stun.test"]),
            ICEServerDescription(urls: ["turn:turn.test?transport=tcp"], username: "a\"b", credential: "c"),
        ])
        var scene = try Scene(kind, settings: settings)
        let (request, session) = try scene.post()
        try scene.world.say(.answer(subscription: try #require(session), sdp: Self.answer), scene.partner)
        #expect(
            scene.world.responses[request]?.headers.filter { $0.name == "Link" }.map(\.value) == [
                "<stun:stun.test>; rel=\"ice-server\"",
                "<turn:turn.test?transport=tcp>; rel=\"ice-server\"; username=\"a\\\"b\"; credential=\"c\"; "
                    + "credential-type=\"password\"",
            ])
    }

    // MARK: Candidates

    @Test("RFC 9725 §4.3.2: candidates with the ETag are passed on, 204 without an ETag", arguments: kinds)
    func trickle(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let (path, session, etag) = try scene.start()
        for ifMatch in [etag, "\"other\", \(etag)", "*"] {
            scene.world.messages[scene.partner] = []
            let response = try #require(
                scene.world.responses[try scene.patch(path, Self.fragment(), ifMatch: ifMatch)])
            #expect(response.status == 204)
            #expect(response.header("ETag") == nil)
            #expect(
                scene.world.messages[scene.partner]
                    == ["candidate:1 1 udp 1 192.0.2.2 9 typ host", ""].map {
                        .candidate(
                            subscription: session,
                            candidate: TrickledCandidate(
                                candidate: $0, sdpMid: "0", sdpMLineIndex: 0, usernameFragment: "abcd"))
                    })
        }
    }

    @Test("RFC 9725 §4.3.2: a candidate belongs to the m-line of its mid, wherever the fragment has it")
    func placesOfCandidates() throws {
        var scene = try Scene(.whip)
        let (path, _, etag) = try scene.start()
        let body = "a=ice-ufrag:abcd\r\nm=video 9 x 0\r\na=mid:1\r\na=candidate:1 1 udp 1 192.0.2.2 9 typ host\r\n"
        #expect(scene.status(try scene.patch(path, body, ifMatch: etag)) == 204)
        guard case .candidate(_, let candidate)? = scene.world.messages[scene.partner]?.last else {
            Issue.record("no candidate")
            return
        }
        #expect(candidate.sdpMid == "1" && candidate.sdpMLineIndex == 1)
    }

    @Test("RFC 9725 §4.3.1: a PATCH without If-Match is 428, one with an outdated ETag 412", arguments: kinds)
    func preconditions(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let (path, _, etag) = try scene.start()
        #expect(scene.status(try scene.patch(path, Self.fragment(), ifMatch: nil)) == 428)
        #expect(scene.status(try scene.patch(path, Self.fragment("efgh"), ifMatch: nil)) == 428)
        for ifMatch in ["\"other\"", "W/\(etag)", String(etag.dropLast()), etag + "x"] {
            #expect(scene.status(try scene.patch(path, Self.fragment(), ifMatch: ifMatch)) == 412)
        }
        #expect(scene.world.messages[scene.partner] == [])
        #expect(scene.status(try scene.patch(path, Self.fragment(), ifMatch: etag)) == 204)
    }

    @Test("RFC 9725 §4.3: a PATCH of another type is 415, a malformed one 400", arguments: kinds)
    func malformedFragments(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let (path, _, etag) = try scene.start()
        let wrong = try scene.patch(path, Self.fragment(), ifMatch: etag, type: "application/sdp")
        #expect(scene.status(wrong) == 415)
        #expect(scene.world.responses[wrong]?.header("Accept-Patch") == Self.fragmentType)
        let many = String(repeating: "a=candidate:1 1 udp 1 192.0.2.2 9 typ host\r\n", count: 300)
        for body in ["", "hello", "a=mid:0\r\n", "a=mid:0\r\nnonsense\r\n" + Self.fragment(), many] {
            let response = try #require(scene.world.responses[try scene.patch(path, body, ifMatch: etag)])
            #expect(response.status == 400)
            #expect(response.header("Content-Type") == "application/problem+json")
        }
        #expect(scene.world.messages[scene.partner] == [])
    }

    // MARK: Restarts

    @Test(
        "RFC 9725 §4.3.3: a restart is answered with 200, the other side's credentials and a new ETag", arguments: kinds
    )
    func restart(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let (path, session, etag) = try scene.start()
        let request = try scene.patch(path, Self.fragment("efgh"), ifMatch: kind == .whip ? "*" : "\"*\"")
        #expect(scene.status(request) == nil)
        // The same offer but for the credentials, the candidates and its version.
        let candidate = "a=candidate:1 1 udp 1 192.0.2.2 9 typ host\r\na=end-of-candidates\r\n"
        let direction = kind.clientSends ? "a=sendonly\r\n" : "a=recvonly\r\n"
        let expected = Self.offer(kind).replacing("ufrag:abcd", with: "ufrag:efgh").replacing(
            "o=- 7 1", with: "o=- 7 2"
        )
        .replacing("a=candidate:1 1 udp 1 192.0.2.9 9 typ host\r\n", with: "")
        .replacing("a=mid:0\r\n" + direction, with: "a=mid:0\r\n" + direction + candidate)
        #expect(scene.offers == [expected])
        let again = Self.answer.replacing("wxyz", with: "stuv")
        try scene.world.say(.answer(subscription: session, sdp: again), scene.partner)
        let response = try #require(scene.world.responses[request])
        #expect(response.status == 200)
        #expect(response.header("Content-Type") == Self.fragmentType)
        let renewed = try #require(response.header("ETag"))
        #expect(renewed != etag)
        #expect(
            String(decoding: response.body, as: UTF8.self) == """
                a=group:BUNDLE 0 1\r
                m=audio 9 UDP/TLS/RTP/SAVPF 111\r
                a=mid:0\r
                a=ice-ufrag:stuv\r
                a=ice-pwd:987654321098765432109876\r
                a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r
                a=end-of-candidates\r
                m=video 9 UDP/TLS/RTP/SAVPF 96\r
                a=mid:1\r

                """)
        // From here on only the new ICE session counts.
        #expect(scene.status(try scene.patch(path, Self.fragment("efgh"), ifMatch: etag)) == 412)
        #expect(scene.status(try scene.patch(path, Self.fragment("efgh"), ifMatch: renewed)) == 204)
        // A second restart starts from the first.
        scene.world.messages[scene.partner] = []
        _ = try scene.patch(path, Self.fragment("ijkl"), ifMatch: "*")
        #expect(scene.offers.first?.contains("o=- 7 3") == true)
    }

    @Test("RFC 9725 §4.3.3: a restart that fails keeps the session as it was", arguments: kinds)
    func failedRestarts(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let (path, session, etag) = try scene.start()
        // Credentials that RFC 8839 does not allow, none at all, and a condition other than `*`.
        let short = Self.fragment("efgh").replacing("0123456789abcdef012345", with: "short")
        let none = Self.fragment("efgh").replacing("a=ice-pwd:0123456789abcdef012345\r\n", with: "")
        #expect(scene.status(try scene.patch(path, short, ifMatch: "*")) == 400)
        #expect(scene.status(try scene.patch(path, none, ifMatch: "*")) == 400)
        #expect(scene.status(try scene.patch(path, Self.fragment("efgh"), ifMatch: etag)) == 412)
        #expect(scene.world.messages[scene.partner] == [])
        // A silent partner, which a second one meanwhile does not disturb.
        let silent = try scene.patch(path, Self.fragment("efgh"), ifMatch: "*")
        #expect(scene.status(try scene.patch(path, Self.fragment("ijkl"), ifMatch: "*")) == 409)
        scene.world.now = try #require(scene.world.core.nextDeadline)
        scene.world.core.handleTimeout(now: scene.world.now)
        try scene.world.drain()
        #expect(scene.status(silent) == 504)
        // A client that goes away while it waits.
        let gone = try scene.patch(path, Self.fragment("efgh"), ifMatch: "*")
        scene.world.core.abandoned(gone)
        try scene.world.drain()
        #expect(
            scene.world.messages[scene.partner]?.contains { if case .subscriptionEnded = $0 { true } else { false } }
                == false)
        try scene.world.say(.answer(subscription: session, sdp: Self.answer), scene.partner)
        #expect(scene.world.responses[gone] == nil)
        #expect(scene.status(try scene.world.ask(.delete, path)) == 200)
    }

    @Test("RFC 9725 §4.3.3: after a restart that nobody answered the old ETag still holds", arguments: kinds)
    func silentRestart(_ kind: EndpointKind) throws {
        var scene = try Scene(kind)
        let (path, _, etag) = try scene.start()
        _ = try scene.patch(path, Self.fragment("efgh"), ifMatch: "*")
        scene.world.now = try #require(scene.world.core.nextDeadline)
        scene.world.core.handleTimeout(now: scene.world.now)
        try scene.world.drain()
        #expect(scene.status(try scene.patch(path, Self.fragment(), ifMatch: etag)) == 204)
    }

    // MARK: Ends

    @Test("RFC 9725 §4.2: DELETE ends the session, whatever If-Match says", arguments: kinds)
    func deletion(_ kind: EndpointKind) throws {
        for ifMatch in [nil, "\"outdated\"", "*"] as [String?] {
            var scene = try Scene(kind)
            let (path, session, _) = try scene.start()
            #expect(scene.status(try scene.world.ask(.delete, path, ifMatch: ifMatch)) == 200)
            // Which makes it revoke its consent at once (RFC 7675 §5.2).
            #expect(
                scene.world.messages[scene.partner]?.first { if case .subscriptionEnded = $0 { true } else { false } }
                    == .subscriptionEnded(subscription: session, reason: .bye))
            #expect(scene.status(try scene.world.ask(.delete, path)) == 404)
            #expect(scene.status(try scene.patch(path, Self.fragment(), ifMatch: "*")) == 404)
        }
    }

    @Test func aSessionOfOneDoorIsNoneOfTheOther() throws {
        var scene = try Scene(.whip)
        let (path, _, etag) = try scene.start()
        let other = path.replacing("/whip/", with: "/whep/")
        #expect(scene.status(try scene.world.ask(.delete, other)) == 404)
        #expect(scene.status(try scene.patch(other, Self.fragment(), ifMatch: etag)) == 404)
        #expect(scene.status(try scene.world.ask(.delete, path)) == 200)
    }

    @Test func aPartnerThatLeavesEndsItsSessions() throws {
        for kind in Self.kinds {
            var scene = try Scene(kind)
            let (path, _, _) = try scene.start()
            let (waiting, _) = try scene.post()
            scene.world.core.closed(scene.partner, now: scene.world.now)
            try scene.world.drain()
            #expect(scene.status(waiting) == 404)
            #expect(scene.status(try scene.world.ask(.delete, path)) == 404)
        }
    }

    // MARK: Access

    @Test("RFC 9725 §4.7: whoever sends needs a token that may publish the stream") func tokens() throws {
        var scene = try Scene(.whip)
        scene.world.core = AccessTests.world().core
        // Who is to watch only may not take what encoders send.
        let own = AccessTests.token(.publisher, stream: "camera")
        let receiver = scene.world.core.opened(room: "demo", token: own, now: scene.world.now)
        try scene.world.say(.join(version: 1, room: "demo"), receiver)
        try scene.world.say(.receive(stream: "camera"), receiver)
        func ask(
            _ method: HTTPRequest.Method, _ path: String, _ token: BearerToken?, _ body: String, type: String
        ) throws -> HTTPResponse? {
            scene.world.requests += 1
            let id = HTTPRequestID(number: scene.world.requests)
            scene.world.core.requested(
                HTTPRequest(
                    method: method, path: path, contentType: type, ifMatch: "*", token: token, body: Array(body.utf8)),
                id: id, now: scene.world.now)
            try scene.world.drain()
            return scene.world.responses[id]
        }
        func post(_ token: BearerToken?, _ path: String = "/whip/demo/camera") throws -> HTTPResponse? {
            try ask(.post, path, token, Self.offer(.whip), type: "application/sdp")
        }
        let anonymous = try #require(try post(nil))
        #expect(anonymous.status == 401 && anonymous.header("WWW-Authenticate") == "Bearer")
        #expect(try post(AccessTests.token(.publisher, room: "other"))?.status == 401)
        #expect(try post(AccessTests.token(.subscriber))?.status == 403)
        #expect(try post(AccessTests.token(.publisher, stream: "other"))?.status == 403)
        #expect(scene.world.messages[receiver]?.last == .receiving(stream: "camera"))
        // A token for one stream names it as well.
        #expect(try post(AccessTests.token(.publisher, stream: "camera"), "/whip/demo") == nil)
        guard case .ingest(let session, "camera", _)? = scene.world.messages[receiver]?.last else {
            Issue.record("the receiver was not asked")
            return
        }
        try scene.world.say(.answer(subscription: session, sdp: Self.answer), receiver)
        let path = "/whip/demo/camera/\(session)"
        #expect(try ask(.patch, path, nil, Self.fragment(), type: Self.fragmentType)?.status == 401)
        #expect(try ask(.delete, path, nil, "", type: "")?.status == 401)
        #expect(try ask(.options, path, nil, "", type: "")?.status == 204)
        #expect(try ask(.delete, path, AccessTests.token(.publisher), "", type: "")?.status == 200)
    }

    // MARK: Receivers

    @Test func withoutAReceiverAnEncoderGets404() throws {
        var scene = try Scene(.whip)
        for path in ["/whip/elsewhere", "/whip/elsewhere/camera", "/whip/demo/other"] {
            let (request, _) = try scene.post(nil, path)
            #expect(scene.status(request) == 404)
        }
        try scene.world.say(.stopReceiving(stream: "camera"), scene.partner)
        let (request, _) = try scene.post()
        #expect(scene.status(request) == 404)
        // A publisher of that name is not a receiver.
        let publisher = try scene.world.publisher()
        #expect(scene.status(try scene.post(nil, "/whip/demo/camera").0) == 404)
        #expect(scene.world.messages[publisher] == [])
    }

    @Test func whoReceivesAnyStreamGetsThoseThatNobodyNamed() throws {
        var scene = try Scene(.whip)
        let any = try scene.world.receiver(nil)
        #expect(try scene.post(nil, "/whip/demo/other").1 == nil)
        guard case .ingest(_, "other", _)? = scene.world.messages[any]?.last else {
            Issue.record("\(String(describing: scene.world.messages[any]))")
            return
        }
        #expect(try scene.post(nil, "/whip/demo/camera").1 != nil)
        // Without a name it is the receiver that waits longest.
        #expect(try scene.post(nil, "/whip/demo").1 != nil)
        try scene.world.say(.leave, scene.partner)
        let (request, _) = try scene.post(nil, "/whip/demo")
        guard case .ingest(let session, "main", _)? = scene.world.messages[any]?.last else {
            Issue.record("\(String(describing: scene.world.messages[any]))")
            return
        }
        try scene.world.say(.answer(subscription: session, sdp: Self.answer), any)
        #expect(scene.world.responses[request]?.header("Location") == "/whip/demo/main/\(session)")
    }

    @Test func aNameHasOneReceiver() throws {
        var scene = try Scene(.whip)
        let second = scene.world.core.opened(room: "demo", now: scene.world.now)
        try scene.world.say(.join(version: 1, room: "demo"), second)
        try scene.world.say(.receive(stream: "camera"), second)
        #expect(RoomDirectoryTests.errorCode(scene.world.messages[second]) == .streamTaken)
        try scene.world.say(.receive(stream: "../"), second)
        #expect(RoomDirectoryTests.errorCode(scene.world.messages[second]) == .invalidName)
        // To say it again is no mistake, and nobody but the server hands out offers.
        try scene.world.say(.receive(stream: "camera"), scene.partner)
        #expect(scene.world.messages[scene.partner]?.last == .receiving(stream: "camera"))
        try scene.world.say(
            .ingest(subscription: RoomDirectoryTests.subscription, stream: "camera", sdp: "v=0"), second)
        #expect(RoomDirectoryTests.errorCode(scene.world.messages[second]) == .notAllowed)
    }

    @Test func aStreamThatEndsLeavesReceivedOnesOfItsNameAlone() throws {
        var scene = try Scene(.whip)
        let publisher = try scene.world.publisher()
        let (path, _, etag) = try scene.start()
        try scene.world.say(.unpublish(stream: "camera"), publisher)
        #expect(scene.status(try scene.patch(path, Self.fragment(), ifMatch: etag)) == 204)
    }
}
