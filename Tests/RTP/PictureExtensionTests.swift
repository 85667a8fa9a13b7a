import EmisoraCore
import Testing

@testable import EmisoraRTP

/// How pictures lie and are to be played: `video-orientation` and `playout-delay`, sent and received.
@Suite struct PictureExtensionTests {
    private typealias Orientation = HeaderExtensionValues.VideoOrientation

    private static let turned = HeaderExtensionValues.VideoOrientation(quarterTurns: 1)

    private func sender(
        playoutDelay: HeaderExtensionValues.PlayoutDelay? = nil, seed: UInt64 = 1
    ) throws -> RTPSendStream {
        var configuration = senderConfiguration(rtx: true)
        configuration.extensions = try HeaderExtensionBlock([], ids: .everyID)
        configuration.playoutDelay = playoutDelay
        var generator = SeededGenerator(seed: seed)
        return RTPSendStream(configuration, using: &generator)
    }

    /// One picture's packets, three of them.
    private func send(
        _ stream: inout RTPSendStream, key: Bool = false,
        _ orientation: HeaderExtensionValues.VideoOrientation = .upright,
        at milliseconds: Int
    ) throws -> [[UInt8]] {
        var generator = SeededGenerator(seed: UInt64(milliseconds))
        let frame = try VP8Packetizer.packetize(
            payload: vp8Frame(isKeyFrame: key, byteCount: 3_000, using: &generator), isKeyFrame: key, pictureID: 1,
            maxPayloadSize: 1_100, orientation: orientation)
        stream.enqueue(frame, captureTime: at(milliseconds), now: at(milliseconds))
        return stream.pollAll(now: at(milliseconds))
    }

    private func values(_ packet: [UInt8]) throws -> HeaderExtensionValues {
        HeaderExtensionValues(of: try RTPHeader(parsing: packet.span.bytes), in: packet.span.bytes, ids: .everyID)
    }

    @Test("3GPP TS 26.114 §7.4.5: the last packet of key frames and of changes tells how the picture lies")
    func orientationIsToldWithTheLastPacket() throws {
        var stream = try sender()
        func told(key: Bool = false, _ orientation: HeaderExtensionValues.VideoOrientation, _ index: Int) throws
            -> [Int?]
        {
            try send(&stream, key: key, orientation, at: index * 33).map {
                try values($0).videoOrientation.map { Int($0.quarterTurns) }
            }
        }
        #expect(try told(key: true, .upright, 0) == [nil, nil, 0])
        #expect(try told(.upright, 1) == [nil, nil, nil])
        #expect(try told(Self.turned, 2) == [nil, nil, 1])
        // A receiver that takes nothing for upright must not be wrong, either.
        #expect(try told(Self.turned, 3) == [nil, nil, 1])
        #expect(try told(.upright, 4) == [nil, nil, 0])
        #expect(try told(.upright, 5) == [nil, nil, nil])
    }

    @Test func aRetransmissionTellsWhatThePacketTold() throws {
        var stream = try sender()
        let last = try #require(try send(&stream, key: true, Self.turned, at: 0).last)
        stream.handleNACK([try RTPHeader(parsing: last.span.bytes).sequenceNumber], now: at(20))
        let again = try #require(stream.pollAll(now: at(20)).first)
        #expect(try RTPHeader(parsing: again.span.bytes).ssrc == 0x2222)
        #expect(try values(again).videoOrientation == Self.turned)
    }

    @Test func receivedPicturesLieAsTheirPacketsSayThroughLossAndRetransmission() throws {
        var stream = try sender()
        var receiver = RTPVideoReceiveStream(receiverConfiguration(rtx: true))
        func deliver(_ packet: [UInt8], _ milliseconds: Int) throws {
            try receiver.handle(packet, now: at(milliseconds))
            receiver.handle(try values(packet), of: try RTPHeader(parsing: packet.span.bytes))
        }
        var shown: [UInt8] = []
        let turns: [UInt8] = [0, 0, 1, 1, 3, 0, 0]
        for (index, turn) in turns.enumerated() {
            let packets = try send(&stream, key: index == 0, Orientation(quarterTurns: turn), at: index * 33)
            for packet in packets.dropLast() { try deliver(packet, index * 33) }
            guard let last = packets.last else { continue }
            if index == 2 || index == 5 {
                // The packet that tells of the change is lost, and asked for again.
                stream.handleNACK([try RTPHeader(parsing: last.span.bytes).sequenceNumber], now: at(index * 33 + 20))
                for packet in stream.pollAll(now: at(index * 33 + 20)) { try deliver(packet, index * 33 + 30) }
            } else {
                try deliver(last, index * 33)
            }
            while let frame = receiver.pollFrame(now: at(index * 33 + 30)) {
                shown.append(frame.orientation.quarterTurns)
            }
        }
        #expect(shown == turns)
    }

    @Test func whatIsNotSaidStaysAsItWas() {
        var track = VideoOrientationTrack()
        #expect(track.orientation(at: 5) == nil)
        track.note(Self.turned, timestamp: 10)
        #expect(track.orientation(at: 9) == nil)
        #expect(track.orientation(at: 10) == Self.turned)
        #expect(track.orientation(at: 4_000) == Self.turned)
        // Of two pictures that came meanwhile the later one counts, in whatever order their packets came.
        track.note(.upright, timestamp: 6_000)
        track.note(Orientation(quarterTurns: 2), timestamp: 5_000)
        #expect(track.orientation(at: 5_000)?.quarterTurns == 2)
        #expect(track.orientation(at: 7_000) == .upright)
        // Over the end of the numbers.
        track.note(Self.turned, timestamp: 50)
        #expect(track.orientation(at: .max - 50) == .upright)
        #expect(track.orientation(at: 60) == Self.turned)
    }

