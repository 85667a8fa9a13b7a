import EmisoraOperations
import EmisoraSignalingProtocol
import Foundation
import Synchronization
import Testing

@testable import EmisoraSignalingServer

/// `/metrics`, `/readyz`, draining: over real sockets, since that is what operators see.
@Suite(.serialized) struct OperationsTests {
    /// A server, and what it said.
    private final class Running: Sendable {
        let server: SignalingServer
        let port: UInt16
        private let lines: Lines

        final class Lines: Sendable {
            private let lines = Mutex<[String]>([])
            var all: [String] { lines.withLock { $0 } }
            func append(_ line: String) { lines.withLock { $0.append(line) } }
        }

        init(_ change: (inout SignalingServer.Configuration) -> Void = { _ in }) throws {
            var configuration = SignalingServer.Configuration(host: "127.0.0.1", port: 0)
            change(&configuration)
            let lines = Lines()
            self.lines = lines
            let log = Log(format: .json, level: .debug, unixTime: { 0 }) { lines.append($0) }
            server = SignalingServer(configuration, log: log)
            port = try server.start()
        }

        deinit { server.stop() }

        var said: [String] { lines.all }

        /// Drains on a thread of its own, since the pool's may all be in tests that block; the stream ends with it.
        func beginDrain() -> AsyncStream<Never> {
            let (ended, continuation) = AsyncStream.makeStream(of: Never.self)
            Thread.detachNewThread { [server] in
                server.drain()
                continuation.finish()
            }
            return ended
        }
    }

    private func get(_ path: String, port: UInt16, method: String = "GET", _ headers: String = "Host: localhost\r\n")
        throws -> (status: Int, head: String, body: String)
    {
        let socket = try RawSocket(port: port)
        defer { socket.close() }
        socket.send("\(method) \(path) HTTP/1.1\r\n\(headers)\r\n")
        return try socket.response(hasBody: method != "HEAD")
    }

