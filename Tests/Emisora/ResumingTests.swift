import EmisoraSignalingClient
import EmisoraSignalingProtocol
import Synchronization
import Testing

@testable import Emisora

/// What a session makes of a lost connection and of its return, its room scripted by the test.
@Suite(.serialized) struct ResumingTests {
    private final class ScriptedChannel: SignalingChannel {
        private struct State {
            var onEvent: (@Sendable (SignalingClientEvent) -> Void)?
            var sent: [SignalingMessage] = []
            /// Of the one stream, as they were said last.
            var properties: StreamProperties?
        }
        let usualOfferer = Offerer.subscriber
        private let state = Mutex(State())

        func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) {
            state.withLock { $0.onEvent = onEvent }
            onEvent(.connected)
            welcome("me")
        }

        func say(_ event: SignalingClientEvent) {
            state.withLock { $0.onEvent }?(event)
        }

        func welcome(_ id: String, _ streams: [(String, String)] = [], grace: Double = 0.05) {
            say(
                .message(
                    .welcome(
                        version: 1, id: id, room: "demo",
                        streams: streams.map {
                            StreamDescription(
                                stream: $0, publisher: $1, properties: $1 == "me" ? properties : nil)
                        },
                        resume: ResumptionTicket(secret: BearerToken("secret"), grace: grace))))
        }

        /// As the server does, a stream that is published is confirmed at once.
        func send(_ message: SignalingMessage) {
            state.withLock { $0.sent.append(message) }
            switch message {
            case .receive(let stream): say(.message(.receiving(stream: stream)))
            case .publish(let stream, let properties):
                state.withLock { $0.properties = properties }
                say(
                    .message(
                        .streamPublished(StreamDescription(stream: stream, publisher: "me", properties: properties))))
            case .updateStream(_, let properties): state.withLock { $0.properties = properties }
            default: break
            }
        }

        var properties: StreamProperties? { state.withLock { $0.properties } }

        func close() {
            state.withLock { $0.onEvent = nil }
        }

        /// What was sent since the last look.
        func takeSent() -> [SignalingMessage] {
            state.withLock { state in
                defer { state.sent = [] }
                return state.sent
            }
        }

