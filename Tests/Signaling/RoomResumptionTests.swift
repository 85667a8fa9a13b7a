import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingClient
@testable import EmisoraSignalingServer

/// What signals, properties of streams and moderators become for those whose connections break.
@Suite struct RoomResumptionTests {
    typealias World = ResumptionWorld

    private static let muted = StreamProperties(
        hasVideo: false, hasAudio: true, width: 640, height: 480, rotation: 90, codecs: ["VP8", "opus"])
    private static var unmuted: StreamProperties {
        var properties = muted
        properties.hasVideo = true
        return properties
    }

    private static func signal(_ data: String, to: String? = nil) -> SignalingMessage {
        .signal(RoutedSignal(SignalContent(type: "chat", data: data), to: to))
    }

    private static func data(of messages: [SignalingMessage]) -> [String] {
        messages.compactMap { if case .signal(let signal) = $0 { signal.content.data } else { nil } }
    }

    private static func properties(in messages: [SignalingMessage]) -> [StreamProperties?] {
        messages.compactMap {
            guard case .welcome(_, _, _, let streams, _, _) = $0 else { return nil }
            return streams.first { $0.stream == "camera" }?.properties
        }
    }

    // MARK: Put out

    /// A client that forgets nothing, whatever it is told.
    @Test(arguments: [false, true])
    func whoIsPutOutDoesNotComeBackAsWhoItWas(_ isAway: Bool) throws {
        let world = World.call()
        let id = try #require(world.id("viewer"))
        let memory = try #require(world.clients["viewer"]).memory
        if isAway { world.lose("viewer") }
        world.say(.forceDisconnect(ForcedDisconnect(id: id, reason: "Enough")), "publisher")
        let word = ForcedDisconnect(id: id, reason: "Enough", by: world.id("publisher"))
        #expect(world.told("viewer") == (isAway ? [] : [.forceDisconnected(word)]))
        #expect(world.toldTypes("publisher") == ["subscriptionEnded", "participantLeft"])
        world.lose("viewer")
        #expect(world.participants == 1)
        #expect(world.directory.participants.count == 1)

        for _ in 0..<2 {
            world.clients["viewer"]?.memory = memory
            world.clients["viewer"]?.memory.lost()
            world.join("viewer")
            #expect(world.told("viewer") == [.forceDisconnected(word)])
            #expect(world.clients["viewer"]?.isClosed == true)
            world.lose("viewer")
        }
        #expect(world.participants == 1)
        #expect(world.told("publisher") == [])
        // Others come back as before.
        world.lose("publisher")
        world.join("publisher")
        #expect(world.toldTypes("publisher") == ["welcome"])
    }

    @Test func aClientThatIsPutOutForgetsItsSecret() throws {
        let world = World.call()
        let id = try #require(world.id("viewer"))
        world.say(.forceDisconnect(ForcedDisconnect(id: id)), "publisher")
        var memory = try #require(world.clients["viewer"]).memory
        memory.lost()
        #expect(memory.opened(room: "demo", token: nil) == .join(version: 1, room: "demo"))
    }

    @Test func theNewestOfThoseWhoWerePutOutAreRemembered() {
        var expulsions = Expulsions()
        for number in 0..<(Expulsions.capacity + 2) {
            expulsions.add(ForcedDisconnect(id: "\(number)", reason: "once"))
            expulsions.add(ForcedDisconnect(id: "\(number)", reason: "twice"))
        }
        let known = (0..<(Expulsions.capacity + 2)).filter { expulsions.word(for: "\($0)")?.reason == "twice" }
        #expect(known == Array(2..<(Expulsions.capacity + 2)))
    }

    // MARK: Properties

    @Test func whatIsInAStreamOutlivesAServersMemory() {
        let world = World.call()
        world.say(.updateStream(stream: "camera", properties: Self.muted), "publisher")
        world.restart()
        world.join("publisher")
        world.join("viewer")
        #expect(Self.properties(in: world.told("publisher")) == [Self.muted])
        #expect(Self.properties(in: world.told("viewer")) == [Self.muted])
    }

