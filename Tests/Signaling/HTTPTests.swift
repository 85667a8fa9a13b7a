import EmisoraSignalingProtocol
import EmisoraSignalingServer
import Testing

/// The HTTP side over real sockets: what `ServerCore` decides is tested there, here it is what arrives.
@Suite(.serialized) struct HTTPTests {
    static let offer = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n"

    static func request(
        _ method: String, _ path: String, type: String? = nil, ifMatch: String? = nil, _ body: String? = nil
    ) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n" + (type.map { "Content-Type: \($0)\r\n" } ?? "")
            + (ifMatch.map { "If-Match: \($0)\r\n" } ?? "")
            + (body.map { "Content-Length: \($0.utf8.count)\r\n\r\n\($0)" } ?? "\r\n")
    }

    @Test func whepGoesFromOfferToDelete() async throws {
        try await LoopbackTests.withServer { port in
            let publisher = try await LoopbackTests.publisher(port)
            let http = try RawSocket(port: port)
            http.send(Self.request("POST", "/whep/demo", type: "application/sdp", Self.offer))
            let subscription = try await publisher.message("subscribe") {
                if case .subscribe(let id, "camera", Self.offer) = $0 { id } else { nil }
            }
            publisher.send(.answer(subscription: subscription, sdp: "v=0\r\nanswer"))
            let created = try http.response()
            #expect(created.status == 201)
            #expect(created.body == "v=0\r\nanswer")
            let session = "/whep/demo/camera/\(subscription)"
            #expect(created.head.contains("Location: \(session)\r\n"))
            let etag = try #require(created.head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }).dropFirst(6)
            // The same connection goes on.
            http.send(
                Self.request(
                    "PATCH", session, type: "application/trickle-ice-sdpfrag", ifMatch: String(etag),
                    "a=mid:0\r\na=candidate:1 1 udp 1 127.0.0.1 9 typ host\r\n"))
            #expect(try http.response().status == 204)
            try await publisher.message("candidate") { if case .candidate(subscription, _) = $0 { () } else { nil } }
            http.send(Self.request("DELETE", session))
            #expect(try http.response().status == 200)
            try await publisher.message("subscriptionEnded") {
                if case .subscriptionEnded(subscription, .bye) = $0 { () } else { nil }
            }
            publisher.close()
        }
    }

    @Test func aSilentPublisherAndOneWithoutACodecAreStatuses() async throws {
        try await LoopbackTests.withServer(answerTimeout: .milliseconds(200)) { port in
            let publisher = try await LoopbackTests.publisher(port)
            let http = try RawSocket(port: port)
            http.send(Self.request("POST", "/whep/demo/camera", type: "application/sdp", Self.offer))
            let silent = try http.response()
            #expect(silent.status == 504)
            #expect(silent.head.contains("application/problem+json"))
            http.send(Self.request("POST", "/whep/demo/camera", type: "application/sdp", Self.offer))
            for _ in 0..<2 {
                let subscription = try await publisher.message("subscribe") {
                    if case .subscribe(let id, _, _) = $0 { id } else { nil }
                }
                publisher.send(.bye(subscription: subscription, reason: .noCommonCodec))
            }
            #expect(try http.response().status == 406)
            publisher.close()
        }
    }

    @Test func aRequestBehindAWaitingOneIsAnsweredAfterItAndCostsNothingMeanwhile() async throws {
        try await LoopbackTests.withServer(answerTimeout: .seconds(1)) { port in
            let publisher = try await LoopbackTests.publisher(port)
            let http = try RawSocket(port: port)
            http.send(Self.request("POST", "/whep/demo", type: "application/sdp", Self.offer))
            try await publisher.message("subscribe") { if case .subscribe = $0 { () } else { nil } }
            let before = processorTime()
            http.send(Self.request("GET", "/healthz"))
            #expect(try http.response().status == 504)
            // A spinning loop would take the whole second of one core.
            if isTimingJudged { #expect(processorTime() - before < .milliseconds(500)) }
            #expect(try http.response().status == 200)
            publisher.close()
        }
    }

    /// Also one that has sent something besides, which stands before the end.
    @Test(arguments: ["", "GET / HTTP/1.1\r\n"])
    func aWaitingClientThatHangsUpIsNoticed(_ surplus: String) async throws {
        try await LoopbackTests.withServer { port in
            let publisher = try await LoopbackTests.publisher(port)
            let http = try RawSocket(port: port)
            http.send(Self.request("POST", "/whep/demo", type: "application/sdp", Self.offer))
            try await publisher.message("subscribe") { if case .subscribe = $0 { () } else { nil } }
            http.send(surplus)
            http.close()
            let reason = try await publisher.message("subscriptionEnded") {
                if case .subscriptionEnded(_, let reason) = $0 { reason } else { nil }
            }
            // Not because the time for the answer was over.
            #expect(reason == .left)
            publisher.close()
        }
    }

    @Test(arguments: [
        ("GET", "/", "", 200), ("GET", "/demo", "", 200), ("GET", "/healthz", "", 200), ("HEAD", "/demo", "", 200),
        ("GET", "/assets/viewer.js", "", 200), ("GET", "/assets/style.css", "", 200), ("GET", "/a/b", "", 404),
        ("GET", "/../../etc/passwd", "", 404), ("GET", "/%2e%2e/%2e%2e/etc/passwd", "", 404),
        ("GET", "/assets/..%2f..%2fetc/passwd", "", 404), ("DELETE", "/demo", "", 405),
        ("PUT", "/", "Content-Length: 0\r\n", 405),
        ("OPTIONS", "/whep/demo", "", 204), ("POST", "/whep/demo", "Content-Length: 0\r\n", 415),
        ("POST", "/whep/demo", "", 411), ("POST", "/whep/demo", "Content-Length: -1\r\n", 400),
        ("POST", "/whep/demo", "Content-Length: 99999999999999999999\r\n", 400),
        ("POST", "/whep/demo", "Content-Length: 5x\r\n", 400), ("POST", "/whep/demo", "Content-Length: 65537\r\n", 413),
        ("POST", "/whep/demo", "Transfer-Encoding: chunked\r\n", 501),
        ("GET", "/", "Content-Length: -1\r\n", 400),
    ])
    func requestsGetTheirStatus(_ method: String, _ path: String, _ headers: String, _ status: Int) async throws {
        try await LoopbackTests.withServer { port in
            let http = try RawSocket(port: port)
            http.send("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n")
            let response = try http.response(hasBody: method != "HEAD")
            #expect(response.status == status)
            #expect(response.head.contains("X-Content-Type-Options: nosniff"))
            if method == "HEAD" { #expect(response.body.isEmpty) }
        }
    }

    @Test func aRoomThatIsLiveIsListed() async throws {
        try await LoopbackTests.withServer { port in
            let publisher = try await LoopbackTests.publisher(port)
            let http = try RawSocket(port: port)
            http.send(Self.request("GET", "/"))
            let page = try http.response()
            #expect(page.body.contains("href=\"/demo\""))
            #expect(page.body.contains("camera"))
            #expect(page.head.contains("Content-Security-Policy: default-src 'none'"))
            publisher.close()
        }
    }

    @Test func anUpgradeToSomethingUnknownEndsThatConnectionOnly() async throws {
        try await LoopbackTests.withServer { port in
            let bystander = try await LoopbackTests.publisher(port)
            for upgrade in ["foo", "h2c", "websocket2", String(repeating: "w", count: 3_000)] {
                let http = try RawSocket(port: port)
                http.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(try http.response().status == 200)
                http.send(
                    "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: \(upgrade)\r\n\r\n"
                )
                // Closed, or refused with a status; never 101 and never 200.
                let rest = String(decoding: (try? http.receive()) ?? [], as: UTF8.self)
                #expect(rest.isEmpty || rest.hasPrefix("HTTP/1.1 4"))
            }
            let http = try RawSocket(port: port)
            http.send(
                "GET /demo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
            #expect(!String(decoding: try http.receive(), as: UTF8.self).hasPrefix("HTTP/1.1 101"))
            bystander.send(.unpublish(stream: "camera"))
            try await bystander.message("streamUnpublished") { if case .streamUnpublished = $0 { () } else { nil } }
            bystander.close()
        }
    }

    @Test func randomBytesLeaveTheServerRunning() async throws {
        try await LoopbackTests.withServer { port in
            for _ in 0..<50 {
                let http = try RawSocket(port: port)
                http.send((0..<300).map { _ in UInt8.random(in: 0...255) } + Array("\r\n\r\n".utf8))
                http.close()
                let websocket = try RawWebsocket(port: port)
                websocket.send(text: String(decoding: (0..<100).map { _ in UInt8.random(in: 32...126) }, as: UTF8.self))
                #expect(try websocket.receive().contains("\"error\""))
            }
            let http = try RawSocket(port: port)
            http.send(Self.request("GET", "/healthz"))
            #expect(try http.response().status == 200)
        }
    }
}
