import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSDP
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// Simulcast (RFC 8853) end to end: what a receiver takes, and what a sender sends.
@Suite struct SimulcastTests {
    /// An answer that takes all three streams, as an SFU's does, made of one that takes one.
    private static func takingAll(_ answer: String) -> String {
        answer.replacing("a=rid:h recv\r\n", with: "a=rid:h recv\r\na=rid:m recv\r\na=rid:l recv\r\n")
            .replacing("a=simulcast:recv h\r\n", with: "a=simulcast:recv h;m;l\r\n")
    }

    private static func withoutSources(_ description: String) -> String {
        description.without("a=ssrc:", "a=ssrc-group:", "a=msid:")
    }

    // MARK: Receiving

    @Test("RFC 8853 §5.3.2: a receiver takes one of the streams on offer, and that one is sent")
    func oneStreamOfThreeIsTaken() throws {
        let call = try SimulcastCall()
        #expect(call.offer.contains("a=simulcast:send h;m;l\r\n") && call.answer.contains("a=simulcast:recv h\r\n"))
        call.stream(.seconds(2))
        #expect(call.received.count >= 58 && call.received.allSatisfy { $0.encoding == 0 })
        #expect(call.results[1]?[.queued] == nil && call.results[1]?[.notNegotiated] != nil)
        #expect(call.sender.statistics.outboundLayers.map(\.rid) == ["h"])
    }

