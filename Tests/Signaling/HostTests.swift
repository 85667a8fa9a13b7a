import Testing

@testable import EmisoraSignalingServer

/// By which names a server without a secret may be called: DNS rebinding.
@Suite struct HostTests {
    @Test(arguments: [
        ("127.0.0.1:8080", true), ("127.0.0.1", true), ("localhost", true), ("LocalHost:1", true),
        ("app.localhost:8080", true), ("[::1]:8080", true), ("[::1]", true), ("192.168.1.2:8080", true),
        ("[2001:db8::1]:80", true), ("box", true), ("BOX:8080", true), ("portal.test", true), ("portal.test:1", true),
        ("evil.test", false), ("evil.test:8080", false), ("localhost.evil.test", false), ("127.0.0.1.evil.test", false),
        ("evil.test#localhost", false), ("localhost@evil.test", false), ("evil.test:8080, localhost", false),
        ("localhost:", false), ("localhost:99999", false), ("localhost:+1", false), ("[::1", false),
        ("[localhost]", false), ("", false), ("evillocalhost", false), (".evil", false), ("box.evil.test", false),
        ("127.1", false), ("localhost.", false),
    ])
    func addressesAndOwnNames(_ host: String, _ isAllowed: Bool) {
        let policy = HostPolicy(own: ["box"], origins: ["https://portal.test", "https://b.test:8443"])
        #expect(policy.allows(host) == isAllowed)
    }

    @Test func withoutAHeaderItIsNoBrowserAndAStarIsEverybody() {
        #expect(HostPolicy(own: [], origins: []).allows(nil))
        #expect(HostPolicy(own: [], origins: ["*"]).allows("evil.test"))
        #expect(HostPolicy.any.allows("evil.test"))
    }

    @Test func anotherNameGets421BeforeAnything() async throws {
        try await LoopbackTests.withServer { port in
            for path in ["/", "/demo", "/healthz", "/whep/demo", "/assets/viewer.js"] {
                let http = try RawSocket(port: port)
                http.send("GET \(path) HTTP/1.1\r\nHost: evil.test:\(port)\r\nOrigin: http://evil.test:\(port)\r\n\r\n")
                let answer = try http.response()
                #expect(answer.status == 421)
                #expect(!answer.head.contains("Access-Control-Allow-Origin") && !answer.body.contains("evil"))
            }
            for (host, status) in [
                ("evil.test", 421), ("evil.test:\(port)", 421), (String(repeating: "x", count: 2_000), 421),
                ("localhost:\(port)", 101), ("127.0.0.1:\(port)", 101),
            ] {
                let http = try RawSocket(port: port)
                http.send(
                    "GET /demo HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                        + "Sec-WebSocket-Protocol: emisora.v1\r\n\r\n")
                #expect(try http.response(hasBody: false).status == status, "\(host.prefix(30))")
            }
        }
    }

    @Test func aTokenIsWorthMoreThanAName() async throws {
        try await InternetTests.withSecret { port, _ in
            let http = try RawSocket(port: port)
            http.send("GET /healthz HTTP/1.1\r\nHost: signaling.test\r\n\r\n")
            #expect(try http.response().status == 200)
        }
    }
}
