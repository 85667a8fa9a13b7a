import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// Signals, properties, moderation: the rules of the room, without sockets or clocks.
@Suite struct RoomSemanticsTests {
    typealias Directory = RoomDirectory<CountingGenerator>
    typealias ConnectionID = Directory.ConnectionID

    /// A room whose participants have the roles that their tokens would give them.
    struct World {
        var directory: Directory
        private let key: TokenKey

        init(limits: ServerLimits = ServerLimits()) throws {
            key = AccessTokenTests.key
            directory = Directory(
                random: CountingGenerator(), limits: limits, access: AccessPolicy(key: key, unixTime: { 0 }))
        }

        mutating func join(_ role: AccessRole, data: String? = nil, capacity: Int? = nil) -> ConnectionID {
            let claims = AccessClaims(room: "demo", role: role, exp: 1, data: data, capacity: capacity)
            let connection = directory.connect(allowedRoom: "demo")
            directory.handle(.join(version: 1, room: "demo", token: key.sign(claims)), from: connection)
            return connection
        }

        mutating func publisher(_ stream: String) -> ConnectionID {
            let connection = join(.publisher)
            directory.handle(.publish(stream: stream), from: connection)
            return connection
        }

        func id(_ connection: ConnectionID) -> String { directory.participants[connection]?.id ?? "" }

        /// What a message brings, to each of those that get something.
        mutating func say(_ message: SignalingMessage, _ connection: ConnectionID) -> [ConnectionID: [SignalingMessage]]
        {
            _ = RoomDirectoryTests.drain(&directory)
            directory.handle(message, from: connection)
            return RoomDirectoryTests.drain(&directory)
        }

        mutating func refusal(of message: SignalingMessage, _ connection: ConnectionID) -> SignalingError.Code? {
            let got = say(message, connection)
            #expect(got.count <= 1)
            return RoomDirectoryTests.errorCode(got[connection])
        }
    }

    static func signal(_ data: String, type: String = "chat", to: String? = nil) -> SignalingMessage {
        .signal(RoutedSignal(SignalContent(type: type, data: data), to: to))
    }

    // MARK: Signals

    @Test func aSignalToAllComesToItsSenderTooAndSaysWhoItIs() throws {
        var world = try World()
        let ana = world.join(.subscriber, data: "Ana")
        let ben = world.join(.subscriber)
        let forged = RoutedSignal(
            SignalContent(type: "chat", data: "hello"), from: world.id(ben), fromData: "Ben")
        let got = world.say(.signal(forged), ana)
        let said = SignalingMessage.signal(
            RoutedSignal(SignalContent(type: "chat", data: "hello"), from: world.id(ana), fromData: "Ana"))
        #expect(got == [ana: [said], ben: [said]])
    }

    @Test func aSignalToOneComesToThatOneAlone() throws {
        var world = try World()
        let ana = world.join(.subscriber)
        let ben = world.join(.subscriber)
        _ = world.join(.subscriber)
        let got = world.say(Self.signal("psst", to: world.id(ben)), ana)
        #expect(Array(got.keys) == [ben])
    }

    @Test func aSignalDoesNotLeaveItsRoom() throws {
        var directory = Directory(random: CountingGenerator())
        let here = directory.connect(allowedRoom: nil)
        directory.handle(.join(version: 1, room: "one"), from: here)
        let there = directory.connect(allowedRoom: nil)
        directory.handle(.join(version: 1, room: "two"), from: there)
        _ = RoomDirectoryTests.drain(&directory)
        directory.handle(Self.signal("hello"), from: here)
        #expect(Array(RoomDirectoryTests.drain(&directory).keys) == [here])
        let id = try #require(directory.participants[there]?.id)
        directory.handle(Self.signal("hello", to: id), from: here)
        #expect(RoomDirectoryTests.errorCode(RoomDirectoryTests.drain(&directory)[here]) == .participantNotFound)
    }

    @Test func whoHasNotJoinedSignalsNobody() {
        var directory = Directory(random: CountingGenerator())
        let stranger = directory.connect(allowedRoom: nil)
        directory.handle(Self.signal("hello"), from: stranger)
        #expect(RoomDirectoryTests.errorCode(RoomDirectoryTests.drain(&directory)[stranger]) == .notJoined)
    }

    @Test(arguments: [
        ("", 0, true), (String(repeating: "a", count: 128), 0, true), ("A-z_09~", 8 << 10, true),
        (String(repeating: "a", count: 129), 0, false), ("no spaces", 0, false), ("é", 0, false),
        ("<b>", 0, false), ("ok", (8 << 10) + 1, false),
    ])
    func aSignalHasBounds(type: String, length: Int, isTaken: Bool) throws {
        var world = try World()
        let ana = world.join(.subscriber)
        let data = String(repeating: "x", count: length)
        #expect(world.refusal(of: Self.signal(data, type: type), ana) == (isTaken ? nil : .invalidSignal))
    }

