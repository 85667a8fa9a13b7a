import EmisoraCore
import EmisoraSCTP
import Testing

/// What RFC 8831 and RFC 8832 ask for, and what a peer that does otherwise gets.
@Suite(.serialized) struct DataChannelRuleTests {
    @Test("RFC 8832 §5: openings are written as they are read, damaged ones are none")
    func openings() {
        var parameters = DataChannelParameters(label: "ß")
        parameters.subprotocol = "p"
        parameters.isOrdered = false
        parameters.reliability = .maxPacketLifeTime(300)
        let bytes = DCEPMessage.open(parameters).bytes
        #expect(bytes == [3, 0x82, 1, 0, 0, 0, 1, 0x2C, 0, 2, 0, 1, 0xC3, 0x9F, 0x70])
        #expect(DCEPMessage(parsing: bytes.span.bytes) == .open(parameters))
        let acknowledgement: [UInt8] = [2]
        #expect(DCEPMessage(parsing: acknowledgement.span.bytes) == .acknowledge)
        for count in 0..<bytes.count {
            #expect(DCEPMessage(parsing: Array(bytes.prefix(count)).span.bytes) == nil)
        }
        let damagedOnes: [[UInt8]] = [bytes + [0], [2, 0], [9], [3, 0x83] + bytes.dropFirst(2)]
        for damaged in damagedOnes {
            #expect(DCEPMessage(parsing: damaged.span.bytes) == nil)
        }
        var notText = bytes
        notText[12] = 0xFF
        #expect(DCEPMessage(parsing: notText.span.bytes) == nil)
    }

    /// A peer that says what it likes, connected to channels of ours, which are the client's.
    private final class Opponent {
        let wire = Wire()
        let victim = DataChannels()
        let association: SCTPAssociation
        var events: [DataChannelEvent] = []
        var resets: [UInt16] = []
        /// Everything that was sent to the victim has arrived.
        var isDrained = false

        init(_ abilities: SCTPAssociation.Abilities = SCTPAssociation.Abilities()) async throws {
            association = try SCTPAssociation(remotePort: 5_000, abilities: abilities, now: wire.now)
            victim.connect(isClient: true, remotePort: 5_000, now: wire.now)
            #expect(try await run { self.association.isConnected && self.victim.isConnected })
        }

        func run(until condition: () -> Bool) async throws -> Bool {
            for _ in 0..<10_000 {
                let now = wire.now
                while let packet = victim.pollTransmit() { association.handle(packet.span.bytes, now: now) }
                while let packet = association.pollTransmit() { victim.handle(packet.span.bytes, now: now) }
                while let event = victim.pollEvent() { events.append(event) }
                while let event = association.pollEvent() {
                    if case .incomingReset(let streams) = event { resets += streams }
                    if case .drained = event { isDrained = true }
                }
                if condition() { return true }
                if let deadline = victim.nextDeadline, deadline <= now { victim.handleTimeout(now: now) }
                if let deadline = association.nextDeadline, deadline <= now { association.handleTimeout(now: now) }
                try await Task.sleep(for: .milliseconds(1))
            }
            return false
        }

        func send(_ bytes: [UInt8], stream: UInt16, ppid: UInt32 = 50) {
            #expect(
                association.send(
                    bytes, stream: stream, ppid: ppid, isOrdered: true, reliability: .reliable, now: wire.now) == .sent)
        }

