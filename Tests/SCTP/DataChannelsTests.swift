import EmisoraCore
import EmisoraSCTP
import Testing

@Suite(.serialized) struct DataChannelsTests {
    /// Collects the messages of one side.
    final class Inbox {
        var messages: [DataChannelPayload] = []
        var incoming: [(id: DataChannelID, parameters: DataChannelParameters)] = []
        var closed: [DataChannelID] = []

        func take(_ events: [DataChannelEvent]) {
            for event in events {
                switch event {
                case .message(_, let payload): messages.append(payload)
                case .incoming(let id, let parameters): incoming.append((id, parameters))
                case .closed(let id, _): closed.append(id)
                case .opened, .bufferedAmountChanged, .closing: break
                }
            }
        }
    }

    static func channel(
        _ wire: Wire, from side: Wire.Side, _ parameters: DataChannelParameters = DataChannelParameters(label: "test")
    ) async throws -> (id: DataChannelID, inbox: Inbox) {
        let id = try wire[side].open(parameters, now: wire.now)
        let inbox = Inbox()
        let isThere = try await wire.run {
            inbox.take(wire.takeEvents(side.other))
            return !inbox.incoming.isEmpty
        }
        #expect(isThere, "the channel is known to the other side")
        return (id, inbox)
    }

    @Test(arguments: Wire.Side.allCases)
    func aStringArrivesFromEitherSideWithWhatTheChannelWasMadeWith(side: Wire.Side) async throws {
        let wire = Wire()
        wire.connect()
        var parameters = DataChannelParameters(label: "Steuerung 🚗")
        parameters.subprotocol = "json"
        parameters.isOrdered = false
        parameters.reliability = .maxRetransmits(3)
        let (id, inbox) = try await Self.channel(wire, from: side, parameters)
        #expect(inbox.incoming.first?.parameters == parameters)
        let payloads: [DataChannelPayload] = [
            .text("hello"), .text(""), .binary([1, 2, 3]), .binary([]), .binary([UInt8](repeating: 7, count: 262_144)),
        ]
        for payload in payloads { try wire[side].send(payload, on: id, now: wire.now) }
        let arrived = try await wire.run {
            inbox.take(wire.takeEvents(side.other))
            return inbox.messages.count == payloads.count
        }
        #expect(arrived)
        #expect(Set(inbox.messages) == Set(payloads))
        #expect(wire[side].bufferedAmount(of: id) == 0)
        // The answer comes on the channel that the other side made.
        let answering = try #require(inbox.incoming.first?.id)
        try wire[side.other].send(.text("and back"), on: answering, now: wire.now)
        let own = Inbox()
        #expect(
            try await wire.run {
                own.take(wire.takeEvents(side))
                return own.messages == [.text("and back")]
            })
    }

    @Test func tenMegabytesArriveInOrderThroughLoss() async throws {
        let wire = Wire(seed: 7)
        wire.connect()
        let (id, inbox) = try await Self.channel(wire, from: .client)
        wire.lossPercent = 2
        let size = 65_536
        for number in 0..<160 {
            try wire[.client].send(
                .binary([UInt8](repeating: UInt8(number), count: size)), on: id, now: wire.now)
        }
        let arrived = try await wire.run(within: .seconds(60)) {
            inbox.take(wire.takeEvents(.server))
            return inbox.messages.count == 160
        }
        #expect(arrived, "\(inbox.messages.count) of 160 messages arrived")
        #expect(wire.lost > 50)
        for (number, message) in inbox.messages.enumerated() {
            #expect(message == .binary([UInt8](repeating: UInt8(number), count: size)))
        }
    }

    @Test func whatMayBeLostIsLostInsteadOfHoldingOthersUp() async throws {
        let wire = Wire(seed: 3)
        wire.connect()
        var parameters = DataChannelParameters(label: "state")
        parameters.isOrdered = false
        parameters.reliability = .maxRetransmits(0)
        let (id, inbox) = try await Self.channel(wire, from: .client, parameters)
        wire.lossPercent = 20
        for number in 0..<1_000 {
            try wire[.client].send(.text("\(number)"), on: id, now: wire.now)
            wire.turn()
        }
        wire.lossPercent = 0
        // What is sent afterwards, on a path without loss, comes after whatever was not given up.
        let lastArrived = try await wire.run {
            try? wire[.client].send(.text("end"), on: id, now: wire.now)
            inbox.take(wire.takeEvents(.server))
            return inbox.messages.contains(.text("end"))
        }
        #expect(lastArrived)
        let numbers = Set(inbox.messages).subtracting([.text("end")])
        #expect(numbers.count < 1_000, "some were lost for good")
        #expect(numbers.count > 300, "\(numbers.count) of 1000 messages arrived")
    }

    @Test(arguments: Wire.Side.allCases)
    func eitherSideClosesOneChannelAfterTheOther(side: Wire.Side) async throws {
        let wire = Wire()
        wire.connect()
        for round in 0..<5 {
            let (id, inbox) = try await Self.channel(wire, from: .client)
            let remote = try #require(inbox.incoming.last?.id)
            try wire[.client].send(.text("last words \(round)"), on: id, now: wire.now)
            side == .client ? wire[.client].close(id, now: wire.now) : wire[.server].close(remote, now: wire.now)
            let own = Inbox()
            let isClosed = try await wire.run {
                inbox.take(wire.takeEvents(.server))
                own.take(wire.takeEvents(.client))
                return inbox.closed == [remote] && own.closed == [id]
            }
            #expect(isClosed, "round \(round)")
            if side == .client { #expect(inbox.messages == [.text("last words \(round)")]) }
            #expect(wire[.client].count == 0 && wire[.server].count == 0)
            #expect(throws: DataChannelError.notOpen) { try wire[.client].send(.text("x"), on: id, now: wire.now) }
        }
    }

    @Test func aThousandMessagesGoEachWayAtOnce() async throws {
        let wire = Wire()
        wire.connect()
        let (id, inbox) = try await Self.channel(wire, from: .client)
        let remote = try #require(inbox.incoming.first?.id)
        let own = Inbox()
        for number in 0..<1_000 {
            try wire[.client].send(.text("c\(number)"), on: id, now: wire.now)
            try wire[.server].send(.text("s\(number)"), on: remote, now: wire.now)
        }
        let arrived = try await wire.run {
            inbox.take(wire.takeEvents(.server))
            own.take(wire.takeEvents(.client))
            return inbox.messages.count == 1_000 && own.messages.count == 1_000
        }
        #expect(arrived)
        #expect(inbox.messages == (0..<1_000).map { .text("c\($0)") })
        #expect(own.messages == (0..<1_000).map { .text("s\($0)") })
    }
}
