import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// Every limit of PROTOCOL.md at its figure: the last that is taken, and the first that is not.
@Suite struct LimitTests {
    typealias Directory = RoomDirectoryTests.Directory

    struct House {
        var directory = Directory(random: CountingGenerator())

        mutating func join(_ room: String = "demo") -> Directory.ConnectionID {
            let connection = directory.connect(allowedRoom: room)
            directory.handle(.join(version: 1, room: room), from: connection)
            return connection
        }

        /// The code with which the last message of `connection` was refused.
        mutating func refusal(_ connection: Directory.ConnectionID) -> SignalingError.Code? {
            RoomDirectoryTests.errorCode(RoomDirectoryTests.drain(&directory)[connection])
        }

        mutating func publish(_ stream: String, _ connection: Directory.ConnectionID) -> SignalingError.Code? {
            directory.handle(.publish(stream: stream), from: connection)
            return refusal(connection)
        }
    }

    @Test func aThousandRooms() {
        var house = House()
        for number in 1...1_000 {
            let last = house.join("room\(number)")
            #expect(house.refusal(last) == nil)
        }
        let late = house.join("another")
        #expect(house.refusal(late) == .limitReached)
        let known = house.join("room7")
        #expect(house.refusal(known) == nil)
    }

    @Test func aThousandParticipantsOfARoom() {
        var house = House()
        for _ in 1...1_000 {
            let last = house.join()
            #expect(house.refusal(last) == nil)
        }
        let late = house.join()
        #expect(house.refusal(late) == .roomFull)
    }

    @Test func sixteenStreamsOfAParticipantAnd64OfARoom() {
        var house = House()
        for publisher in 1...4 {
            let connection = house.join()
            for stream in 1...16 { #expect(house.publish("s\(publisher)-\(stream)", connection) == nil) }
            #expect(house.publish("more", connection) == .limitReached)
        }
        let late = house.join()
        #expect(house.publish("more", late) == .limitReached)
    }

    @Test func sixtyFourSubscriptionsOfAViewer() {
        var house = House()
        let publisher = house.join()
        #expect(house.publish("camera", publisher) == nil)
        let viewer = house.join()
        for number in 1...65 {
            let id = "subscription-\(1000 + number)"
            house.directory.handle(.subscribe(subscription: id, stream: "camera", sdp: "v=0"), from: viewer)
            #expect(house.refusal(viewer) == (number <= 64 ? nil : .limitReached))
        }
    }

    @Test func aThousandPlayersByWHEP() throws {
        // A room has fewer places than there are players.
        var settings = ServerCoreTests.Core.Settings()
        settings.limits.participantsPerRoom = 2_000
        settings.limits.httpSessionsPerRoom = 1_000
        var world = ServerCoreTests.World(
            core: ServerCoreTests.Core(random: CountingGenerator(), settings: settings))
        let publisher = try world.publisher()
        for number in 1...1_000 { _ = try world.post(publisher, from: IPAddress(v4: UInt32(number % 10))) }
        let id = try world.ask(.post, "/whep/demo", type: "application/sdp", ServerCoreTests.offer)
        #expect(world.responses[id]?.status == 503)
        #expect(world.responses[id]?.header("Retry-After") == "10")
    }

    @Test func fiveHundredMessagesAtOnceAndAHundredASecond() throws {
        var world = ServerCoreTests.World()
        let publisher = try world.publisher()
        // Two were its own.
        for _ in 1...498 { world.core.received(Array("{}".utf8), from: publisher, now: world.now) }
        try world.drain()
        #expect(world.closed.isEmpty)
        world.now = world.now + .seconds(1)
        for _ in 1...100 { world.core.received(Array("{}".utf8), from: publisher, now: world.now) }
        try world.drain()
        #expect(world.closed.isEmpty)
        world.core.received(Array("{}".utf8), from: publisher, now: world.now)
        try world.drain()
        #expect(world.closed == [publisher])
    }

    @Test func whoDoesNotJoinHasFiveSeconds() {
        var world = ServerCoreTests.World()
        _ = world.core.opened(room: "demo", now: world.now)
        #expect(world.core.nextDeadline == world.now + .seconds(5))
    }

    @Test func idsHave128RandomBits() {
        var random = CountingGenerator()
        let ids = (0..<1000).map { _ in SignalingProtocol.makeIdentifier(using: &random) }
        #expect(Set(ids).count == 1000)
        // Two draws of 64 bits each, every one of them in the text.
        var again = CountingGenerator()
        let bits: [UInt64] = [again.next(), again.next()]
        #expect(ids[0] == bits.map { String(String($0, radix: 16).reversed()).padding(16) }.joined())
    }
}

extension String {
    /// As many digits as `count`, of a text that has its least significant one first.
    fileprivate func padding(_ count: Int) -> String {
        String((self + String(repeating: "0", count: max(0, count - self.count))).reversed())
    }
}