    @Test func whatChangedWhileThePublisherWasAwayIsToldOnce() {
        let world = World.call()
        world.say(.updateStream(stream: "camera", properties: Self.unmuted), "publisher")
        world.lose("publisher")
        world.say(.updateStream(stream: "camera", properties: Self.muted), "publisher")
        _ = world.told("viewer")
        _ = world.told("publisher")
        world.join("publisher")
        let changes = world.told("viewer")
        #expect(changes.map(\.type) == ["streamPropertyChanged"])
        if case .streamPropertyChanged(let stream)? = changes.first { #expect(stream.properties == Self.muted) }
        #expect(Self.properties(in: world.told("publisher")) == [Self.muted])
    }

    @Test func whatChangedWhileAViewerWasAwayIsInItsWelcomeAlone() {
        let world = World.call()
        world.lose("viewer")
        for properties in [Self.unmuted, Self.muted, Self.unmuted, Self.muted] {
            world.say(.updateStream(stream: "camera", properties: properties), "publisher")
        }
        world.join("viewer")
        let told = world.told("viewer")
        #expect(told.map(\.type) == ["welcome"])
        #expect(Self.properties(in: told) == [Self.muted])
    }

    @Test func propertiesBeyondTheirBoundsDoNotComeBackEither() {
        let world = World.call()
        world.restart()
        var wrong = Self.muted
        wrong.rotation = 45
        _ = world.clients["publisher"]?.memory.willSend(
            .updateStream(stream: "camera", properties: wrong), byteCount: 1)
        world.join("publisher")
        #expect(world.toldTypes("publisher").prefix(2) == ["welcome", "error"])
        #expect(world.streams == [])
    }

    /// What a receiver wants is said once: the sender hears of it however late it comes back.
    @Test func aSelectionAwaitsThePublisherOfAServerThatForgot() {
        let world = World.call()
        let select = SignalingMessage.select(
            subscription: World.subscription, MediaSelection(video: false, audio: true))
        world.restart()
        world.join("viewer")
        world.say(.select(subscription: World.subscription, .everything), "viewer")
        world.say(select, "viewer")
        world.join("publisher")
        #expect(world.told("publisher").filter { $0.type == "select" } == [select])
        #expect(world.isConnected())
    }

    // MARK: Signals

    @Test func signalsAwaitWhoIsAwayInTheirOrder() {
        let world = World.call()
        world.join("other")
        let id = world.id("viewer")
        world.lose("viewer")
        for number in 0..<20 {
            world.say(Self.signal("\(number)", to: number % 2 == 0 ? id : nil), number % 3 == 0 ? "other" : "publisher")
        }
        world.join("viewer")
        let told = world.told("viewer")
        #expect(told.first?.type == "welcome")
        #expect(Self.data(of: told) == (0..<20).map { "\($0)" })
    }

    @Test func whoSaysMoreThanIsKeptForSomebodyAwayIsToldSo() throws {
        let world = World.call()
        world.join("other")
        let id = try #require(world.id("viewer"))
        world.lose("viewer")
        _ = world.told("publisher")
        for number in 0..<200 { world.say(Self.signal("\(number)", to: id), "publisher") }
        let refused = world.told("publisher").compactMap { message -> SignalingError? in
            if case .error(let error) = message { error } else { nil }
        }
        #expect(refused.count == 200 - 128)
        #expect(refused.allSatisfy { $0.code == .limitReached && $0.inReplyTo == "signal" && $0.message.contains(id) })
        world.say(Self.signal("another's", to: id), "other")
        world.join("viewer")
        #expect(Self.data(of: world.told("viewer")) == (0..<128).map { "\($0)" } + ["another's"])
        #expect(world.isConnected())
    }

    @Test func aModeratorsWordsForSomebodyAwayAreBoundedToo() {
        let world = World.call()
        world.lose("publisher")
        _ = world.told("viewer")
        let mute = SignalingMessage.forceMute(ForcedMute(stream: "camera", media: .everything))
        for _ in 0..<200 { world.say(mute, "viewer") }
        #expect(world.toldTypes("viewer").count == 200 - 128)
        world.join("publisher")
        #expect(world.toldTypes("publisher").count { $0 == "muteForced" } == 128)
    }

    // MARK: Comings and goings

    @Test func aModeratorThatComesBackIsToldWhoCameAndWentMeanwhile() {
        let world = World.call(asksForTokens: true)
        let viewer = AccessTests.token(.subscriber, data: "late")
        world.clients["moderator"] = World.Client(token: AccessTests.token(.moderator))
        world.join("moderator")
        _ = world.told("moderator")
        let gone = world.id("viewer")
        world.lose("moderator")
        world.clients["late"] = World.Client(token: viewer)
        world.join("late")
        world.say(.leave, "viewer")
        // Who comes back is no newcomer.
        world.lose("publisher")
        world.join("publisher")
        world.join("moderator")
        let told = world.told("moderator")
        #expect(told.map(\.type) == ["welcome", "participantJoined", "participantLeft"])
        #expect(told.dropFirst().first == world.id("late").map { .participantJoined(id: $0, data: "late") })
        #expect(told.last == gone.map { .participantLeft(id: $0) })
    }

    @Test func departuresThatAreKeptAreBounded() {
        var held = HeldMessages<Int>(byteLimit: 1_000)
        for number in 0..<1_000 { held.hold(.participantLeft(id: "\(number)")) }
        #expect(held.messages == (744..<1_000).map { .participantLeft(id: "\($0)") })
    }

    @Test func whoIsAwayMakesPlaceWhereOnePlaceIsEnough() throws {
        let world = World.call(asksForTokens: true)
        let key = AccessTokenTests.key
        func client(_ capacity: Int) -> World.Client {
            World.Client(
                token: key.sign(
                    AccessClaims(
                        room: "demo", role: .subscriber, exp: AccessTokenTests.now + 60, capacity: capacity)))
        }
        world.lose("viewer")
        world.clients["refused"] = client(1)
        world.join("refused")
        #expect(world.toldTypes("refused") == ["error"])
        #expect(world.participants == 2)
        world.clients["admitted"] = client(2)
        world.join("admitted")
        #expect(world.toldTypes("admitted") == ["welcome"])
        #expect(world.participants == 2)
        // The bound goes with the session.
        world.restart()
        world.clients["admitted"]?.token = nil
        for name in ["publisher", "viewer", "admitted"] { world.join(name) }
        #expect(world.toldTypes("admitted") == ["error"])
    }
}
