import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// What metrics tell of sessions that come back, and of messages that found no room: in virtual time.
@Suite struct RoomCountersTests {
    @Test("a session that comes back is counted by what was known of it")
    func returns() {
        let world = ResumptionWorld.call()
        #expect(world.directory.counters == RoomCounters())
        world.lose("viewer")
        #expect(world.directory.load.participants == 2 && world.directory.load.participantsAway == 1)
        world.join("viewer")
        #expect(world.directory.load.participantsAway == 0)
        #expect(world.directory.counters.resumed == ["away": 1, "connected": 0, "unknown": 0])
        // Only the client has noticed.
        world.clients["viewer"]?.memory.lost()
        world.join("viewer")
        #expect(world.directory.counters.resumed == ["away": 1, "connected": 1, "unknown": 0])
        #expect(world.directory.counters.expired == 0)
        world.lose("viewer")
        world.pass(.seconds(11))
        #expect(world.directory.counters.expired == 1)
        world.join("viewer")
        #expect(world.directory.counters.resumed == ["away": 1, "connected": 1, "unknown": 1])
        world.restart()
        for name in ["publisher", "viewer"] { world.join(name) }
        #expect(world.directory.counters.resumed == ["away": 0, "connected": 0, "unknown": 2])
        // Who joins for the first time comes back from nowhere.
        world.join("new")
        #expect(world.directory.counters.resumed["unknown"] == 2)
    }

    @Test("a message that finds no room is counted by where it had none")
    func losses() throws {
        let long = String(repeating: "x", count: 40_000)
        var world = ServerCoreTests.World()
        let publisher = try world.publisher()
        world.stalled = [publisher]
        let viewer = world.core.opened(room: "demo", now: world.now)
        try world.say(.join(version: 1, room: "demo"), viewer)
        for number in 0..<3 {
            let id = "subscription-\(1000 + number)"
            try world.say(.subscribe(subscription: id, stream: "camera", sdp: long), viewer)
        }
        #expect(world.core.roomCounters.lost == ["backlog": 2, "away": 0])

        let other = ResumptionWorld.call()
        other.lose("publisher")
        for number in 0..<5 {
            let id = "subscription-\(1000 + number)"
            other.say(.subscribe(subscription: id, stream: "camera", sdp: long), "viewer")
        }
        let lost = try #require(other.directory.counters.lost["away"])
        #expect(lost > 0 && other.directory.counters.lost["backlog"] == 0)
        // Each was answered.
        let refused = other.told("viewer").count { if case .subscriptionEnded = $0 { true } else { false } }
        #expect(UInt64(refused) == lost)
    }

    @Test("who uses up its allowance is counted by its door")
    func floods() throws {
        var world = ServerCoreTests.World()
        _ = try world.publisher()
        let flooder = world.core.opened(room: "demo", now: world.now)
        for _ in 0..<600 { world.core.received(Array("{}".utf8), from: flooder, now: world.now) }
        try world.drain()
        #expect(world.core.counters.rateLimited == ["websocket": 1, "http": 0])
        var refused: UInt64 = 0
        for _ in 0..<600 {
            let id = try world.ask(.post, "/whep/demo", type: "application/sdp", ServerCoreTests.offer)
            if world.responses[id]?.status == 429 { refused += 1 }
        }
        #expect(refused > 0 && world.core.counters.rateLimited["http"] == refused)
    }
}