    @Test func aSenderThatTellsForEverMakesNothingGrow() {
        var track = VideoOrientationTrack()
        for index in 0..<100_000 as Range<UInt32> {
            track.note(Orientation(quarterTurns: UInt8(index & 3)), timestamp: index &* 7_919)
        }
        #expect(MemoryLayout.size(ofValue: track) < 64)
        #expect(track.count <= 128)
    }

    @Test func playoutDelayIsToldUntilAReportShowsThatItCameThroughAndWithKeyFramesAfterwards() throws {
        let bounds = HeaderExtensionValues.PlayoutDelay(.milliseconds(0) ... .milliseconds(95))
        #expect(bounds == HeaderExtensionValues.PlayoutDelay(minimum: 0, maximum: 10))
        for seed in 1...40 as ClosedRange<UInt64> {
            var stream = try sender(playoutDelay: bounds, seed: seed)
            func told(key: Bool = false, at milliseconds: Int) throws -> [HeaderExtensionValues.PlayoutDelay?] {
                try send(&stream, key: key, at: milliseconds).map { try values($0).playoutDelay }
            }
            let first = try send(&stream, key: true, at: 0)
            let packet = first[0]
            let number = try RTPHeader(parsing: packet.span.bytes).sequenceNumber
            #expect(try first.map { try values($0).playoutDelay } == [bounds, bounds, bounds])
            #expect(try told(at: 33) == [bounds, bounds, bounds])
            func report(_ highest: UInt16) {
                let block = ReportBlock(
                    ssrc: 0x1111, fractionLost: 0, cumulativeLost: 0, extendedHighestSequenceNumber: UInt32(highest),
                    jitter: 0, lastSenderReport: 0, delaySinceLastSenderReport: 0)
                stream.handle(block, wallClock: WallClock(unixNanosecondsAtZero: 0), now: at(50))
            }
            report(number &- 1)
            #expect(try told(at: 66) == [bounds, bounds, bounds])
            report(number)
            #expect(try told(at: 99) == [nil, nil, nil])
            #expect(try told(key: true, at: 132) == [bounds, bounds, bounds])
            #expect(try told(at: 165) == [nil, nil, nil])
        }
    }

    @Test func playoutDelayIsToldFromWhenALaterDescriptionTakesIt() throws {
        var configuration = senderConfiguration(rtx: false)
        let bounds = HeaderExtensionValues.PlayoutDelay(minimum: 1, maximum: 2)
        configuration.playoutDelay = bounds
        var generator = SeededGenerator(seed: 1)
        var stream = RTPSendStream(configuration, using: &generator)
        for packet in try send(&stream, key: true, at: 0) { #expect(try values(packet).playoutDelay == nil) }
        configuration.extensions = try HeaderExtensionBlock([], ids: .everyID)
        stream.renegotiate(configuration)
        for packet in try send(&stream, at: 33) { #expect(try values(packet).playoutDelay == bounds) }
    }

    @Test func whereItWasNotNegotiatedNothingIsTold() throws {
        var configuration = senderConfiguration(rtx: false)
        var ids = HeaderExtensionIDs()
        ids.transportSequenceNumber = 5
        configuration.extensions = try HeaderExtensionBlock([], ids: ids)
        configuration.playoutDelay = .init(minimum: 1, maximum: 2)
        var generator = SeededGenerator(seed: 1)
        var stream = RTPSendStream(configuration, using: &generator)
        for packet in try send(&stream, key: true, Self.turned, at: 0) {
            #expect(try values(packet) == HeaderExtensionValues())
        }
    }

    @Test func boundsOfPlayoutDelayAreHeldToWhatTheExtensionCanCarry() {
        typealias Delay = HeaderExtensionValues.PlayoutDelay
        #expect(Delay(.milliseconds(14) ... .milliseconds(101)) == Delay(minimum: 1, maximum: 11))
        #expect(Delay(.seconds(-5) ... .seconds(3_600)) == Delay(minimum: 0, maximum: 4_095))
        #expect(Delay(.seconds(Int64.max) ... .seconds(Int64.max)) == Delay(minimum: 4_095, maximum: 4_095))
        #expect(Delay(minimum: 3, maximum: 20).durations == .milliseconds(30) ... .milliseconds(200))
        #expect(Delay(minimum: 3, maximum: 2).durations == nil)
    }

    @Test("RFC 7587 §4.1: the timestamp goes on over silence that was not sent") func timestampsGoOnOverSilence() throws
    {
        var generator = SeededGenerator(seed: 9)
        var stream = RTPSendStream(.init(ssrc: 1, payloadType: 111, clockRate: 48_000), using: &generator)
        func enqueue(_ milliseconds: Int, isFirst: Bool = false) throws {
            let packet = try OpusPacketizer.packetize(payload: [0xFC, 1, 2, 3], startsTalkspurt: isFirst)
            stream.enqueue(packet, captureTime: at(milliseconds), now: at(milliseconds))
        }
        // A single packet is left out at 40 ms, nineteen behind 60 ms, and capture times jitter.
        for milliseconds in [0, 21] { try enqueue(milliseconds) }
        try enqueue(58, isFirst: true)
        try enqueue(443, isFirst: true)
        try enqueue(460)
        let headers = try stream.pollAll(now: at(500)).map { try RTPHeader(parsing: $0.span.bytes) }
        #expect(headers.map(\.marker) == [false, false, true, true, false])
        let steps = zip(headers, headers.dropFirst()).map { $1.timestamp &- $0.timestamp }
        #expect(steps == [960, 2 * 960, 19 * 960, 960])
    }
}
