import EmisoraSignalingProtocol
import EmisoraSignalingServer
import Glibc
import Synchronization
import Testing

/// A server as it stands on the Internet, over real sockets: tokens, origins, strangers, and what strangers may ask for.
@Suite(.serialized) struct InternetTests {
    static let secret = "0123456789abcdef0123456789abcdef"

    /// A server that asks for tokens, and tokens for it by the program that makes them.
    static func withSecret(
        _ change: @escaping (inout SignalingServer.Configuration) -> Void = { _ in },
        _ body: (UInt16, (String...) throws -> BearerToken) async throws -> Void
    ) async throws {
        let path = temporaryPath()
        defer { unlink(path) }
        try write(secret + "\n", to: path)
        func token(_ arguments: String...) throws -> BearerToken {
            var made: [String] = []
            let code = TokenCommand.run(
                ["--secret-file", path, "--room", "demo"] + arguments, output: { made.append($0) },
                complaint: { made.append($0) })
            guard code == 0, made.count == 1 else { throw SocketFailure(what: made.joined()) }
            return BearerToken(made[0])
        }
        try await LoopbackTests.withServer { configuration in
            configuration.secretFile = path
            change(&configuration)
        } _: { port in
            try await body(port, token)
        }
    }

    static func temporaryPath() -> String {
        "/tmp/emisora-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    }

    static func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
        guard descriptor >= 0 else { throw SocketFailure(what: "open: \(errno)") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw SocketFailure(what: "write") }
    }

    /// The answer to a request to become a websocket, its head alone.
    static func upgrade(_ port: UInt16, _ headers: String) throws -> (status: Int, head: String) {
        let http = try RawSocket(port: port)
        http.send(
            "GET /demo HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Protocol: emisora.v1\r\n\(headers)\r\n")
        let response = try http.response(hasBody: false)
        return (response.status, response.head)
    }

    // MARK: Tokens