    @Test func theLongestSignalFitsIntoAMessageWhateverItsText() throws {
        let text = String(repeating: "\u{1}", count: SignalContent.maximumDataByteCount)
        let type = String(repeating: "t", count: SignalContent.maximumTypeByteCount)
        let id = String(repeating: "f", count: 32)
        let message = SignalingMessage.signal(
            RoutedSignal(
                SignalContent(type: type, data: text), to: id, from: id,
                fromData: String(repeating: "\n", count: AccessClaims.maximumDataByteCount)))
        #expect(message.json().count <= SignalingProtocol.maximumMessageSize)
        #expect(try SignalingMessage(json: message.json()) == message)
    }

    @Test func whatIsSaidToAllCountsAlsoWithoutAWord() {
        var settings = ServerCore<CountingGenerator>.Settings()
        settings.limits.signalByteBurst = 10_000
        var core = ServerCore(random: CountingGenerator(), settings: settings)
        var connections: [ServerCore<CountingGenerator>.ConnectionID] = []
        for _ in 0..<10 {
            let connection = core.opened(room: "demo", now: .zero)
            core.received(SignalingMessage.join(version: 1, room: "demo").json(), from: connection, now: .zero)
            connections.append(connection)
        }
        while core.pollOutput() != nil {}
        for _ in 0..<50 { core.received(Self.signal("").json(), from: connections[0], now: .zero) }
        var sent = 0
        while let output = core.pollOutput() {
            if case .send(_, let connection) = output, connection != connections[0] { sent += 1 }
        }
        #expect(sent > 0 && sent < 100)
    }

    @Test func whatComesBehindAnEndIsNotTaken() {
        var core = ServerCore(random: CountingGenerator(), settings: .init())
        let connection = core.opened(room: "demo", now: .zero)
        let join = SignalingMessage.join(version: 1, room: "demo").json()
        core.received(join, from: connection, now: .zero)
        core.received(SignalingMessage.leave.json(), from: connection, now: .zero)
        while core.pollOutput() != nil {}
        core.received(join, from: connection, now: .zero)
        #expect(core.pollOutput() == nil)
    }

    @Test func whatIsSaidToAllIsBoundedByWhatItBecomes() throws {
        var settings = ServerCore<CountingGenerator>.Settings()
        settings.limits.signalByteBurst = 100_000
        settings.limits.signalBytesPerSecond = 50_000
        var core = ServerCore(random: CountingGenerator(), settings: settings)
        let start = Instant.zero
        var connections: [ServerCore<CountingGenerator>.ConnectionID] = []
        for _ in 0..<10 {
            let connection = core.opened(room: "demo", now: start)
            core.received(SignalingMessage.join(version: 1, room: "demo").json(), from: connection, now: start)
            connections.append(connection)
        }
        func say(at time: Instant) throws -> Int {
            while core.pollOutput() != nil {}
            let text = String(repeating: "x", count: 4_850)
            core.received(Self.signal(text).json(), from: connections[0], now: time)
            var copies = 0
            while let output = core.pollOutput() {
                if case .send(let bytes, _) = output, case .signal = try SignalingMessage(json: bytes) { copies += 1 }
                if case .close = output { Issue.record("a connection is closed") }
            }
            return copies
        }
        // Each becomes nearly 50 kB, with what stands around it.
        #expect(try say(at: start) == 10)
        #expect(try say(at: start) == 10)
        #expect(try say(at: start) == 0)
        #expect(try say(at: start + .milliseconds(900)) == 0)
        #expect(try say(at: start + .milliseconds(1_000)) == 10)
    }

    // MARK: Properties

    static let properties = StreamProperties(
        hasVideo: true, hasAudio: true, width: 640, height: 480, rotation: 90, codecs: ["VP8", "opus"])

    @Test func aStreamsPropertiesAreToldWithItAndToWhoComesLater() throws {
        var world = try World()
        let viewer = world.join(.subscriber)
        let publisher = world.join(.publisher)
        let got = world.say(.publish(stream: "camera", properties: Self.properties), publisher)
        let described = StreamDescription(
            stream: "camera", publisher: world.id(publisher), properties: Self.properties)
        #expect(got[viewer] == [.streamPublished(described)])
        let late = world.join(.subscriber)
        guard case .welcome(_, _, _, let streams, _, _)? = RoomDirectoryTests.drain(&world.directory)[late]?.first
        else {
            Issue.record("no welcome")
            return
        }
        #expect(streams == [described])
    }

