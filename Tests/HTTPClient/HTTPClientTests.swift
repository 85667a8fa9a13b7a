import EmisoraHTTPClient
import Glibc
import Synchronization
import Testing

@Suite(.serialized) struct HTTPClientTests {
    static func url(_ text: String) throws -> HTTPURL { try #require(HTTPURL(text)) }

    /// `send` blocks, so it has a thread of its own.
    static func send(_ client: HTTPClient, _ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        let result: Result<HTTPClientResponse, HTTPClientError> = await withCheckedContinuation { continuation in
            startThread {
                continuation.resume(
                    returning: Result { () throws(HTTPClientError) in try client.send(request) })
            }
        }
        return try result.get()
    }

    @Test func aRequestGoesOutAndItsResponseComesBackWhole() async throws {
        let server = try ScriptedServer { _ in
            ScriptedServer.response(
                "201 Created",
                ["Location: /s/1", "Link: <stun:a>; rel=\"ice-server\"", "link: <stun:b>", "ETag:  \"x\" "],
                body: "v=0\r\n")
        }
        let client = try HTTPClient()
        let request = HTTPClientRequest(
            "POST", try Self.url(server.url("/whip/a")), headers: [("Content-Type", "application/sdp")],
            token: "secret", body: Array("offer".utf8))
        let response = try await Self.send(client, request)
        #expect(response.status == 201 && response.isSuccess)
        #expect(String(decoding: response.body, as: UTF8.self) == "v=0\r\n")
        #expect(response.values(of: "LINK") == ["<stun:a>; rel=\"ice-server\"", "<stun:b>"])
        #expect(response.header("etag") == "\"x\"")
        let got = try #require(server.requests.first)
        #expect(got.head.hasPrefix("POST /whip/a HTTP/1.1\r\n"))
        #expect(got.body == "offer")
        #expect(got.header("Content-Type") == "application/sdp")
        #expect(got.header("Authorization") == "Bearer secret")
        #expect(got.header("Expect") == nil)
        // The next ones are not mixed up with it, and an empty body is one.
        for method in ["PATCH", "DELETE"] {
            let body: [UInt8]? = method == "PATCH" ? [] : nil
            _ = try await Self.send(client, HTTPClientRequest(method, try Self.url(server.url("/s/1")), body: body))
            let last = try #require(server.requests.last)
            #expect(last.method == method && last.body.isEmpty)
            #expect(last.header("Authorization") == nil && last.header("Content-Type") != "application/sdp")
            #expect(last.header("Content-Length") == (method == "PATCH" ? "0" : nil))
        }
    }

    @Test("RFC 9725 §4.5: 307 and 308 are followed with method and body", arguments: [307, 308])
    func redirects(_ status: Int) async throws {
        let server = try ScriptedServer { request in
            request.target == "/a"
                ? ScriptedServer.response("\(status) Moved", ["Location: b?x=1"])
                : ScriptedServer.response("201 Created")
        }
        let response = try await Self.send(
            try HTTPClient(),
            HTTPClientRequest("POST", try Self.url(server.url("/a")), token: "t", body: Array("offer".utf8)))
        #expect(response.status == 201)
        #expect(response.url.text == server.url("/b?x=1"))
        #expect(response.sawToken)
        #expect(server.requests.map(\.body) == ["offer", "offer"])
        #expect(server.requests.map(\.method) == ["POST", "POST"])
        #expect(server.requests.last?.header("Authorization") == "Bearer t")
    }

    @Test func aTokenDoesNotFollowToAnotherOrigin() async throws {
        let other = try ScriptedServer { _ in ScriptedServer.response("201 Created") }
        let target = other.url("/b")
        let server = try ScriptedServer { _ in
            ScriptedServer.response("307 Temporary Redirect", ["Location: \(target)"])
        }
        let response = try await Self.send(
            try HTTPClient(), HTTPClientRequest("POST", try Self.url(server.url("/a")), token: "t", body: [1]))
        #expect(response.status == 201 && !response.sawToken)
        #expect(server.requests.first?.header("Authorization") == "Bearer t")
        #expect(other.requests.count == 1)
        #expect(other.requests.first?.header("Authorization") == nil)
    }

    @Test(arguments: ["/a", "ftp://127.0.0.1/", "", "http://user:word@127.0.0.1/"])
    func redirectsThatLeadNowhereEnd(_ location: String) async throws {
        let server = try ScriptedServer { _ in
            ScriptedServer.response("308 Permanent Redirect", ["Location: \(location)"])
        }
        await #expect(throws: HTTPClientError.self) {
            try await Self.send(
                try HTTPClient(), HTTPClientRequest("POST", try Self.url(server.url("/a")), body: []))
        }
        #expect((1...6).contains(server.requests.count))
    }