    @Test(
        "RFC 8852 §3: of streams that nobody announced rid tells which is which; the others are passed over",
        arguments: UInt64(1)...5)
    func anSFUsWorthOfStreamsDoesNotConfuseAReceiver(seed: UInt64) throws {
        var conditions = SimulatedLink.Conditions()
        conditions.loss = 0.05
        conditions.delay = .milliseconds(20)
        let call = try SimulcastCall(
            seed: seed, conditions: conditions, changeOffer: Self.withoutSources, changeAnswer: Self.takingAll)
        call.stream(.seconds(4))
        #expect(Set(call.received.map(\.encoding)) == [0])
        // One in fourteen or so is hit by loss and mended by its own stream's retransmissions.
        #expect(call.received.count >= 100, "\(call.received.count)")
        let inbound = try #require(call.receiver.statistics.inboundVideo)
        #expect(inbound.retransmittedPacketsReceived > 0)
        #expect(inbound.framesReceived == UInt64(call.received.count))
        for layer in call.sender.statistics.outboundLayers { #expect(layer.outbound.framesSent > 60) }
        // What is not wanted is not asked for again either.
        #expect(call.sender.statistics.outboundLayers.map(\.outbound.nackCount).dropFirst().allSatisfy { $0 == 0 })
    }

    @Test func layersWithoutAnyNameAreNotMixed() throws {
        var conditions = SimulatedLink.Conditions()
        conditions.loss = 0.03
        let call = try SimulcastCall(
            seed: 3, conditions: conditions,
            changeOffer: { Self.withoutSources($0).without("rtp-stream-id") }, changeAnswer: Self.takingAll)
        call.stream(.seconds(3))
        // Whichever came first, that one it is.
        let taken = try #require(call.received.first?.encoding)
        #expect(call.received.allSatisfy { $0.encoding == taken } && call.received.count > 60)
    }

    @Test func whenTheStreamThatIsTakenGoesOffAnotherStandsInUntilItIsBack() throws {
        let call = try SimulcastCall(changeAnswer: Self.takingAll)
        call.stream(.seconds(1))
        call.sender.setActive([1, 2])
        call.stream(.seconds(4))
        #expect((call.received.last?.encoding ?? 0) > 0)
        call.sender.setActive([0, 1, 2])
        call.stream(.seconds(1))
        #expect(call.received.suffix(25).allSatisfy { $0.encoding == 0 })
    }

    // MARK: Sending

    @Test("RFC 8853 §6: a peer that takes all streams gets each under an SSRC of its own, named until it knows them")
    func allStreamsAreSent() throws {
        let call = try SimulcastCall(changeAnswer: Self.takingAll)
        let rids = try #require(call.receiver.receiving.ids.rid)
        var named: [UInt32: Set<String>] = [:]
        var packets: [UInt32: (named: Int, all: Int)] = [:]
        call.sender.packetTap = { packet, direction, _, _ in
            guard direction == .sent, DatagramKind(of: packet) == .rtp, let header = try? RTPHeader(parsing: packet),
                header.payloadType == 96
            else { return }
            let name = HeaderExtensions(of: header, in: packet).text(of: rids)
            if let name { named[header.ssrc, default: []].insert(name) }
            let before = packets[header.ssrc] ?? (0, 0)
            packets[header.ssrc] = (before.named + (name == nil ? 0 : 1), before.all + 1)
        }
        call.stream(.seconds(3))
        #expect(Set(named.values) == [["h"], ["m"], ["l"]])
        #expect(call.sender.simulcast.map(\.rid) == ["h", "m", "l"])
        for encoding in 0..<3 { #expect(call.results[encoding]?[.queued] ?? 0 >= 88) }
        // The receiver reports on the stream that it takes: of that one alone the name is left out then.
        let taken = try #require(call.receiver.videoReceiver?.ssrc)
        for (ssrc, count) in packets { #expect((count.named < count.all / 2) == (ssrc == taken), "\(count)") }
    }

    @Test func eachStreamHasKeyFrameRequestsOfItsOwn() throws {
        let call = try SimulcastCall(changeAnswer: Self.takingAll)
        call.stream(.seconds(1))
        #expect(Set(call.keyFrameRequests) == [0, 1, 2])
        let before = call.keyFrameRequests.count
        call.receiver.requestKeyFrame(now: call.simulation.now)
        call.stream(.seconds(1))
        #expect(call.keyFrameRequests.dropFirst(before).allSatisfy { $0 == 0 })
        #expect(call.keyFrameRequests.count > before)
    }

    @Test func aStreamWithoutRoomIsLeftOutAndComesBackWithAKeyFrame() throws {
        let call = try SimulcastCall(changeAnswer: Self.takingAll)
        call.stream(.seconds(1))
        call.sender.setActive([0])
        let before = call.results[2]?[.queued]
        call.stream(.seconds(1))
        #expect(call.results[2]?[.queued] == before && call.results[2]?[.congestion] ?? 0 >= 29)
        call.takeEvents()
        let requests = call.keyFrameRequests.count
        call.sender.setActive([0, 2])
        call.takeEvents()
        #expect(call.keyFrameRequests.dropFirst(requests) == [2])
        call.stream(.seconds(1))
        #expect((call.results[2]?[.queued] ?? 0) - (before ?? 0) >= 29)
    }

    @Test(arguments: [false, true])
    func aPeerWithoutSimulcastGetsOneStreamWithoutAName(namesAnother: Bool) throws {
        let call = try SimulcastCall(changeAnswer: { answer in
            namesAnother
                ? answer.replacing("a=simulcast:recv h", with: "a=simulcast:recv other")
                : answer.without("a=rid:", "a=simulcast:")
        })
        #expect(call.sender.simulcast.isEmpty)
        call.stream(.seconds(1))
        #expect(call.received.count >= 28 && call.received.allSatisfy { $0.encoding == 0 })
        #expect(call.results[1]?[.queued] == nil)
        #expect(call.sender.videoSender?.configuration.introduction == nil)
    }

    @Test func aNarrowPathCarriesTheSmallStreamsBeforeTheLargeOne() throws {
        let call = try SimulcastCall(changeAnswer: Self.takingAll)
        call.simulation.links[0].conditions.rate = .kilobitsPerSecond(700)
        call.simulation.links[0].conditions.queueByteCount = 30_000
        call.stream(.seconds(8))
        let layers = call.sender.statistics.outboundLayers
        call.takeEvents()
        #expect(call.failure == nil)
        // The three want some 1.5 Mbit/s; the smallest takes 125 kbit/s of it.
        #expect(layers[2].outbound.framesSent > 200, "\(layers.map(\.outbound.framesSent))")
        #expect(layers[0].outbound.framesSent < layers[2].outbound.framesSent)
    }

    @Test func aMinuteOfThreeStreamsTripsNoCircuitBreaker() throws {
        let call = try SimulcastCall(changeAnswer: Self.takingAll)
        call.stream(.seconds(20))
        call.sender.setActive([1, 2])
        call.stream(.seconds(45))
        #expect(call.sender.connectionState == .connected, "\(call.sender.connectionState)")
    }
}