        func open(_ stream: UInt16, label: String = "x") {
            send(DCEPMessage.open(DataChannelParameters(label: label)).bytes, stream: stream)
        }
    }

    @Test("RFC 8832 §6: a channel on a stream that is not the peer's to open is reset")
    func wrongParity() async throws {
        let opponent = try await Opponent()
        opponent.open(2)
        opponent.open(3)
        #expect(try await opponent.run { opponent.resets == [2] && opponent.victim.count == 1 })
        // The one that is in use already stays what it is.
        opponent.open(3, label: "again")
        opponent.send([2, 2, 2], stream: 3)
        opponent.send([7], stream: 9, ppid: 53)
        opponent.send([0xFF], stream: 3, ppid: 51)
        opponent.send(Array("still".utf8), stream: 3, ppid: 51)
        #expect(
            try await opponent.run {
                opponent.events.contains { if case .message(_, .text("still")) = $0 { true } else { false } }
            })
        let others = opponent.events.filter { if case .message = $0 { true } else { false } }
        #expect(others.count == 1, "what is no message of a channel is passed over")
        #expect(opponent.victim.count == 1)
    }

    @Test func aPeerOpensNoMoreChannelsThanAreTaken() async throws {
        let opponent = try await Opponent()
        for stream in stride(from: UInt16(1), to: 2 * 300, by: 2) {
            let isSent = try await opponent.run {
                opponent.association.send(
                    DCEPMessage.open(DataChannelParameters(label: "c")).bytes, stream: stream, ppid: 50,
                    isOrdered: true,
                    reliability: .reliable, now: opponent.wire.now) != .full
            }
            try #require(isSent)
        }
        #expect(try await opponent.run { opponent.resets.count == 300 - DataChannels.maximumChannels })
        #expect(opponent.victim.count == DataChannels.maximumChannels)
        #expect(throws: DataChannelError.tooManyChannels(limit: DataChannels.maximumChannels)) {
            try opponent.victim.open(DataChannelParameters(label: "one more"), now: opponent.wire.now)
        }
    }

    @Test func aMessageOfMoreThanWasAnnouncedEndsTheChannels() async throws {
        let opponent = try await Opponent()
        opponent.open(1)
        opponent.send([UInt8](repeating: 0, count: SCTPAssociation.maximumMessageByteCount + 1), stream: 1, ppid: 53)
        #expect(
            try await opponent.run {
                opponent.events.contains {
                    if case .closed(_, let reason) = $0 { reason.contains("262144") } else { false }
                }
            })
        #expect(opponent.victim.count == 0)
    }

    @Test func aPeerOfFewStreamsGetsNoMoreChannelsThanItHasStreamsFor() async throws {
        var abilities = SCTPAssociation.Abilities()
        abilities.incomingStreamCount = 4
        let opponent = try await Opponent(abilities)
        let ids = try (0..<3).map {
            try opponent.victim.open(DataChannelParameters(label: "\($0)"), now: opponent.wire.now)
        }
        let reason = "The peer has no stream for one more data channel (it takes 4); close one first."
        #expect(try await opponent.run { opponent.events.contains(.closed(ids[2], reason: reason)) })
        #expect(opponent.events.contains(.opened(ids[1])))
        // It could neither be acknowledged nor closed, and must not keep others from being.
        opponent.open(5)
        opponent.send(Array("seen".utf8), stream: 0, ppid: 51)
        #expect(try await opponent.run { opponent.events.contains(.message(ids[0], .text("seen"))) })
        #expect(opponent.victim.count == 2)
        opponent.victim.close(ids[0], now: opponent.wire.now)
        #expect(try await opponent.run { opponent.resets == [0] })
        // A new one waits for the stream that is about to be free.
        let next = try opponent.victim.open(DataChannelParameters(label: "next"), now: opponent.wire.now)
        opponent.association.reset([0], now: opponent.wire.now)
        #expect(try await opponent.run { opponent.events.contains(.opened(next)) })
        #expect(opponent.events.contains(.closed(ids[0], reason: "")))
    }

    @Test func aChannelIsClosedAlsoWherePeersKnowNoResets() async throws {
        var abilities = SCTPAssociation.Abilities()
        abilities.resetsStreams = false
        let opponent = try await Opponent(abilities)
        let id = try opponent.victim.open(DataChannelParameters(label: "x"), now: opponent.wire.now)
        #expect(try await opponent.run { opponent.events.contains(.opened(id)) })
        opponent.victim.close(id, now: opponent.wire.now)
        #expect(try await opponent.run { opponent.events.contains(.closed(id, reason: "")) })
        // Its stream is not used again, as the peer knows of no end of it.
        let next = try opponent.victim.open(DataChannelParameters(label: "y"), now: opponent.wire.now)
        #expect(try await opponent.run { opponent.events.contains(.opened(next)) })
        opponent.send(Array("seen".utf8), stream: 2, ppid: 51)
        #expect(try await opponent.run { opponent.events.contains(.message(next, .text("seen"))) })
    }

    @Test func whatComesAfterTheEndIsNotObeyed() async throws {
        let opponent = try await Opponent()
        opponent.open(1)
        #expect(try await opponent.run { opponent.victim.count == 1 })
        // All of it lies there to be read at once.
        opponent.victim.setReadingPaused(true, now: opponent.wire.now)
        opponent.send([UInt8](repeating: 0, count: SCTPAssociation.maximumMessageByteCount + 1), stream: 1, ppid: 53)
        opponent.open(3, label: "late")
        opponent.isDrained = false
        #expect(try await opponent.run { opponent.isDrained })
        opponent.victim.setReadingPaused(false, now: opponent.wire.now)
        #expect(
            try await opponent.run {
                opponent.events.contains { if case .closed = $0 { true } else { false } }
            })
        #expect(opponent.victim.count == 0)
        let incoming = opponent.events.filter { if case .incoming = $0 { true } else { false } }
        #expect(incoming.count == 1)
    }

    @Test("RFC 8841 §6: messages are no larger than the peer takes, 64 KiB where it says nothing")
    func messageSize() async throws {
        let wire = Wire()
        wire.connect(maximumMessageByteCount: nil)
        let id = try wire[.client].open(DataChannelParameters(label: "x"), now: wire.now)
        #expect(throws: DataChannelError.notOpen) { try wire[.client].send(.text("early"), on: id, now: wire.now) }
        #expect(try await wire.run { wire.takeEvents(.client).contains(.opened(id)) })
        try wire[.client].send(.binary([UInt8](repeating: 0, count: 65_536)), on: id, now: wire.now)
        #expect(throws: DataChannelError.messageTooLarge(byteCount: 65_537, limit: 65_536)) {
            try wire[.client].send(.binary([UInt8](repeating: 0, count: 65_537)), on: id, now: wire.now)
        }
        for _ in 0..<1_000 {
            do throws(DataChannelError) {
                try wire[.client].send(.binary([UInt8](repeating: 0, count: 65_536)), on: id, now: wire.now)
            } catch {
                #expect(error == .bufferFull(limit: DataChannels.maximumBufferedAmount))
                return
            }
        }
        Issue.record("more is taken than a buffer holds")
    }

    @Test func whatIsNoPacketOfChunksInUseIsNotShownToTheLibrary() {
        let header = [UInt8](repeating: 0, count: 12)
        func isAcceptable(_ bytes: [UInt8]) -> Bool { SCTPPacket.isAcceptable(bytes.span.bytes) }
        #expect(isAcceptable(header + [10, 0, 0, 4]))
        #expect(isAcceptable(header + [10, 0, 0, 5, 1, 0, 0, 0, 11, 0, 0, 4]))
        // Nothing, cut short, of no length, an ASCONF, a dropped packet, I-DATA, too many.
        let refused: [[UInt8]] = [
            [], header, header + [10, 0], header + [10, 0, 0, 8], header + [10, 0, 0, 0], header + [193, 0, 0, 4],
            header + [129, 0, 0, 4], header + [64, 0, 0, 4],
            header + Array((0..<257).map { _ in [UInt8](arrayLiteral: 11, 0, 0, 4) }.joined()),
        ]
        for bytes in refused { #expect(!isAcceptable(bytes)) }
    }
}
