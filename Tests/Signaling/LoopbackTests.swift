import EmisoraSignalingClient
import EmisoraSignalingProtocol
import EmisoraSignalingServer
import Synchronization
import Testing

/// A client whose events are kept, and awaited with a bound.
final class RecordingClient: Sendable {
    private struct NotInTime: Error, CustomStringConvertible {
        let description: String
    }

    private let events = Mutex<[SignalingClientEvent]>([])
    private let inner = Mutex<SignalingClient?>(nil)

    init(port: UInt16, room: String = "demo", host: String = "127.0.0.1", token: BearerToken? = nil) {
        var settings = SignalingClient.Settings()
        settings.token = token
        let url = SignalingURL(host: host, port: port, room: room)
        let client = SignalingClient(url: url, settings: settings) { [weak self] event in
            self?.events.withLock { $0.append(event) }
        }
        inner.withLock { $0 = client }
        client.connect()
    }

    var all: [SignalingClientEvent] { events.withLock { $0 } }

    @discardableResult
    func send(_ message: SignalingMessage) -> Bool {
        inner.withLock { $0 }?.send(message) ?? false
    }

    func close() { inner.withLock { $0 }?.close() }

    /// Waits for an event that `match` knows, and takes everything up to it.
    func next<T>(_ what: String, within limit: Duration = .seconds(30), _ match: (SignalingClientEvent) -> T?)
        async throws -> T
    {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            let found = events.withLock { events -> T? in
                for (index, event) in events.enumerated() {
                    guard let value = match(event) else { continue }
                    events.removeSubrange(...index)
                    return value
                }
                return nil
            }
            if let found { return found }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw NotInTime(description: "\(what) did not come; there is \(all)")
    }

    func message<T>(_ what: String, _ match: (SignalingMessage) -> T?) async throws -> T {
        try await next(what) { event in
            if case .message(let message) = event { match(message) } else { nil }
        }
    }

    func welcome() async throws -> [StreamDescription] {
        try await message("welcome") { if case .welcome(_, _, _, let streams, _, _) = $0 { streams } else { nil } }
    }

    func errorCode() async throws -> SignalingError.Code {
        try await message("error") { if case .error(let error) = $0 { error.code } else { nil } }
    }
}

@Suite(.serialized) struct LoopbackTests {
    static let subscription = "0123456789abcdef"

    static func withServer(
        answerTimeout: Duration = .seconds(10), host: String = "127.0.0.1",
        _ change: (inout SignalingServer.Configuration) -> Void = { _ in }, _ body: (UInt16) async throws -> Void
    ) async throws {
        var configuration = SignalingServer.Configuration(host: host, port: 0, answerTimeout: answerTimeout)
        change(&configuration)
        let server = SignalingServer(configuration)
        let port = try server.start()
        defer { server.stop() }
        try await body(port)
    }

    static func publisher(_ port: UInt16) async throws -> RecordingClient {
        let client = RecordingClient(port: port)
        _ = try await client.welcome()
        client.send(.publish(stream: "camera"))
        try await client.message("streamPublished") { if case .streamPublished = $0 { () } else { nil } }
        return client
    }