        func lose(attempt: Int = 1) {
            say(.disconnected(.connectionLost))
            say(.reconnecting(attempt: attempt))
        }
    }

    private static func session() async throws -> (Session, ScriptedChannel, AsyncStream<SessionEvent>.Iterator) {
        let channel = ScriptedChannel()
        let session = try await Session.open(channel, Session.Options(addresses: .loopback))
        return (session, channel, session.events.makeAsyncIterator())
    }

    /// The next event that is not a stream's.
    private static func next(_ events: inout AsyncStream<SessionEvent>.Iterator) async -> String {
        await events.next().map { "\($0)" } ?? "the end"
    }

    @Test func anOutageIsToldWithItsAttemptsAndItsEnd() async throws {
        var (session, channel, events) = try await Self.session()
        channel.lose()
        #expect(
            await Self.next(&events)
                == #"reconnecting(attempt: 1, reason: "The connection to the signaling server was lost.")"#)
        channel.say(.disconnected(.connectFailed("nobody there")))
        channel.say(.reconnecting(attempt: 2))
        #expect(
            await Self.next(&events)
                == #"reconnecting(attempt: 2, reason: "The signaling server could not be reached: nobody there.")"#)
        channel.welcome("me")
        #expect(await Self.next(&events) == "reconnected")
        await session.disconnect()
        #expect(await Self.next(&events) == "ended(The session was closed.)")
        #expect(await Self.next(&events) == "the end")
    }

    @Test func aStreamThatIsMissingAfterARestartIsWaitedForAndThenGone() async throws {
        var (session, channel, events) = try await Self.session()
        channel.say(.message(.streamPublished(StreamDescription(stream: "late", publisher: "them"))))
        channel.say(.message(.streamPublished(StreamDescription(stream: "gone", publisher: "them"))))
        for name in ["late", "gone"] { #expect(await Self.next(&events) == #"streamPublished(name: "\#(name)")"#) }
        channel.lose()
        // Long enough that the looks at the room before its end are before it on a busy machine, too.
        channel.welcome("me", grace: 2)
        channel.say(.message(.streamPublished(StreamDescription(stream: "late", publisher: "them"))))
        _ = await Self.next(&events)
        #expect(await Self.next(&events) == "reconnected")
        #expect(await Self.next(&events) == #"streamPublished(name: "late")"#)
        #expect(await session.streams.sorted() == ["gone", "late"])
        #expect(await Self.next(&events) == #"streamUnpublished(name: "gone")"#)
        #expect(await session.streams == ["late"])
        await session.disconnect()
    }

    /// Until the session is back in its room, and has said what there was to say.
    private static func reconnected(
        _ session: Session, _ events: inout AsyncStream<SessionEvent>.Iterator
    ) async throws {
        while true {
            let event = await Self.next(&events)
            if event == "reconnected" { break }
            try #require(event != "the end")
        }
        _ = await session.statistics()
    }

    @Test func aPublisherSaysAnewOnlyWhatTheRoomDoesNotKnow() async throws {
        var (session, channel, events) = try await Self.session()
        let publisher = Publisher(videoCapture: NoiseCapture())
        try await session.publish(publisher)
        _ = await Self.next(&events)
        try await eventually("the size of its pictures is told") { channel.properties?.width != nil }
        _ = channel.takeSent()
        let properties = channel.properties
        for (id, streams, said) in [
            ("me", [("main", "me")], [SignalingMessage]()),
            ("another", [], [.publish(stream: "main", properties: properties)]),
            ("me", [], [.publish(stream: "main", properties: properties)]),
        ] {
            channel.lose()
            channel.welcome(id, streams)
            try await Self.reconnected(session, &events)
            #expect(channel.takeSent() == said)
        }
        // What changed meanwhile is said, too.
        channel.lose()
        publisher.publishesVideo = false
        channel.welcome("me", [("main", "me")])
        try await Self.reconnected(session, &events)
        #expect(channel.properties?.hasVideo == false)
        #expect(channel.takeSent().map(\.type) == ["updateStream"])
        await session.disconnect()
    }

    @Test(arguments: ["studio", nil])
    func aReceiversNameThatAnotherTookMeanwhileIsToldOnce(_ lost: String?) async throws {
        var (session, channel, events) = try await Self.session()
        let kept: String? = lost == nil ? "studio" : nil
        let subscribers = [Subscriber(), Subscriber(), Subscriber()]
        try await session.receive(subscribers[0], as: lost)
        try await session.receive(subscribers[1], as: kept)
        channel.lose()
        channel.welcome("me")
        _ = await Self.next(&events)
        #expect(await Self.next(&events) == "reconnected")
        let refusal = SignalingError(.streamTaken, "Another has it.", inReplyTo: "receive", stream: lost)
        for _ in 0..<2 { channel.say(.message(.error(refusal))) }
        guard
            case .receivingEnded(lost, .refused(code: "streamTaken", message: "Another has it.")) = await events.next()
        else { throw SessionError.invalidState("not told") }
        // It is free to be asked for again, and the other one is ours still.
        try await session.receive(subscribers[2], as: lost)
        await #expect(throws: SessionError.self) { try await session.receive(Subscriber(), as: kept) }
        await session.disconnect()
        #expect(await Self.next(&events) == "ended(The session was closed.)")
    }

    @Test func aSessionThatMayNotTryAgainEndsWithItsReason() async throws {
        var (session, channel, events) = try await Self.session()
        let publisher = Publisher(videoCapture: NoiseCapture())
        try await session.publish(publisher)
        _ = await Self.next(&events)
        channel.say(.disconnected(.connectionLost))
        channel.say(.gaveUp(attempts: 0))
        #expect(
            await Self.next(&events)
                == "ended(The connection to the signaling server was lost. No attempt was to be made to come back.)")
        #expect(await Self.next(&events) == "the end")
        try await eventually("the capturer ends") { publisher.videoCapture?.isCapturing == false }
        await session.disconnect()
    }

    @Test func aSessionThatIsTakenOverEndsAndDoesNotFightForItself() async throws {
        var (session, channel, events) = try await Self.session()
        channel.say(.message(.error(SignalingError(.takenOver, "It goes on elsewhere."))))
        #expect(await Self.next(&events) == "ended(The session goes on over another connection.)")
        #expect(await Self.next(&events) == "the end")
        await session.disconnect()
    }

    @Test func aSessionThatAModeratorEndsSaysSoAndEnds() async throws {
        var (session, channel, events) = try await Self.session()
        channel.lose()
        _ = await Self.next(&events)
        // It was put out while it was away.
        channel.say(.message(.forceDisconnected(ForcedDisconnect(id: "me", reason: "Enough", by: "them"))))
        #expect(await Self.next(&events) == #"forceDisconnected(by: "them", reason: Optional("Enough"))"#)
        #expect(await Self.next(&events) == "ended(A moderator has ended the session: Enough)")
        #expect(await Self.next(&events) == "the end")
        await session.disconnect()
    }

    @Test func whatChangedInAStreamDuringAnOutageIsTold() async throws {
        var (session, channel, events) = try await Self.session()
        func stream(hasVideo: Bool) -> StreamDescription {
            StreamDescription(
                stream: "theirs", publisher: "them", properties: .init(hasVideo: hasVideo, hasAudio: true))
        }
        channel.say(.message(.streamPublished(stream(hasVideo: true))))
        _ = await Self.next(&events)
        channel.lose()
        channel.say(.message(.welcome(version: 1, id: "me", room: "demo", streams: [stream(hasVideo: false)])))
        try await Self.reconnected(session, &events)
        #expect(await Self.next(&events) == #"streamPublished(name: "theirs")"#)
        guard case .streamPropertyChanged(let now, from: let before)? = await events.next() else {
            Issue.record("no change")
            return
        }
        #expect(now.hasVideo == false && before.hasVideo == true)
        await session.disconnect()
    }

    @Test func whyAServerDoesNotLetItBackInIsTold() async throws {
        var (session, channel, events) = try await Self.session()
        channel.lose()
        _ = await Self.next(&events)
        channel.say(.message(.error(SignalingError(.unauthorized, "The token has expired.", inReplyTo: "join"))))
        channel.lose(attempt: 2)
        let told = await Self.next(&events)
        #expect(told.contains("attempt: 2") && told.contains("The token has expired."))
        await session.disconnect()
    }
}