    @Test func aChangeIsToldToAllAndNoChangeToNobody() throws {
        var world = try World()
        let publisher = world.publisher("camera")
        let viewer = world.join(.subscriber)
        var muted = Self.properties
        muted.hasVideo = false
        let got = world.say(.updateStream(stream: "camera", properties: muted), publisher)
        let described = StreamDescription(stream: "camera", publisher: world.id(publisher), properties: muted)
        #expect(got == [viewer: [.streamPropertyChanged(described)], publisher: [.streamPropertyChanged(described)]])
        #expect(world.say(.updateStream(stream: "camera", properties: muted), publisher).isEmpty)
    }

    @Test func onlyItsPublisherChangesAStream() throws {
        var world = try World()
        _ = world.publisher("camera")
        let other = world.publisher("other")
        let message = SignalingMessage.updateStream(stream: "camera", properties: Self.properties)
        #expect(world.refusal(of: message, other) == .streamNotFound)
    }

    @Test func propertiesBeyondTheirBoundsAreRefused() throws {
        func changed(_ change: (inout StreamProperties) -> Void) -> StreamProperties {
            var properties = Self.properties
            change(&properties)
            return properties
        }
        var world = try World()
        let publisher = world.publisher("camera")
        for wrong in [
            changed { $0.width = 0 }, changed { $0.height = 16_384 }, changed { $0.width = nil },
            changed { $0.rotation = 45 }, changed { $0.codecs = Array(repeating: "VP8", count: 9) },
            changed { $0.codecs = [String(repeating: "x", count: 17)] }, changed { $0.codecs = ["a\nb"] },
        ] {
            let message = SignalingMessage.updateStream(stream: "camera", properties: wrong)
            #expect(world.refusal(of: message, publisher) == .malformedMessage)
            #expect(world.refusal(of: .publish(stream: "more", properties: wrong), publisher) == .malformedMessage)
        }
    }

    @Test func aStreamWithoutACodecOfOursIsKnownBeforeAnOffer() {
        #expect(Self.properties.isPlayable(with: ["vp8"]))
        #expect(!Self.properties.isPlayable(with: ["H264", "AAC"]))
        #expect(StreamProperties(hasVideo: true, hasAudio: true).isPlayable(with: []))
    }

    // MARK: Moderation

    @Test func aModeratorMutesAStreamAndItsPublisherHearsWhy() throws {
        var world = try World()
        let publisher = world.publisher("camera")
        _ = world.publisher("other")
        let moderator = world.join(.moderator)
        let mute = ForcedMute(stream: "camera", media: .init(video: false, audio: true), reason: "Noise")
        let got = world.say(.forceMute(mute), moderator)
        var told = mute
        told.by = world.id(moderator)
        #expect(got == [publisher: [.muteForced(told)]])
    }

    @Test func allAreMutedButTheModeratorsOwn() throws {
        var world = try World()
        let first = world.publisher("one")
        let second = world.publisher("two")
        let moderator = world.join(.moderator)
        world.directory.handle(.publish(stream: "three"), from: moderator)
        let got = world.say(.forceMute(ForcedMute(stream: nil, media: .everything)), moderator)
        #expect(Set(got.keys) == [first, second])
    }

    @Test(arguments: [AccessRole.publisher, .subscriber])
    func nobodyElseMayModerate(role: AccessRole) throws {
        var world = try World()
        let target = world.publisher("camera")
        let one = world.join(role)
        let mute = SignalingMessage.forceMute(ForcedMute(stream: "camera", media: .everything))
        #expect(world.refusal(of: mute, one) == .notAllowed)
        let disconnect = SignalingMessage.forceDisconnect(ForcedDisconnect(id: world.id(target)))
        #expect(world.refusal(of: disconnect, one) == .notAllowed)
        #expect(world.directory.hasJoined(target))
    }

    @Test func whatAModeratorGetsWrongIsSaid() throws {
        var world = try World()
        _ = world.publisher("camera")
        let moderator = world.join(.moderator)
        let long = String(repeating: "x", count: 257)
        for (message, code) in [
            (SignalingMessage.forceMute(ForcedMute(stream: "none", media: .everything)), .streamNotFound),
            (.forceMute(ForcedMute(stream: "camera", media: .init(video: false, audio: false))), .malformedMessage),
            (.forceMute(ForcedMute(stream: "camera", media: .everything, reason: long)), .malformedMessage),
            (.forceDisconnect(ForcedDisconnect(id: "nobody")), .participantNotFound),
            (.forceDisconnect(ForcedDisconnect(id: "nobody", reason: "a\u{1B}[2J")), .malformedMessage),
            (.forceDisconnect(ForcedDisconnect(id: "nobody", reason: "a\u{9B}2J")), .malformedMessage),
            (.forceDisconnect(ForcedDisconnect(id: "nobody", reason: "a\u{202E}b")), .malformedMessage),
        ] as [(SignalingMessage, SignalingError.Code)] {
            #expect(world.refusal(of: message, moderator) == code)
        }
    }