    @Test(arguments: ["127.0.0.1", "localhost", "::1"])
    func aWholeExchangeGoesThroughTheServer(_ host: String) async throws {
        try await Self.withServer(host: host) { port in
            let publisher = RecordingClient(port: port, host: host)
            _ = try await publisher.welcome()
            publisher.send(.publish(stream: "camera"))
            try await publisher.message("streamPublished") { if case .streamPublished = $0 { () } else { nil } }
            let viewer = RecordingClient(port: port, host: host)
            #expect(try await viewer.welcome().map(\.stream) == ["camera"])
            let sdp = String(repeating: "a=x\r\n", count: 8_000)
            viewer.send(.subscribe(subscription: Self.subscription, stream: "camera", sdp: sdp))
            #expect(
                try await publisher.message("subscribe") { if case .subscribe(_, _, let sdp) = $0 { sdp } else { nil } }
                    == sdp)
            publisher.send(.answer(subscription: Self.subscription, sdp: "v=0"))
            try await viewer.message("answer") { if case .answer = $0 { () } else { nil } }
            viewer.close()
            let reason = try await publisher.message("subscriptionEnded") {
                if case .subscriptionEnded(_, let reason) = $0 { reason } else { nil }
            }
            #expect(reason == .left)
            publisher.close()
            #expect(publisher.all.last == .disconnected(.closed))
        }
    }

    @Test func theSecondPublisherAloneIsRefused() async throws {
        try await Self.withServer { port in
            let first = try await Self.publisher(port)
            let second = RecordingClient(port: port)
            _ = try await second.welcome()
            second.send(.publish(stream: "camera"))
            #expect(try await second.errorCode() == .streamTaken)
            #expect(!first.all.contains { if case .message(.error) = $0 { true } else { false } })
            first.close()
            try await second.message("streamUnpublished") { if case .streamUnpublished = $0 { () } else { nil } }
            second.send(.publish(stream: "camera"))
            try await second.message("streamPublished") { if case .streamPublished = $0 { () } else { nil } }
            second.close()
        }
    }

    @Test func aClientRejoinsWhenTheServerIsBack() async throws {
        let server = SignalingServer(.init(port: 0))
        let port = try server.start()
        let client = RecordingClient(port: port)
        _ = try await client.welcome()
        server.stop()
        try await client.next("disconnected") { $0 == .disconnected(.connectionLost) ? () : nil }
        // Kept for the case that the server knows the client again, which it does not.
        #expect(client.send(.publish(stream: "camera")))
        let again = SignalingServer(.init(port: port))
        try again.start()
        #expect(try await client.welcome() == [])
        let late = RecordingClient(port: port)
        #expect(try await late.welcome() == [])
        late.close()
        client.close()
        again.stop()
    }

    @Test func withoutAServerTheClientKeepsTryingAndStillCloses() async throws {
        let server = SignalingServer(.init(port: 0))
        let port = try server.start()
        server.stop()
        let client = RecordingClient(port: port)
        for _ in 0..<2 {
            try await client.next("connectFailed") { event in
                if case .disconnected(.connectFailed) = event { () } else { nil }
            }
        }
        client.close()
        #expect(client.all.last == .disconnected(.closed))
    }

    @Test func aTakenPortIsATypedErrorAndAStoppedServerGivesItBack() throws {
        let server = SignalingServer(.init(port: 0))
        let port = try server.start()
        #expect(throws: SignalingServerError.portTaken(host: "127.0.0.1", port: port)) {
            try SignalingServer(.init(port: port)).start()
        }
        server.stop()
        let next = SignalingServer(.init(port: port))
        #expect(try next.start() == port)
        next.stop()
        var elsewhere = SignalingServer.Configuration(host: "192.0.2.1", port: 0)
        elsewhere.isInsecurelyOpen = true
        #expect(throws: SignalingServerError.addressNotAvailable(host: "192.0.2.1")) {
            try SignalingServer(elsewhere).start()
        }
    }

    @Test func badMessagesGetACodeAndTheConnectionGoesOn() async throws {
        try await Self.withServer { port in
            let raw = try RawWebsocket(port: port)
            for (text, code) in [
                ("{", "malformedMessage"), (#"{"type":"dance"}"#, "unknownType"),
                (#"{"type":"publish","stream":"a"}"#, "notJoined"),
                (#"{"type":"leave","x":""# + String(repeating: "x", count: 70_000) + #""}"#, "messageTooLarge"),
            ] {
                raw.send(text: text)
                #expect(try raw.receive().contains("\"code\":\"\(code)\""))
            }
            raw.send(text: #"{"type":"join","version":1,"room":"demo"}"#)
            #expect(try raw.receive().contains("\"type\":\"welcome\""))
        }
    }

    @Test func aKilledConnectionIsNoticedAtOnceAndASilentOneWithinFiveSeconds() async throws {
        try await Self.withServer({ $0.limits.resumeGrace = .zero }) { port in
            let watcher = RecordingClient(port: port)
            _ = try await watcher.welcome()
            for (stream, killed) in [("killed", true), ("silent", false)] {
                let raw = try RawWebsocket(port: port)
                raw.send(text: #"{"type":"join","version":1,"room":"demo"}"#)
                raw.send(text: #"{"type":"publish","stream":"\#(stream)"}"#)
                try await watcher.message("streamPublished") { if case .streamPublished = $0 { () } else { nil } }
                let start = ContinuousClock.now
                // A client that answers no pings is one whose machine is gone.
                if killed { raw.close() }
                try await watcher.message("streamUnpublished") { if case .streamUnpublished = $0 { () } else { nil } }
                if isTimingJudged {
                    #expect(ContinuousClock.now - start < (killed ? .seconds(1) : .milliseconds(5_500)))
                }
                raw.close()
            }
            watcher.close()
        }
    }

    @Test func whoReadsNothingLosesItsSubscriptionAndNobodyElseAnything() async throws {
        try await Self.withServer({ $0.limits.resumeGrace = .zero }) { port in
            let publisher = try await Self.publisher(port)
            let raw = try RawWebsocket(port: port, receiveBuffer: 4096)
            raw.send(text: #"{"type":"join","version":1,"room":"demo"}"#)
            raw.send(text: #"{"type":"subscribe","subscription":"\#(Self.subscription)","stream":"camera","sdp":""}"#)
            try await publisher.message("subscribe") { if case .subscribe = $0 { () } else { nil } }
            let sdp = String(repeating: "x", count: 60_000)
            for _ in 0..<60 { publisher.send(.offer(subscription: Self.subscription, sdp: sdp)) }
            let reason = try await publisher.message("subscriptionEnded") {
                if case .subscriptionEnded(_, let reason) = $0 { reason } else { nil }
            }
            #expect(reason == .timedOut)
            // The publisher goes on.
            publisher.send(.publish(stream: "another"))
            try await publisher.message("streamPublished") {
                if case .streamPublished(let one) = $0, one.stream == "another" { () } else { nil }
            }
            publisher.close()
            raw.close()
        }
    }

    @Test func closingFromManyThreadsLeavesNoThreadBehind() async throws {
        try await Self.withServer { port in
            let before = threadCount()
            for _ in 0..<10 {
                let client = RecordingClient(port: port)
                _ = try await client.welcome()
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 { group.addTask { client.close() } }
                }
            }
            let end = ContinuousClock.now + .seconds(30)
            while threadCount() > before + 3, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(10)) }
            #expect(threadCount() <= before + 3)
        }
    }
}
