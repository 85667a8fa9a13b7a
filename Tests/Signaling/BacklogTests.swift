import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// What waits for a connection, and that nobody but itself can have it closed for that.
@Suite struct BacklogTests {
    typealias World = ServerCoreTests.World
    static let long = String(repeating: "x", count: 40_000)

    @Test func oneSenderHasAQuarterAndAllTogetherThree() {
        var backlog = Backlog<Int>(limit: 256 * 1024)
        #expect(backlog.hasRoom(for: 70_000, of: 1))
        backlog.append(60_000, of: 1)
        #expect(backlog.hasRoom(for: 5_536, of: 1) && !backlog.hasRoom(for: 5_537, of: 1))
        backlog.append(65_536, of: 2)
        backlog.append(65_536, of: 3)
        #expect(backlog.hasRoom(for: 5_536, of: 4) && !backlog.hasRoom(for: 5_537, of: 4))
        // What is left is the server's.
        #expect(backlog.hasRoom(for: 71_072) && !backlog.hasRoom(for: 71_073))
        backlog.append(1_000)
        backlog.removeFirst()
        #expect(backlog.hasRoom(for: 60_000, of: 1))
        for _ in 0..<5 { backlog.removeFirst() }
        #expect(backlog.byteCount == 0)
    }

    /// The publisher does not read for a while, and a viewer sends it what it can.
    @Test func aViewerCannotHaveThePublisherCutOff() throws {
        var world = World()
        let publisher = try world.publisher()
        world.stalled = [publisher]
        let viewer = world.core.opened(room: "demo", now: world.now)
        try world.say(.join(version: 1, room: "demo"), viewer)
        for number in 0..<40 {
            let id = "subscription-\(1000 + number)"
            try world.say(.subscribe(subscription: id, stream: "camera", sdp: Self.long), viewer)
            try world.say(.candidate(subscription: id, candidate: ServerCoreTests.candidate(Self.long)), viewer)
        }
        #expect(world.hungUp.isEmpty)
        // It was told of each that ended, and the publisher of those that it had heard of.
        let ended = world.messages[viewer]?.filter {
            if case .subscriptionEnded(_, .tooManySubscribers) = $0 { true } else { false }
        }
        #expect(ended?.count == 40)
        let asked = world.messages[publisher]?.count { if case .subscribe = $0 { true } else { false } }
        #expect(asked == 1)
        #expect(
            world.messages[publisher]?.last
                == .subscriptionEnded(subscription: "subscription-1000", reason: .tooManySubscribers))
        // Others still reach it.
        let other = world.core.opened(room: "demo", now: world.now)
        try world.say(.join(version: 1, room: "demo"), other)
        let subscribe = SignalingMessage.subscribe(subscription: "another-subscription", stream: "camera", sdp: "v=0")
        try world.say(subscribe, other)
        #expect(world.messages[publisher]?.last == subscribe)
    }

    /// A reader that could not be told of a change is told how things are, once it reads again.
    @Test func whoReadsSlowlyMissesNoLastChange() throws {
        var world = World()
        let publisher = try world.publisher()
        let viewer = world.core.opened(room: "demo", now: world.now)
        try world.say(.join(version: 1, room: "demo"), viewer)
        world.stalled = [viewer]
        world.messages[viewer] = []
        var properties = RoomSemanticsTests.properties
        var changes = 0
        repeat {
            changes += 1
            properties.hasVideo.toggle()
            properties.width = changes
            try world.say(.updateStream(stream: "camera", properties: properties), publisher)
            world.now = world.now + .milliseconds(10)
        } while changes == world.messages[viewer]?.count && changes < 10_000
        #expect(changes < 10_000 && world.hungUp.isEmpty)
        world.stalled = []
        for _ in 1..<changes {
            world.core.sent(to: viewer)
            try world.drain()
        }
        guard case .streamPropertyChanged(let stream)? = world.messages[viewer]?.last else {
            Issue.record("no change")
            return
        }
        #expect(stream.properties == properties)
        #expect(world.messages[viewer]?.count == changes)
    }

    @Test func theSameIsSoForManyPlayersByHTTP() throws {
        var world = World()
        let publisher = try world.publisher()
        world.stalled = [publisher]
        var refused = 0
        for _ in 0..<60 {
            let offer = ServerCoreTests.offer + "a=x:\(Self.long)\r\n"
            let id = try world.ask(.post, "/whep/demo", type: "application/sdp", offer)
            if let response = world.responses[id] {
                #expect(response.status == 503 && response.header("Retry-After") == "10")
                refused += 1
            }
        }
        #expect(refused == 56)
        #expect(world.hungUp.isEmpty)
    }

    @Test func comingAndGoingCountsAsThatOfWhoComesAndGoes() throws {
        // Less than all that is said, more than the shares of those who say it.
        var settings = ServerCoreTests.Core.Settings()
        settings.limits.backlogBytes = 40_000
        var world = World(core: ServerCoreTests.Core(random: CountingGenerator(), settings: settings))
        let publisher = try world.publisher()
        world.stalled = [publisher]
        for participant in 0..<3 {
            let viewer = world.core.opened(room: "demo", now: world.now)
            try world.say(.join(version: 1, room: "demo"), viewer)
            for number in 0..<240 {
                let id = "subscription-\(participant)-\(1000 + number)"
                try world.say(.subscribe(subscription: id, stream: "camera", sdp: "v=0"), viewer)
                // Within what it may say in so short a time.
                let reason = SubscriptionEndReason(rawValue: String(repeating: "r", count: 4_000))
                try world.say(.bye(subscription: id, reason: reason), viewer)
            }
        }
        #expect(world.hungUp.isEmpty)
        #expect(
            world.messages[publisher]?.contains(.subscriptionEnded(subscription: "subscription-0-1000", reason: .bye))
                == true)
    }

    @Test func aViewerThatDoesNotReadEndsAloneAndOnlyThere() throws {
        var world = World()
        let publisher = try world.publisher()
        let viewer = world.core.opened(room: "demo", now: world.now)
        try world.say(.join(version: 1, room: "demo"), viewer)
        let id = "subscription-1000"
        try world.say(.subscribe(subscription: id, stream: "camera", sdp: "v=0"), viewer)
        world.stalled = [viewer]
        try world.say(.answer(subscription: id, sdp: Self.long), publisher)
        try world.say(.candidate(subscription: id, candidate: ServerCoreTests.candidate(Self.long)), publisher)
        #expect(world.messages[publisher]?.last == .subscriptionEnded(subscription: id, reason: .timedOut))
        #expect(world.hungUp.isEmpty && world.closed.isEmpty)
    }

    @Test func whatTheServerItselfHasToSayCutsAReaderOff() throws {
        var settings = ServerCoreTests.Core.Settings()
        settings.limits.backlogBytes = 1_000
        var world = World(core: ServerCoreTests.Core(random: CountingGenerator(), settings: settings))
        let publisher = try world.publisher()
        world.stalled = [publisher]
        for _ in 0..<20 { world.core.received(Array("{}".utf8), from: publisher, now: world.now) }
        try world.drain()
        #expect(world.hungUp == [publisher])
    }
}
