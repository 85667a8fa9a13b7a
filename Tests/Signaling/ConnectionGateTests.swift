import EmisoraCore
import Testing

@testable import EmisoraSignalingServer

/// Bounds of connections, with the figures of the documentation; in virtual time.
@Suite struct ConnectionGateTests {
    static let one = IPAddress(v4: 0xC000_0201)

    struct World {
        var gate = ConnectionGate<Int>(limits: ServerLimits())
        var now = Instant.zero
        var ended: [Int] = []
        var last = 0

        @discardableResult
        mutating func open(_ address: IPAddress = one) -> Int {
            last += 1
            ended += gate.opened(last, from: address, now: now)
            return last
        }

        mutating func pass(_ time: Duration) {
            now = now + time
            ended += gate.handleTimeout(now: now)
        }
    }

    @Test func eightStrangersOfAnAddressMayStayAndTheOldestGo() {
        var world = World()
        for _ in 0..<500 where world.gate.strangerCount < 200 { world.open() }
        #expect(world.ended.isEmpty)
        world.pass(.milliseconds(249))
        #expect(world.ended.isEmpty)
        world.pass(.milliseconds(1))
        #expect(world.ended == Array(1...192))
        #expect(world.gate.strangerCount == 8)
        // Whoever comes now is heard, though its neighbours dribble on.
        let good = world.open()
        world.gate.became(known: good)
        world.pass(.milliseconds(250))
        #expect(!world.ended.contains(good))
    }

    @Test func twoHundredStrangersAreTheMost() {
        var world = World()
        for index in 0..<250 { world.open(IPAddress(v4: UInt32(index))) }
        #expect(world.ended == Array(1...50))
        #expect(world.gate.strangerCount == 200)
    }

    @Test func aStrangerHasFiveSeconds() {
        var world = World()
        let silent = world.open()
        let busy = world.open()
        world.gate.became(known: busy)
        #expect(world.gate.nextDeadline == .zero + .seconds(5))
        world.pass(.milliseconds(4_999))
        #expect(world.ended.isEmpty)
        world.pass(.milliseconds(1))
        #expect(world.ended == [silent])
        #expect(world.gate.nextDeadline == nil)
        // Answered, it has as long for its next request.
        world.gate.became(stranger: busy, now: world.now)
        #expect(world.gate.nextDeadline == world.now + .seconds(5))
    }

    @Test func anAddressHas512ConnectionsAndGetsThemBack() {
        var world = World()
        for _ in 0..<512 {
            #expect(world.gate.admits(Self.one))
            world.gate.became(known: world.open())
        }
        #expect(!world.gate.admits(Self.one))
        #expect(world.gate.admits(IPAddress(v4: 1)))
        world.gate.closed(1)
        #expect(world.gate.admits(Self.one))
        for id in 1...world.last { world.gate.closed(id) }
        #expect(world.gate.connectionCount == 0)
        #expect(world.gate.strangerCount == 0)
    }

    @Test func anIPv6NetworkCountsAsOneAddress() throws {
        var world = World()
        for index in 0..<512 {
            world.gate.became(known: world.open(IPAddress(v6High: 0x2001_0DB8_0000_0001, low: UInt64(index))))
        }
        #expect(!world.gate.admits(try #require(IPAddress("2001:db8:0:1::ffff"))))
        #expect(world.gate.admits(try #require(IPAddress("2001:db8:0:2::1"))))
        for _ in 0..<512 { world.gate.became(known: world.open(Self.one)) }
        #expect(!world.gate.admits(try #require(IPAddress("::ffff:192.0.2.1"))))
    }

    @Test func whenAllPlacesAreTakenAStrangerGivesWay() {
        var limits = ServerLimits()
        limits.connections = 2
        var gate = ConnectionGate<Int>(limits: limits)
        #expect(gate.opened(1, from: Self.one, now: .zero) == [])
        gate.became(known: 1)
        #expect(gate.opened(2, from: Self.one, now: .zero) == [])
        #expect(gate.admits(Self.one))
        #expect(gate.opened(3, from: Self.one, now: .zero) == [2])
        gate.closed(2)
        gate.became(known: 3)
        #expect(!gate.admits(Self.one))
    }

    @Test func aProcessWithFewDescriptorsTakesFewerConnections() {
        let few = ServerLimits().within(descriptors: 64)
        #expect((few.connections, few.strangers) == (32, 16))
        let many = ServerLimits().within(descriptors: 1 << 20)
        #expect(many == ServerLimits())
    }
}