    @Test func theTimeOfARequestIsThatOfAllItsRedirects() async throws {
        // Each of the three answers comes in time, all of them together do not: how long they take is what is tested.
        let server = try ScriptedServer { request in
            usleep(400_000)
            if request.head.hasPrefix("GET /c ") { return ScriptedServer.response("200 OK", []) }
            let next = request.head.hasPrefix("GET /a ") ? "/b" : "/c"
            return ScriptedServer.response("307 Temporary Redirect", ["Location: \(next)"])
        }
        let request = HTTPClientRequest("GET", try Self.url(server.url("/a")), timeout: .seconds(1))
        await #expect(throws: HTTPClientError.self) { try await Self.send(try HTTPClient(), request) }
        // It was on its way, and not refused.
        #expect(server.requests.count >= 2)
    }

    @Test(arguments: [301, 302, 303]) func otherRedirectsAreLeftToWhoAsked(_ status: Int) async throws {
        let server = try ScriptedServer { _ in ScriptedServer.response("\(status) Moved", ["Location: /b"]) }
        let response = try await Self.send(
            try HTTPClient(), HTTPClientRequest("POST", try Self.url(server.url("/a")), body: []))
        #expect(response.status == status)
        #expect(server.requests.count == 1)
    }

    @Test func aRequestUnderWayCanBeCancelled() async throws {
        let server = try ScriptedServer { _ in nil }
        let client = try HTTPClient()
        let request = HTTPClientRequest("POST", try Self.url(server.url("/a")), body: [], timeout: .seconds(300))
        let outcome = Task { try await Self.send(client, request) }
        while server.requests.isEmpty { await Task.yield() }
        client.cancel()
        await #expect(throws: HTTPClientError.cancelled) { try await outcome.value }
        await #expect(throws: HTTPClientError.cancelled) { try await Self.send(client, request) }
    }

    @Test func aSilentServerAndOneThatTalksTooMuchAreErrors() async throws {
        let silent = try ScriptedServer { _ in nil }
        await #expect(throws: HTTPClientError.self) {
            try await Self.send(
                try HTTPClient(),
                HTTPClientRequest("GET", try Self.url(silent.url("/")), timeout: .milliseconds(100)))
        }
        let flood = try ScriptedServer { _ in
            ScriptedServer.response("200 OK", body: String(repeating: "x", count: 1 << 19))
        }
        await #expect {
            try await Self.send(try HTTPClient(), HTTPClientRequest("GET", try Self.url(flood.url("/"))))
        } throws: {
            "\($0)".contains("too large")
        }
    }

    @Test func nobodyListeningIsASentence() async throws {
        let server = try ScriptedServer { _ in nil }
        let url = try Self.url(server.url("/whip"))
        server.stop()
        await #expect {
            try await Self.send(try HTTPClient(), HTTPClientRequest("POST", url, body: []))
        } throws: {
            "\($0)".contains("cannot be reached") && "\($0)".contains("\(server.port)")
        }
    }

    @Test func addressesAreTakenApart() throws {
        let url = try Self.url("HTTPS://Example.org/whip/a?b#c")
        #expect(url.text == "https://Example.org/whip/a?b" || url.text == "https://example.org/whip/a?b")
        #expect(url.origin == .init(scheme: "https", host: "example.org", port: 443))
        #expect(url.isSecure && url.path == "/whip/a")
        #expect(try Self.url("http://[::1]:8080/x").origin.port == 8080)
        #expect(url.resolving("/s/1")?.origin == url.origin)
        #expect(url.resolving("s/1")?.path == "/whip/s/1")
        #expect(url.resolving("//other.test:8443/s")?.origin == .init(scheme: "https", host: "other.test", port: 8443))
        for text in [
            "", "example.org/whip", "ws://a/b", "https://", "https://a b/", "https://u:p@a/", "file:///etc/passwd",
        ] {
            #expect(HTTPURL(text) == nil, "\(text)")
        }
    }
}
