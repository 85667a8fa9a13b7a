import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct VideoReceiveStreamTests {
    private struct Link {
        var sender: RTPSendStream
        var receiver: RTPVideoReceiveStream
        var generator: SeededGenerator

        init(seed: UInt64, rtx: Bool = true) {
            generator = SeededGenerator(seed: seed)
            sender = RTPSendStream(senderConfiguration(rtx: rtx), using: &generator)
            receiver = RTPVideoReceiveStream(receiverConfiguration(rtx: rtx))
        }

        /// One frame's packets, not yet delivered.
        mutating func send(key: Bool, bytes: Int = 2500, at milliseconds: Int) throws -> [[UInt8]] {
            let payload = vp8Frame(isKeyFrame: key, byteCount: bytes, using: &generator)
            sender.enqueue(
                try VP8Packetizer.packetize(payload: payload, isKeyFrame: key, pictureID: 0, maxPayloadSize: 1100),
                captureTime: at(milliseconds), now: at(milliseconds))
            return sender.pollAll(now: at(milliseconds))
        }
    }

    @Test("RFC 8834 §6.1: retransmissions on an SSRC of their own complete frames")
    func aRecoveredPacketCompletesItsFrameByRTX() throws {
        var link = Link(seed: 1)
        for packet in try link.send(key: true, at: 0) { try link.receiver.handle(packet, now: at(0)) }
        #expect(link.receiver.pollFrame(now: at(0))?.isKeyFrame == true)
        let packets = try link.send(key: false, at: 33)
        try link.receiver.handle(packets[0], now: at(40))
        try link.receiver.handle(packets[2], now: at(40))
        #expect(link.receiver.pollFeedback(now: at(40)) == nil)
        #expect(link.receiver.nextDeadline == at(50))
        let lostPacket = packets[1]
        let lost = try RTPHeader(parsing: lostPacket.span.bytes).sequenceNumber
        #expect(link.receiver.pollFeedback(now: at(50)) == .nack([lost]))
        link.sender.handleNACK([lost], now: at(60))
        for packet in link.sender.pollAll(now: at(60)) { try link.receiver.handle(packet, now: at(70)) }
        #expect(link.receiver.pollFrame(now: at(70)) != nil)
        #expect(link.receiver.nextDeadline == nil)
        let statistics = link.receiver.statistics
        #expect(statistics.packetsReceived == 6 && statistics.retransmittedPacketsReceived == 1)
        #expect(statistics.packetsLost == 1 && statistics.framesReceived == 2 && statistics.nackCount == 1)
        #expect(statistics.pliCount == 0)
        #expect(abs(statistics.jitterBufferDelay - 0.030) < 1e-9)
    }

    @Test func aStreamJoinedInTheMiddleAsksForAKeyFrameOnceAndAgainWhenNoneComes() throws {
        var link = Link(seed: 2)
        var asked: [Int] = []
        for milliseconds in stride(from: 0, to: 2600, by: 10) {
            if milliseconds % 30 == 0 {
                for packet in try link.send(key: false, at: milliseconds) {
                    try link.receiver.handle(packet, now: at(milliseconds))
                }
            }
            while let feedback = link.receiver.pollFeedback(now: at(milliseconds)) {
                if feedback == .keyFrameRequest { asked.append(milliseconds) }
            }
        }
        #expect(asked == [50, 550, 1050, 1550, 2050, 2550])
        #expect(link.receiver.pollFrame(now: at(2600)) == nil)
        for packet in try link.send(key: true, at: 2610) { try link.receiver.handle(packet, now: at(2610)) }
        #expect(link.receiver.pollFrame(now: at(2610))?.isKeyFrame == true)
        #expect(link.receiver.pollFeedback(now: at(9000)) == nil)
    }

    @Test func aLossThatNobodyMendsEndsInOneKeyFrameRequest() throws {
        var link = Link(seed: 3)
        for packet in try link.send(key: true, at: 0) { try link.receiver.handle(packet, now: at(0)) }
        _ = try link.send(key: false, at: 33)
        var asked: [Int] = []
        for milliseconds in stride(from: 40, to: 600, by: 1) {
            if milliseconds % 33 == 0 {
                for packet in try link.send(key: false, at: milliseconds) {
                    try link.receiver.handle(packet, now: at(milliseconds))
                }
            }
            link.receiver.handleTimeout(now: at(milliseconds))
            while let feedback = link.receiver.pollFeedback(now: at(milliseconds)) {
                if feedback == .keyFrameRequest { asked.append(milliseconds) }
            }
        }
        // Four retransmissions at the round trip that is assumed, after the wait for reordering.
        #expect(asked == [66 + 410])
    }

    @Test(arguments: [(900, false), (1_500, true)])
    func afterALongOutageAKeyFrameIsAskedForAtOnce(_ outage: Int, _ isAsked: Bool) throws {
        var link = Link(seed: 4)
        for packet in try link.send(key: true, at: 0) { try link.receiver.handle(packet, now: at(0)) }
        _ = try link.send(key: false, at: 33)
        for packet in try link.send(key: false, at: outage) { try link.receiver.handle(packet, now: at(outage)) }
        #expect((link.receiver.pollFeedback(now: at(outage)) == .keyFrameRequest) == isAsked)
        // And for nothing else.
        if isAsked { #expect(link.receiver.pollFeedback(now: at(outage + 50)) == nil) }
    }

    /// A source that has nothing to show sends nothing.
    @Test func afterALongPauseWithoutLossNothingIsAskedFor() throws {
        var link = Link(seed: 4)
        for packet in try link.send(key: true, at: 0) { try link.receiver.handle(packet, now: at(0)) }
        for packet in try link.send(key: false, at: 5_000) { try link.receiver.handle(packet, now: at(5_000)) }
        #expect(link.receiver.pollFeedback(now: at(5_000)) == nil)
        #expect(link.receiver.pollFrame(now: at(5_000)) != nil && link.receiver.pollFrame(now: at(5_000)) != nil)
    }

    @Test func aDecoderInTroubleGetsAKeyFrame() throws {
        var link = Link(seed: 4)
        for packet in try link.send(key: true, at: 0) { try link.receiver.handle(packet, now: at(0)) }
        _ = link.receiver.pollFrame(now: at(0))
        link.receiver.requestKeyFrame(now: at(10))
        #expect(link.receiver.pollFeedback(now: at(10)) == .keyFrameRequest)
        for packet in try link.send(key: false, at: 33) { try link.receiver.handle(packet, now: at(33)) }
        #expect(link.receiver.pollFrame(now: at(33)) == nil)
        for packet in try link.send(key: true, at: 66) { try link.receiver.handle(packet, now: at(66)) }
        #expect(link.receiver.pollFrame(now: at(66))?.isKeyFrame == true)
    }

    @Test("RFC 8834 §4.3: packets of payload types that were not negotiated are discarded")
    func foreignPayloadTypesAndSourcesAreDiscarded() throws {
        var link = Link(seed: 5)
        for packet in try link.send(key: true, at: 0) { try link.receiver.handle(packet, now: at(0)) }
        var foreign = try link.send(key: false, at: 33)[0]
        foreign[1] = 100
        try link.receiver.handle(foreign, now: at(33))
        foreign[1] = 96
        foreign[11] ^= 1
        try link.receiver.handle(foreign, now: at(33))
        #expect(link.receiver.statistics.packetsDiscarded == 2 && link.receiver.ssrc == 0x1111)
        #expect(link.receiver.accepts(payloadType: 97) && !link.receiver.accepts(payloadType: 98))
    }

    @Test func aNewSSRCAndARestartBeginAnew() throws {
        var link = Link(seed: 6)
        for packet in try link.send(key: true, at: 0) { try link.receiver.handle(packet, now: at(0)) }
        #expect(link.receiver.reportBlock(now: at(1))?.ssrc == 0x1111)
        _ = link.receiver.pollFrame(now: at(1))
        link.sender.changeSSRC(to: 0x7777, rtxSSRC: 0x8888, using: &link.generator)
        link.receiver.switchSSRC(to: 0x7777)
        #expect(link.receiver.reportBlock(now: at(1)) == nil)
        for packet in try link.send(key: true, at: 33) { try link.receiver.handle(packet, now: at(33)) }
        #expect(link.receiver.pollFrame(now: at(33))?.isKeyFrame == true)
        #expect(link.receiver.reportBlock(now: at(34))?.ssrc == 0x7777)
    }

    struct Weather: Sendable, CustomTestStringConvertible {
        var name: String
        var loss: Int
        var duplication: Int
        var jitter: Int
        var rtx: Bool
        var testDescription: String { name }
    }

    /// Frames through a lossy, reordering, duplicating link with NACK: each comes out byte for byte, in order.
    @Test(
        arguments: [
            Weather(name: "clear", loss: 0, duplication: 0, jitter: 0, rtx: true),
            Weather(name: "reordering", loss: 0, duplication: 5, jitter: 30, rtx: true),
            Weather(name: "lossy", loss: 5, duplication: 2, jitter: 10, rtx: true),
            Weather(name: "stormy", loss: 15, duplication: 10, jitter: 20, rtx: true),
            Weather(name: "lossy without RTX", loss: 8, duplication: 2, jitter: 15, rtx: false),
        ], [1, 2, 3] as [UInt64])
    func everyFrameArrivesByteForByteInOrder(weather: Weather, seed: UInt64) throws {
        var link = Link(seed: seed, rtx: weather.rtx)
        link.receiver.roundTripTime = .milliseconds(60)
        var network = SeededGenerator(seed: seed &* 7919)
        let frameCount = 300
        var sent: [[UInt8]] = []
        var received: [[UInt8]] = []
        var toReceiver: [(due: Int, packet: [UInt8])] = []
        var toSender: [(due: Int, numbers: [UInt16])] = []
        var keyFrameRequests = 0
        var milliseconds = 0
        while received.count < frameCount, milliseconds < frameCount * 33 + 5000 {
            if milliseconds % 33 == 0, sent.count < frameCount {
                let isKeyFrame = sent.isEmpty
                let payload = vp8Frame(
                    isKeyFrame: isKeyFrame, byteCount: isKeyFrame ? 20_000 : 1 + network.number(below: 9000),
                    using: &network)
                sent.append(payload)
                link.sender.enqueue(
                    try VP8Packetizer.packetize(
                        payload: payload, isKeyFrame: isKeyFrame, pictureID: UInt16(sent.count), maxPayloadSize: 1150),
                    captureTime: at(milliseconds), now: at(milliseconds))
            }
            for arrival in toSender where arrival.due == milliseconds {
                link.sender.handleNACK(arrival.numbers, now: at(milliseconds))
            }
            toSender.removeAll { $0.due <= milliseconds }
            for (index, packet) in link.sender.pollAll(now: at(milliseconds)).enumerated() {
                // The first and the last packet cannot be missed before something follows them: spare those.
                let isSpared = sent.count == 1 && index == 0 || sent.count == frameCount
                if !isSpared, network.chance(percent: weather.loss) { continue }
                for _ in 0..<(network.chance(percent: weather.duplication) ? 2 : 1) {
                    toReceiver.append((milliseconds + 30 + network.number(below: weather.jitter + 1), packet))
                }
            }
            for arrival in toReceiver where arrival.due == milliseconds {
                try link.receiver.handle(arrival.packet, now: at(milliseconds))
            }
            toReceiver.removeAll { $0.due <= milliseconds }
            link.receiver.handleTimeout(now: at(milliseconds))
            while let feedback = link.receiver.pollFeedback(now: at(milliseconds)) {
                switch feedback {
                case .nack(let numbers):
                    if !network.chance(percent: weather.loss) { toSender.append((milliseconds + 30, numbers)) }
                case .keyFrameRequest: keyFrameRequests += 1
                }
            }
            while let frame = link.receiver.pollFrame(now: at(milliseconds)) { received.append(frame.payload) }
            milliseconds += 1
        }
        #expect(received == sent)
        #expect(keyFrameRequests == 0)
        if weather.loss > 0 { #expect(link.sender.statistics.retransmittedPacketsSent > 20) }
        #expect(weather.loss > 0 || link.receiver.statistics.packetsLost <= 0)
    }
}
