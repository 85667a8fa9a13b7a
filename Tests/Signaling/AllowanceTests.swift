import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// How much one sender may send, whichever door it comes by.
@Suite struct AllowanceTests {
    typealias World = ServerCoreTests.World

    @Test func bytesCountAsMessagesDo() {
        let limits = ServerLimits()
        var allowance = Allowance(limits, now: .zero)
        func spends(_ bytes: Int, after seconds: Int) -> Bool {
            allowance.spend(bytes: bytes, limits, now: .zero + .seconds(seconds))
        }
        #expect(spends(4 << 20, after: 0))
        #expect(!spends(1, after: 0))
        #expect(spends(512 << 10, after: 1))
        #expect(!spends(1, after: 1))
        // What is refused costs nothing, and nothing is saved up beyond the burst.
        #expect(spends(4 << 20, after: 1_000))
        #expect(!spends(1, after: 1_000))
    }

    @Test func longMessagesAreAsMuchTooFastAsManyShortOnes() throws {
        var world = World()
        let publisher = try world.publisher()
        let long = Array(repeating: UInt8(ascii: "x"), count: 65_000)
        for _ in 0..<64 { world.core.received(long, from: publisher, now: world.now) }
        try world.drain()
        #expect(world.closed.isEmpty)
        world.core.received(long, from: publisher, now: world.now)
        try world.drain()
        #expect(world.closed == [publisher])
        // Those that were too long to be kept count, too.
        let other = world.core.opened(room: "demo", now: world.now)
        for _ in 0..<5 { world.core.receivedOversized(1 << 20, from: other, now: world.now) }
        try world.drain()
        #expect(world.closed == [publisher, other])
    }

    @Test func anAddressBeginsFiveHundredSessionsAtOnceAndAHundredASecond() throws {
        var world = World()
        let one = try #require(IPAddress("2001:db8::1")), neighbour = try #require(IPAddress("2001:db8::2"))
        let other = try #require(IPAddress("2001:db8:0:1::1"))
        func status(_ address: IPAddress) throws -> Int? {
            world.responses[try world.ask(.post, "/whep/demo", type: "application/sdp", from: address, "")]?.status
        }
        for _ in 0..<500 { #expect(try status(one) == 400) }
        let refused = try world.ask(.post, "/whep/demo", from: neighbour)
        #expect(world.responses[refused]?.status == 429)
        #expect(world.responses[refused]?.header("Retry-After") == "1")
        #expect(try status(other) == 400)
        world.now = world.now + .seconds(1)
        for _ in 0..<100 { #expect(try status(one) == 400) }
        #expect(try status(one) == 429)
    }

    @Test func theChangesToASessionAreBoundedByTheirCandidates() throws {
        var world = World()
        let publisher = try world.publisher()
        let (id, subscription) = try world.post(publisher)
        try world.say(.answer(subscription: subscription, sdp: "v=0"), publisher)
        let location = try #require(world.responses[id]?.header("Location"))
        let tag = try #require(world.responses[id]?.header("ETag"))
        let candidates = String(repeating: "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n", count: 250)
        func patch(_ body: String) throws -> HTTPResponse? {
            world.responses[
                try world.ask(.patch, location, type: "application/trickle-ice-sdpfrag", ifMatch: tag, body)]
        }
        for _ in 0..<2 { #expect(try patch("a=ice-ufrag:abcd\r\n" + candidates)?.status == 204) }
        #expect(world.messages[publisher]?.count == 502)
        let refused = try patch("a=ice-ufrag:abcd\r\n" + candidates)
        #expect(refused?.status == 429 && refused?.header("Retry-After") == "1")
        #expect(world.messages[publisher]?.count == 502)
        // Fragments that are none cost as much as others.
        world.now = world.now + .seconds(1)
        for _ in 0..<100 { _ = try patch("x") }
        #expect(try patch("x")?.status == 429)
        // It may still be ended.
        #expect(world.responses[try world.ask(.delete, location)]?.status == 200)
    }

    @Test func sessionsAreSharedOutByRoomAndByAddress() throws {
        var settings = ServerCoreTests.Core.Settings()
        settings.limits.httpSessionsPerRoom = 4
        settings.limits.httpSessionsPerAddress = 2
        var world = World(core: ServerCoreTests.Core(random: CountingGenerator(), settings: settings))
        let publisher = try world.publisher()
        let addresses = try (1...3).map { try #require(IPAddress("192.0.2.\($0)")) }
        var locations: [String] = []
        for address in addresses.prefix(2) {
            for _ in 0..<2 {
                let (id, subscription) = try world.post(publisher, from: address)
                try world.say(.answer(subscription: subscription, sdp: "v=0"), publisher)
                locations.append(try #require(world.responses[id]?.header("Location")))
            }
        }
        func status(_ path: String, _ address: IPAddress) throws -> Int? {
            world.responses[
                try world.ask(.post, path, type: "application/sdp", from: address, ServerCoreTests.offer)]?.status
        }
        #expect(try status("/whep/demo", addresses[2]) == 503)
        // An end makes room for another, but not for one of an address that has its two.
        try world.ask(.delete, locations[0])
        #expect(try status("/whep/demo", addresses[1]) == 503)
        #expect(try status("/whep/demo", addresses[2]) == nil)
    }

    @Test func inventedAddressesDoNotPileUp() {
        var sites = SiteAllowances()
        let limits = ServerLimits()
        for number in 0..<50_000 {
            let isTaken = sites.spend(
                from: IPAddress(v6High: UInt64(number), low: 1), bytes: 100, limits, now: .zero)
            #expect(isTaken && sites.count <= 8_192)
        }
    }
}