    @Test func aTokenComesInTheFirstMessageOrInAuthorization() async throws {
        try await Self.withSecret { port, token in
            let publisher = RecordingClient(port: port, token: try token("--role", "publisher", "--data", "Ana"))
            _ = try await publisher.welcome()
            publisher.send(.publish(stream: "camera"))
            try await publisher.message("streamPublished") { if case .streamPublished = $0 { () } else { nil } }
            let own = try token("--role", "subscriber").text
            let viewer = try RawWebsocket(port: port, headers: "Authorization: Bearer \(own)\r\n")
            viewer.send(text: #"{"type":"join","version":1,"room":"demo"}"#)
            let welcome = try viewer.receive()
            #expect(welcome.contains("\"welcome\"") && welcome.contains("\"data\":\"Ana\""))
            #expect(!welcome.contains(own))
            publisher.close()
        }
    }

    @Test func whoHasNoTokenIsToldAndClosed() async throws {
        try await Self.withSecret { port, token in
            for join in [
                #"{"type":"join","version":1,"room":"demo"}"#,
                #"{"type":"join","version":1,"room":"demo","token":"x"}"#,
            ] {
                let stranger = try RawWebsocket(port: port)
                stranger.send(text: join)
                #expect(try stranger.receive().contains("\"code\":\"unauthorized\""))
                try stranger.awaitEnd()
            }
            // The longest that is looked at, and one that is longer than libwebsockets' room for headers.
            for count in [4_000, 20_000] {
                let http = try RawSocket(port: port)
                http.send(
                    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(String(repeating: "x", count: count))\r\n\r\n"
                )
                _ = try? http.response()
            }
            let client = RecordingClient(port: port, token: try token("--role", "subscriber"))
            _ = try await client.welcome()
            client.close()
        }
    }

    @Test func aPlayerShowsItsTokenAsBearer() async throws {
        try await Self.withSecret { port, token in
            let http = try RawSocket(port: port)
            let own = try token("--role", "subscriber").text
            for (header, status) in [
                ("", 401), ("Authorization: Bearer x\r\n", 401), ("Authorization: Bearer \(own)\r\n", 404),
            ] {
                http.send(
                    "POST /whep/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sdp\r\n\(header)"
                        + "Content-Length: \(HTTPTests.offer.utf8.count)\r\n\r\n\(HTTPTests.offer)")
                let response = try http.response()
                #expect(response.status == status)
                #expect(!response.head.contains(own) && !response.body.contains(own))
            }
        }
    }

    // MARK: Where it listens

    @Test func withoutASecretOnlyThisMachineIsServedAndThatIsSaid() throws {
        let said = Mutex("")
        let server = SignalingServer(.init(host: "0.0.0.0", port: 0)) { line in said.withLock { $0 += line + "\n" } }
        let port = try server.start()
        defer { server.stop() }
        #expect(server.url == "http://127.0.0.1:\(port)/")
        #expect(said.withLock { $0 }.contains("listens at 127.0.0.1, not at 0.0.0.0"))
        // Another address of loopback would reach a server that listens everywhere.
        #expect(throws: SocketFailure.self) { try RawSocket(port: port, host: 0x7F00_0002) }
        _ = try RawSocket(port: port)
    }

    @Test func withASecretOrInsecurelyItListensWhereItIsTold() async throws {
        try await Self.withSecret {
            $0.host = "0.0.0.0"
        } _: { port, _ in
            _ = try RawSocket(port: port, host: 0x7F00_0002)
        }
        let said = Mutex("")
        var open = SignalingServer.Configuration(host: "0.0.0.0", port: 0)
        open.isInsecurelyOpen = true
        let server = SignalingServer(open) { line in said.withLock { $0 += line } }
        let port = try server.start()
        defer { server.stop() }
        #expect(said.withLock { $0 }.hasPrefix("WARNING"))
        _ = try RawSocket(port: port, host: 0x7F00_0002)
    }

    @Test func aSecretThatIsTooShortOrNotThereIsNamed() throws {
        let path = Self.temporaryPath()
        defer { unlink(path) }
        var configuration = SignalingServer.Configuration(port: 0)
        configuration.secretFile = path
        #expect(throws: SignalingServerError.self) { try SignalingServer(configuration).start() }
        try Self.write(String(repeating: "x", count: 31) + "\n", to: path)
        do {
            _ = try SignalingServer(configuration).start()
            Issue.record("31 bytes were enough")
        } catch {
            #expect(error.description.contains("31 bytes"))
            #expect(!error.description.contains("xxx"))
        }
        let said = Mutex("")
        try Self.write(Self.secret, to: path)
        chmod(path, 0o644)
        let server = SignalingServer(configuration) { line in said.withLock { $0 += line } }
        try server.start()
        server.stop()
        #expect(said.withLock { $0 }.contains("chmod 600"))
    }

    // MARK: Origins

    @Test func pagesOfOtherOriginsAreRefusedBeforeTheUpgrade() async throws {
        try await Self.withSecret {
            $0.allowedOrigins = ["https://portal.test"]
        } _: { port, _ in
            for (origin, status) in [
                ("Origin: https://evil.test\r\n", 403), ("Origin: https://portal.test.evil.test\r\n", 403),
                ("Origin: null\r\n", 403), ("Origin: \(String(repeating: "x", count: 2_000))\r\n", 403),
                ("Origin: https://portal.test\r\n", 101), ("Origin: http://127.0.0.1:\(port)\r\n", 101), ("", 101),
            ] {
                let answer = try Self.upgrade(port, origin)
                #expect(answer.status == status, "\(origin)")
                if status == 403 { #expect(answer.head.contains("application/problem+json")) }
            }
        }
    }

    @Test func atLoopbackAForeignPageIsRefusedByWHEPToo() async throws {
        try await LoopbackTests.withServer { port in
            #expect(try Self.upgrade(port, "Origin: http://evil.test:\(port)\r\n").status == 403)
            #expect(try Self.upgrade(port, "Origin: http://localhost:3000\r\n").status == 101)
            let http = try RawSocket(port: port)
            http.send("OPTIONS /whep/demo HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.test\r\n\r\n")
            let refused = try http.response()
            #expect(refused.status == 403)
            #expect(!refused.head.contains("Access-Control-Allow-Origin"))
            http.send("OPTIONS /whep/demo HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\n\r\n")
            #expect(try http.response().head.contains("Access-Control-Allow-Origin: http://localhost:3000\r\n"))
        }
    }

    // MARK: Strangers

    @Test func fiveHundredSilentConnectionsKeepNobodyOut() async throws {
        try await Self.withSecret { port, token in
            let own = try token("--role", "subscriber")
            func timesToJoin() async throws -> [Duration] {
                var times: [Duration] = []
                for _ in 0..<9 {
                    let start = ContinuousClock.now
                    let good = RecordingClient(port: port, token: own)
                    _ = try await good.welcome()
                    times.append(ContinuousClock.now - start)
                    good.close()
                }
                return times.sorted()
            }
            // What joining takes on this machine where nobody is in its way.
            let floor = try await timesToJoin()[4]
            var silent: [RawSocket] = []
            for _ in 0..<500 {
                let socket = try RawSocket(port: port)
                socket.send("GET /demo HTTP/1.1\r\n")
                silent.append(socket)
            }
            let times = try await timesToJoin()
            if isTimingJudged { #expect(times[4] < max(.milliseconds(100), floor * 2), "\(times), \(floor)") }
            // Eight at the most outlive their quarter of a second, nobody five seconds.
            let start = ContinuousClock.now
            let left = try silent.count { !(try $0.hasEnded(within: .milliseconds(1_500), of: start)) }
            if isTimingJudged { #expect(left <= 8) }
            for socket in silent { #expect(try socket.receive().isEmpty) }
            if isTimingJudged { #expect(ContinuousClock.now - start < .seconds(8)) }
        }
    }

    @Test func aRequestThatNeverEndsIsEnded() async throws {
        try await LoopbackTests.withServer { port in
            let start = ContinuousClock.now
            let idle = try RawSocket(port: port)
            idle.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try idle.response().status == 200)
            let body = try RawSocket(port: port)
            body.send(
                "POST /whep/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sdp\r\nContent-Length: 100\r\n\r\nv=0"
            )
            let websocket = try RawWebsocket(port: port)
            try websocket.awaitEnd()
            #expect(try idle.receive().isEmpty)
            #expect(try body.receive().isEmpty)
            if isTimingJudged { #expect(ContinuousClock.now - start < .seconds(8)) }
        }
    }

    @Test func connectionsOfAnAddressAreBounded() async throws {
        try await LoopbackTests.withServer {
            $0.limits.connectionsPerAddress = 3
        } _: { port in
            let clients = (0..<3).map { _ in RecordingClient(port: port) }
            for client in clients { _ = try await client.welcome() }
            let late = try RawSocket(port: port)
            #expect(try late.receive().isEmpty)
            clients[0].close()
            // The server may hear of the end after our next knock.
            var isTaken = false
            while !isTaken {
                let next = try RawSocket(port: port)
                next.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                isTaken = (try? next.response().status) == 200
            }
            for client in clients { client.close() }
        }
    }

    /// Each stream of a publisher that leaves is a message of some 1120 bytes, and all come at once.
    @Test(arguments: [(220, false), (250, true)])
    func whoHas256KiBWaitingIsCutOff(_ streams: Int, _ isCut: Bool) async throws {
        try await Self.withSecret {
            $0.limits.streamsPerRoom = streams
            $0.limits.streamsPerParticipant = streams
        } _: { port, token in
            let watcher = RecordingClient(port: port, token: try token("--role", "subscriber"))
            _ = try await watcher.welcome()
            let data = String(repeating: "x", count: 1024)
            let publisher = RecordingClient(port: port, token: try token("--role", "publisher", "--data", data))
            _ = try await publisher.welcome()
            // One by one, so that nothing waits before they end.
            for number in 0..<streams {
                publisher.send(.publish(stream: "stream-\(1000 + number)"))
                try await watcher.message("streamPublished \(number)") { message in
                    if case .streamPublished(let one) = message, one.stream == "stream-\(1000 + number)" {
                        ()
                    } else {
                        nil
                    }
                }
            }
            publisher.close()
            if isCut {
                try await watcher.next("the end") { $0 == .disconnected(.connectionLost) ? () : nil }
            } else {
                try await watcher.message("the last") { message in
                    if case .streamUnpublished(let one) = message, one.stream == "stream-\(999 + streams)" {
                        ()
                    } else {
                        nil
                    }
                }
            }
            watcher.close()
        }
    }

    // MARK: Pages

    @Test(arguments: [
        "/..", "/../", "/../../../../etc/passwd", "//etc/passwd", "/assets/../../etc/passwd", "/assets/./style.css",
        "/assets//style.css", "/assets/style.css/", "/assets/style.css%00", "/assets/%2e%2e/style.css",
        "/assets/..%5c..%5cx",
        "/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/..%c0%af..%c0%afetc/passwd", "/....//....//etc/passwd", "/.git/config",
        "/.env",
        "/assets/viewer.js.map", "/assets/", "/Package.swift", "/proc/self/environ", "/demo/../healthz/..", "/%00",
        "/C:/Windows/win.ini", "/..;/..;/etc/passwd", "/assets/style.css?../../etc/passwd=1/../..",
    ])
    func onlyWhatIsInTheTableIsServed(_ path: String) async throws {
        try await LoopbackTests.withServer { port in
            let http = try RawSocket(port: port)
            http.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            // A path that libwebsockets itself will not have ends the connection.
            guard let response = try? http.response() else { return }
            #expect(!response.body.contains("root:"))
            // What comes out is a page of ours or nothing.
            let isOurs = response.head.contains("text/html") || response.head.contains("text/css")
            #expect(response.status == 404 || response.status == 403 || (response.status == 200 && isOurs))
        }
    }

    @Test(arguments: ["/", "/demo", "/assets/viewer.js", "/assets/style.css", "/healthz", "/nothing/here"])
    func everyResponseHasItsArmour(_ path: String) async throws {
        try await LoopbackTests.withServer { port in
            let http = try RawSocket(port: port)
            http.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let response = try http.response()
            #expect(response.head.contains("X-Content-Type-Options: nosniff"))
            #expect(response.head.contains("Referrer-Policy: no-referrer"))
            guard response.head.contains("text/html") else { return }
            let policy = try #require(
                response.head.split(separator: "\r\n").first { $0.hasPrefix("Content-Security-Policy: ") })
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe") && !policy.contains("*"))
            // The policy would stop them: they must not be there.
            let body = response.body.lowercased()
            #expect(!body.contains("<style") && !body.contains("style=") && !body.contains("javascript:"))
            #expect(body.firstRange(of: #/\son[a-z]+\s*=/#) == nil)
            #expect(body.matches(of: #/<script(?![^>]*\ssrc=)/#).isEmpty)
        }
    }

    @Test func theViewersProgramWritesTextOnlyAsText() async throws {
        try await LoopbackTests.withServer { port in
            let http = try RawSocket(port: port)
            http.send("GET /assets/viewer.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let script = try http.response().body
            for word in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc",
            ] {
                #expect(!script.contains(word))
            }
            // The token is in the part of the address that no server sees.
            #expect(script.contains("location.hash"))
            #expect(!script.contains("get('token')") || !script.contains("location.search).get('token')"))
        }
    }
}