    @Test func whoIsPutOutHearsWhyAndIsGone() throws {
        var world = try World()
        let publisher = world.publisher("camera")
        let moderator = world.join(.moderator)
        _ = RoomDirectoryTests.drain(&world.directory)
        let disconnect = ForcedDisconnect(id: world.id(publisher), reason: "Enough")
        world.directory.handle(.forceDisconnect(disconnect), from: moderator)
        var isClosed = false
        var told: [SignalingMessage] = []
        var others: [SignalingMessage] = []
        while let output = world.directory.pollOutput() {
            switch output {
            case .close(let connection): isClosed = connection == publisher
            case .backplane: Issue.record("it stands alone")
            case .send(let message, let connection), .relay(let message, _, let connection, _):
                #expect(!isClosed)
                if connection == publisher { told.append(message) } else { others.append(message) }
            }
        }
        var word = disconnect
        word.by = world.id(moderator)
        #expect(told == [.forceDisconnected(word)])
        #expect(isClosed)
        #expect(others.map(\.type) == ["streamUnpublished", "participantLeft"])
        #expect(!world.directory.hasJoined(publisher))
        // What it still says is of nobody in the room, also with the token that came with its connection.
        #expect(world.refusal(of: Self.signal("still here"), publisher) == .notJoined)
    }

    @Test func aModeratorIsToldWhoIsThereAndWhoComesAndGoes() throws {
        var world = try World()
        let ana = world.join(.subscriber, data: "Ana")
        let moderator = world.join(.moderator)
        let got = RoomDirectoryTests.drain(&world.directory)
        #expect(got[moderator]?.last == .participantJoined(id: world.id(ana), data: "Ana"))
        let ben = world.join(.subscriber, data: "Ben")
        let id = world.id(ben)
        #expect(
            RoomDirectoryTests.drain(&world.directory)[moderator] == [.participantJoined(id: id, data: "Ben")])
        world.directory.disconnect(ben)
        #expect(RoomDirectoryTests.drain(&world.directory) == [moderator: [.participantLeft(id: id)]])
    }

    @Test func whoIsIntroducedToAModeratorFitsItsLine() throws {
        var world = try World()
        let data = String(repeating: "x", count: AccessClaims.maximumDataByteCount)
        for _ in 0..<999 { _ = world.join(.subscriber, data: data) }
        _ = RoomDirectoryTests.drain(&world.directory)
        let moderator = world.join(.moderator)
        let got = RoomDirectoryTests.drain(&world.directory)[moderator] ?? []
        // All are told by their ids, and of some more.
        #expect(got.count == 1_000)
        #expect(got.contains { if case .participantJoined(_, data: _?) = $0 { true } else { false } })
        #expect(got.reduce(0) { $0 + $1.json().count } < ServerLimits().backlogBytes)
    }

    @Test func aViewerIsNotToldOfOthers() throws {
        var world = try World()
        let ana = world.join(.subscriber)
        _ = RoomDirectoryTests.drain(&world.directory)
        _ = world.join(.subscriber)
        #expect(RoomDirectoryTests.drain(&world.directory)[ana] == nil)
    }

    // MARK: Capacity

    @Test func aTokenMayBoundTheRoom() throws {
        var world = try World()
        _ = world.join(.subscriber)
        _ = world.join(.subscriber)
        _ = RoomDirectoryTests.drain(&world.directory)
        let third = world.join(.subscriber, capacity: 2)
        #expect(RoomDirectoryTests.errorCode(RoomDirectoryTests.drain(&world.directory)[third]) == .roomFull)
        #expect(!world.directory.hasJoined(third))
        let fourth = world.join(.moderator, capacity: 3)
        #expect(world.directory.hasJoined(fourth))
    }

    @Test func aSelectionReachesTheOtherSideOnly() throws {
        var world = try World()
        let publisher = world.publisher("camera")
        let viewer = world.join(.subscriber)
        let subscription = RoomDirectoryTests.subscription
        _ = world.say(.subscribe(subscription: subscription, stream: "camera", sdp: "o"), viewer)
        let select = SignalingMessage.select(subscription: subscription, MediaSelection(video: false, audio: true))
        #expect(world.say(select, viewer) == [publisher: [select]])
        let stranger = world.join(.subscriber)
        #expect(world.refusal(of: select, stranger) == .subscriptionNotFound)
    }
}