    /// A sample's value in the metrics' text.
    private func value(_ sample: String, in text: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(sample + " ") }.flatMap {
            Double($0.dropFirst(sample.count + 1))
        }
    }

    @Test("metrics tell what there is and what came and went")
    func metrics() async throws {
        let running = try Running()
        let publisher = RecordingClient(port: running.port)
        defer { publisher.close() }
        _ = try await publisher.welcome()
        publisher.send(.publish(stream: "main"))
        _ = try await publisher.message("the stream") { if case .streamPublished = $0 { true } else { nil } }
        let viewer = RecordingClient(port: running.port)
        defer { viewer.close() }
        _ = try await viewer.welcome()
        viewer.send(.subscribe(subscription: LoopbackTests.subscription, stream: "main", sdp: "v=0"))
        _ = try await publisher.message("the offer") { if case .subscribe = $0 { true } else { nil } }
        viewer.send(.unpublish(stream: "main"))
        #expect(try await viewer.errorCode() == .streamNotFound)

        let response = try get("/metrics", port: running.port)
        #expect(response.status == 200)
        #expect(response.head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"))
        for (sample, expected) in [
            ("emisora_server_ready", 1), ("emisora_server_rooms", 1), ("emisora_server_participants", 2),
            ("emisora_server_streams", 1), ("emisora_server_subscriptions", 1), ("emisora_server_websockets", 2),
            ("emisora_server_connections", 3), ("emisora_server_http_sessions{kind=\"whep\"}", 0),
            ("emisora_server_messages_received_total{type=\"join\"}", 2),
            ("emisora_server_messages_received_total{type=\"publish\"}", 1),
            ("emisora_server_messages_sent_total{type=\"welcome\"}", 2),
            ("emisora_server_messages_sent_total{type=\"subscribe\"}", 1),
            ("emisora_server_errors_total{code=\"streamNotFound\"}", 1),
            ("emisora_server_join_duration_seconds_count", 2),
            ("emisora_server_join_duration_seconds_bucket{le=\"+Inf\"}", 2),
        ] as [(String, Double)] {
            #expect(value(sample, in: response.body) == expected, "\(sample)")
        }
        for counter in ["emisora_server_received_bytes_total", "emisora_server_sent_bytes_total"] {
            #expect(try #require(value(counter, in: response.body)) > 100)
        }
        for gauge in ["process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds"] {
            #expect(try #require(value(gauge, in: response.body)) > 1)
        }
        // Names come from outside, and have no place in what is kept for ever.
        #expect(!response.body.contains("demo") && !response.body.contains("main\""))
        #expect(try get("/metrics", port: running.port, method: "DELETE").status == 405)
        #expect(try get("/metrics", port: running.port, method: "HEAD").status == 200)
    }

    @Test("what was refused is counted by its reason")
    func refusals() throws {
        let running = try Running { $0.limits.strangerTimeout = .milliseconds(100) }
        #expect(throws: SocketFailure.self) {
            try RawWebsocket(port: running.port, headers: "Origin: https://evil.test\r\n")
        }
        let silent = try RawSocket(port: running.port)
        #expect(try silent.hasEnded(within: .seconds(30), of: .now))
        _ = try get("/nowhere/at/all", port: running.port)
        let text = try get("/metrics", port: running.port).body
        #expect(value("emisora_server_connections_refused_total{reason=\"origin\"}", in: text) == 1)
        #expect(value("emisora_server_connections_refused_total{reason=\"stranger\"}", in: text) == 1)
        #expect(value("emisora_server_http_responses_total{status=\"404\"}", in: text) == 1)
    }

    @Test(
        "on the server's port only programs of this machine that ask directly read metrics",
        arguments: [
            ("Host: localhost\r\n", 200), ("Host: 127.0.0.1:80\r\n", 200), ("Host: [::1]:80\r\n", 200),
            ("Host: LocalHost:1\r\n", 200), ("Host: example.org\r\n", 404), ("Host: 127.0.0.1.evil.test\r\n", 404),
            ("Host: localhost\r\nX-Forwarded-For: 203.0.113.7\r\n", 404),
            ("Host: localhost\r\nVia: 1.1 proxy\r\n", 404),
        ])
    func readers(headers: String, status: Int) throws {
        let running = try Running()
        #expect(try get("/metrics", port: running.port, headers).status == status)
    }

    @Test("with an address of their own metrics are there, for all, and nowhere else")
    func ownAddress() async throws {
        let running = try Running { $0.metrics = .at(MetricsAddress("127.0.0.1:0")!) }
        let url = try #require(running.server.metricsURL)
        let port = try #require(UInt16(url.split(separator: ":")[2].split(separator: "/")[0]))
        #expect(try get("/metrics", port: running.port).status == 404)
        #expect(try get("/metrics", port: port, "Host: example.org\r\n").status == 200)
        #expect(try get("/readyz", port: port).body == "{\"status\":\"ready\"}\n")
        #expect(try get("/healthz", port: port).status == 200)
        for path in ["/", "/demo", "/assets/viewer.js", "/whep/demo"] {
            #expect(try get(path, port: port).status == 404)
        }
        // Nor is it another way to join.
        #expect { try RawWebsocket(port: port) } throws: { "\($0)".contains("404") }
        let client = RecordingClient(port: running.port)
        defer { client.close() }
        _ = try await client.welcome()
        // It is told what the loop has published last, once a second.
        let end = ContinuousClock.now + .seconds(30)
        var text = ""
        while value("emisora_server_participants", in: text) != 1, ContinuousClock.now < end {
            text = try get("/metrics", port: port).body
        }
        #expect(value("emisora_server_participants", in: text) == 1)
        running.server.stop()
        #expect(throws: SocketFailure.self) { try RawSocket(port: port) }
    }

    @Test("an address that is taken ends the start, and leaves nothing behind")
    func takenAddress() throws {
        let first = try Running()
        let address = try #require(MetricsAddress("127.0.0.1:\(first.port)"))
        var configuration = SignalingServer.Configuration(port: 0)
        configuration.metrics = .at(address)
        #expect(throws: SignalingServerError.portTaken(host: "127.0.0.1", port: first.port)) {
            try SignalingServer(configuration).start()
        }
    }

    @Test("no metrics where none are wanted")
    func off() throws {
        let running = try Running { $0.metrics = .off }
        #expect(try get("/metrics", port: running.port).status == 404)
        #expect(try get("/readyz", port: running.port).status == 200)
    }

    @Test("who drains takes nobody new, keeps who is there, and closes with 1001 when the time is up")
    func draining() async throws {
        let running = try Running { $0.drainTime = .seconds(3600) }
        let joined = RecordingClient(port: running.port)
        _ = try await joined.welcome()
        let stranger = try RawWebsocket(port: running.port)
        let ended = running.beginDrain()
        // The one who has not joined goes first, which shows that it has begun.
        #expect(try stranger.closeCode() == 1001)

        let ready = try get("/readyz", port: running.port)
        #expect(ready.status == 503 && ready.head.contains("Retry-After: ") && ready.body.contains("draining"))
        #expect(try get("/healthz", port: running.port).status == 200)
        let whep = try get(
            "/whep/demo", port: running.port, method: "POST",
            "Host: localhost\r\nContent-Type: application/sdp\r\nContent-Length: 1\r\n\r\nx")
        #expect(whep.status == 503 && whep.head.contains("Retry-After: "))
        #expect {
            try RawWebsocket(port: running.port)
        } throws: {
            "\($0)".contains("503") && "\($0)".contains("Retry-After: ")
        }
        let text = try get("/metrics", port: running.port).body
        #expect(value("emisora_server_ready", in: text) == 0)
        #expect(value("emisora_server_connections_refused_total{reason=\"draining\"}", in: text) == 1)
        // Who is there is served as before.
        joined.send(.publish(stream: "main"))
        _ = try await joined.message("the stream") { if case .streamPublished = $0 { true } else { nil } }
        // The last one to leave ends it.
        joined.close()
        for await _ in ended {}
        #expect(throws: SocketFailure.self) { try RawSocket(port: running.port) }
        #expect(running.said.contains { $0.contains("server.draining") })
    }

    @Test("who stays longer than the time to drain is told by 1001")
    func drainingInTime() async throws {
        let running = try Running { $0.drainTime = .milliseconds(100) }
        let joined = try RawWebsocket(port: running.port)
        joined.send(text: "{\"type\":\"join\",\"version\":1,\"room\":\"demo\"}")
        #expect(try joined.receive().contains("welcome"))
        let ended = running.beginDrain()
        #expect(try joined.closeCode() == 1001)
        // It answers the close with nothing: the server ends nevertheless.
        for await _ in ended {}
        #expect(throws: SocketFailure.self) { try RawSocket(port: running.port) }
    }

    @Test("with nobody there a drain is over at once")
    func drainingNobody() async throws {
        let running = try Running { $0.drainTime = .seconds(3600) }
        running.server.drain()
        #expect(throws: SocketFailure.self) { try RawSocket(port: running.port) }
    }

    @Test("who joins and leaves is told at the debug level, without anything that is secret")
    func log() async throws {
        let running = try Running()
        let client = RecordingClient(port: running.port, token: BearerToken("top.secret.token"))
        _ = try await client.welcome()
        client.close()
        let end = ContinuousClock.now + .seconds(30)
        while !running.said.contains(where: { $0.contains("participant.left") }), ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(2))
        }
        let joined = try #require(running.said.first { $0.contains("participant.joined") })
        #expect(joined.contains("\"room\":\"demo\"") && joined.contains("\"participant\":\""))
        #expect(running.said.contains { $0.contains("participant.left") })
        #expect(!running.said.contains { $0.contains("top.secret.token") })
    }

    @Test(
        "an address is a host and a port, IPv6 in brackets",
        arguments: [
            ("127.0.0.1:9464", "127.0.0.1"), ("[::1]:0", "::1"), ("metrics.test:1", "metrics.test"), ("[::1]", nil),
            ("::1:9", nil), ("a", nil), (":1", nil), ("a:", nil), ("a b:1", nil), ("[a]]:1", nil), ("a:65536", nil),
        ] as [(String, String?)])
    func addresses(text: String, host: String?) {
        #expect(MetricsAddress(text)?.host == host)
    }
}
