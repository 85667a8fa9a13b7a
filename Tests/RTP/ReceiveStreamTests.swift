import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct VideoJitterBufferTests {
    /// Inserts a packet of three bytes of VP8.
    @discardableResult
    private func insert(
        _ buffer: inout VideoJitterBuffer, _ number: Int64, frame: Int, start: Bool, key: Bool = false, last: Bool,
        at milliseconds: Int
    ) -> VideoJitterBuffer.Insertion {
        let payload: [UInt8] = [start ? 0x10 : 0x00, start && key ? 0x00 : 0x01, UInt8(truncatingIfNeeded: number)]
        return buffer.insert(
            number: number, timestamp: UInt32(frame * 3000), marker: last, payload: payload.span.bytes,
            now: at(milliseconds))
    }

    private func frames(_ buffer: inout VideoJitterBuffer) -> [UInt32] {
        var timestamps: [UInt32] = []
        while let frame = buffer.pollFrame() { timestamps.append(frame.rtpTimestamp / 3000) }
        return timestamps
    }

    /// A key frame of two packets, 100 and 101.
    private func decodingBuffer(_ configuration: VideoJitterBuffer.Configuration = .init()) -> VideoJitterBuffer {
        var buffer = VideoJitterBuffer(configuration)
        insert(&buffer, 100, frame: 0, start: true, key: true, last: false, at: 0)
        insert(&buffer, 101, frame: 0, start: false, last: true, at: 0)
        _ = buffer.pollFrame()
        return buffer
    }

    @Test func nothingComesOutBeforeACompleteKeyFrame() {
        var buffer = VideoJitterBuffer()
        insert(&buffer, 99, frame: 0, start: true, last: true, at: 0)
        #expect(insert(&buffer, 101, frame: 1, start: false, last: true, at: 1) == .inserted)
        #expect(frames(&buffer) == [] && buffer.state == .waitingForKeyFrame)
        #expect(insert(&buffer, 100, frame: 1, start: true, key: true, last: false, at: 2) == .keyFrameBegan)
        let frame = buffer.pollFrame()
        #expect(frame?.isKeyFrame == true && frame?.payload == [0, 100, 1, 101])
        #expect(frame?.firstPacketReceivedAt == at(1) && frame?.receivedAt == at(2))
        #expect(buffer.state == .decoding && buffer.framesDropped == 1)
    }

    @Test func framesWaitForThoseBeforeThem() {
        var buffer = decodingBuffer()
        insert(&buffer, 103, frame: 2, start: true, last: true, at: 1)
        insert(&buffer, 104, frame: 3, start: true, last: true, at: 2)
        #expect(frames(&buffer) == [])
        #expect(buffer.nextDeadline == at(401))
        insert(&buffer, 102, frame: 1, start: true, last: true, at: 3)
        #expect(frames(&buffer) == [1, 2, 3])
        #expect(buffer.nextDeadline == nil)
    }

    @Test func aFrameWithoutMarkerEndsWithTheNextTimestamp() {
        var buffer = decodingBuffer()
        insert(&buffer, 102, frame: 1, start: true, last: false, at: 1)
        #expect(frames(&buffer) == [])
        insert(&buffer, 103, frame: 2, start: true, last: true, at: 1)
        #expect(frames(&buffer) == [1, 2])
    }

    @Test func paddingFillsItsPlaceBetweenAndInsideFrames() {
        var buffer = decodingBuffer()
        _ = buffer.insert(number: 102, timestamp: 0, marker: false, payload: [UInt8]().span.bytes, now: at(1))
        insert(&buffer, 103, frame: 1, start: true, last: false, at: 1)
        _ = buffer.insert(number: 104, timestamp: 9, marker: false, payload: [UInt8]().span.bytes, now: at(1))
        insert(&buffer, 105, frame: 1, start: false, last: true, at: 1)
        #expect(frames(&buffer) == [1])
    }

    @Test func lateAndDuplicatePacketsAreTold() {
        var buffer = decodingBuffer()
        #expect(insert(&buffer, 101, frame: 0, start: false, last: true, at: 1) == .late)
        insert(&buffer, 103, frame: 2, start: true, last: true, at: 1)
        #expect(insert(&buffer, 103, frame: 2, start: true, last: true, at: 1) == .duplicate)
    }

    @Test func aMissingPacketIsGivenUpAfterTheWaitAndAKeyFrameGoesOn() {
        var buffer = decodingBuffer()
        insert(&buffer, 103, frame: 2, start: true, last: true, at: 1)
        buffer.handleTimeout(now: at(400))
        #expect(buffer.state == .decoding)
        buffer.handleTimeout(now: at(401))
        #expect(buffer.state == .waitingForKeyFrame && buffer.nextDeadline == nil)
        insert(&buffer, 104, frame: 3, start: true, last: true, at: 402)
        #expect(frames(&buffer) == [])
        insert(&buffer, 105, frame: 4, start: true, key: true, last: true, at: 403)
        insert(&buffer, 106, frame: 5, start: true, last: true, at: 404)
        #expect(frames(&buffer) == [4, 5])
        #expect(buffer.framesDropped == 2)
    }

    @Test func aKeyFrameThatIsAlreadyThereIsTakenWhenTheWaitIsOver() {
        var buffer = decodingBuffer()
        insert(&buffer, 103, frame: 2, start: true, key: true, last: true, at: 1)
        insert(&buffer, 104, frame: 3, start: true, last: true, at: 2)
        buffer.handleTimeout(now: at(401))
        #expect(frames(&buffer) == [2, 3] && buffer.state == .decoding)
    }

    @Test func aFrameThatBeginsInItsMiddleNeedsAKeyFrame() {
        var buffer = decodingBuffer()
        insert(&buffer, 102, frame: 1, start: false, last: true, at: 1)
        #expect(buffer.state == .waitingForKeyFrame)
    }

    @Test func memoryStaysBoundedWhateverComes() {
        var configuration = VideoJitterBuffer.Configuration()
        configuration.packetLimit = 128
        configuration.byteLimit = 20_000
        configuration.frameLimit = 8
        var buffer = decodingBuffer(configuration)
        let payload = [0x00, 0x01] + [UInt8](repeating: 7, count: 1000)
        for number in Int64(103)..<5000 {
            _ = buffer.insert(
                number: number, timestamp: 1, marker: false, payload: payload.span.bytes, now: at(Int(number)))
            #expect(buffer.storedPacketCount <= 128 && buffer.storedByteCount <= 20_000)
        }
        // Nobody takes frames: they are thrown away, and the next that comes out is a key frame.
        buffer.reset()
        for number in Int64(0)..<96 {
            insert(&buffer, number, frame: Int(number), start: true, key: number % 5 == 0, last: true, at: 1)
        }
        let taken = frames(&buffer)
        #expect(taken.count <= 8 && taken.first.map { $0 % 5 } == 0)
    }

    @Test func callsInAnyOrderDoNotTrap() {
        var generator = SeededGenerator(seed: 99)
        var configuration = VideoJitterBuffer.Configuration()
        configuration.packetLimit = 64
        configuration.frameLimit = 4
        configuration.byteLimit = 500
        for _ in 0..<200 {
            var buffer = VideoJitterBuffer(configuration)
            var base: Int64 = 1000
            var milliseconds = 0
            for _ in 0..<300 {
                milliseconds += generator.number(below: 100)
                switch generator.number(below: 20) {
                case 0: buffer.waitForKeyFrame(now: at(milliseconds))
                case 1: buffer.handleTimeout(now: at(milliseconds))
                case 2: _ = buffer.pollFrame()
                case 3: if generator.chance(percent: 10) { buffer.reset() }
                case 4: base += Int64(generator.number(below: 400)) - 100
                default:
                    base += 1
                    let number = base + Int64(generator.number(below: 7)) - 3
                    _ = buffer.insert(
                        number: number, timestamp: UInt32(number / 3), marker: generator.chance(percent: 30),
                        payload: generator.bytes(generator.number(below: 12)).span.bytes, now: at(milliseconds))
                }
                #expect(buffer.storedByteCount <= 500 && buffer.storedPacketCount >= 0)
            }
        }
    }
}

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

    @Test func aRecoveredPacketCompletesItsFrameByRTX() throws {
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

    @Test func aStreamJoinedInTheMiddleAsksForAKeyFrameOnceAndAgainAfterASecond() throws {
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
        #expect(asked == [50, 1050, 2050])
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
        #expect(asked == [66 + 400])
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

    @Test func foreignPayloadTypesAndSourcesAreDiscarded() throws {
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

@Suite struct AudioReceiveTests {
    private let opus: [UInt8] = [0xFC, 0, 0]

    private func insert(
        _ buffer: inout AudioJitterBuffer, _ number: Int64, at milliseconds: Int
    ) -> AudioJitterBuffer.Insertion {
        let payload = [0xFC, UInt8(truncatingIfNeeded: number)]
        return buffer.insert(
            number: number, timestamp: UInt32(truncatingIfNeeded: number * 960), payload: payload.span.bytes,
            now: at(milliseconds))
    }

    private func number(_ output: AudioJitterBuffer.Output) -> Int? {
        if case .packet(let bytes, _) = output { Int(bytes[1]) } else { nil }
    }

    @Test func evenArrivalPlaysInOrderWithTheSmallestDelay() {
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        var played: [Int?] = []
        for index in 0..<100 {
            _ = insert(&buffer, Int64(index), at: index * 20)
            played.append(number(buffer.pop(now: at(index * 20 + 1))))
        }
        #expect(played == Array(0..<100))
        #expect(buffer.targetDelay == .milliseconds(20))
        #expect(abs(buffer.totalDelay - 0.1) < 1e-6)
    }

    @Test func aMissingPacketIsLostAndTheNextComesAlongForFEC() {
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        for index in [0, 2, 5] as [Int64] { _ = insert(&buffer, index, at: 0) }
        #expect(number(buffer.pop(now: at(20))) == 0)
        #expect(buffer.pop(now: at(40)) == .lost(nextPacketForFEC: [0xFC, 2]))
        #expect(insert(&buffer, 1, at: 41) == .late)
        #expect(number(buffer.pop(now: at(60))) == 2)
        #expect(buffer.pop(now: at(80)) == .lost(nextPacketForFEC: nil))
        #expect(buffer.pop(now: at(100)) == .lost(nextPacketForFEC: [0xFC, 5]))
        #expect(number(buffer.pop(now: at(120))) == 5)
        #expect(buffer.pop(now: at(140)) == .empty)
        #expect(buffer.concealmentEvents == 3)
    }

    @Test func reorderedAndDuplicatePacketsPlayOnceInOrder() {
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        for index in [1, 0, 2, 2, 4, 3] as [Int64] { _ = insert(&buffer, index, at: 0) }
        #expect(insert(&buffer, 4, at: 0) == .duplicate)
        #expect((0..<5).map { number(buffer.pop(now: at($0 * 20))) } == [0, 1, 2, 3, 4])
    }

    @Test func silenceIsEmptyAndPlayingGoesOnAfterIt() {
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        _ = insert(&buffer, 0, at: 0)
        #expect(number(buffer.pop(now: at(20))) == 0)
        for index in 2..<30 { #expect(buffer.pop(now: at(index * 20)) == .empty) }
        // The timestamp goes on over the silence, the sequence number does not.
        let payload: [UInt8] = [0xFC, 1]
        _ = buffer.insert(number: 1, timestamp: 30 * 960, payload: payload.span.bytes, now: at(600))
        #expect(number(buffer.pop(now: at(620))) == 1)
    }

    @Test func aLongGapIsSkippedNotConcealed() {
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        _ = insert(&buffer, 0, at: 0)
        _ = insert(&buffer, 50, at: 0)
        #expect(number(buffer.pop(now: at(20))) == 0)
        #expect(number(buffer.pop(now: at(40))) == 50)
    }

    @Test func theTargetFollowsJitterUpToItsBoundAndBack() {
        var generator = SeededGenerator(seed: 6)
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        for index in 0..<100 {
            _ = insert(&buffer, Int64(index), at: index * 20 + generator.number(below: 45))
            _ = buffer.pop(now: at(index * 20 + 50))
        }
        #expect(buffer.targetDelay > .milliseconds(35) && buffer.targetDelay <= .milliseconds(60))
        for index in 100..<1500 {
            _ = insert(&buffer, Int64(index), at: index * 20)
            _ = buffer.pop(now: at(index * 20 + 50))
        }
        #expect(buffer.targetDelay < .milliseconds(25))
    }

    @Test func aBurstAndAFasterSenderAreShortenedToTheTarget() {
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        for index in 0..<10 { _ = insert(&buffer, Int64(index), at: 0) }
        for index in 10..<600 {
            _ = insert(&buffer, Int64(index), at: index * 20)
            _ = buffer.pop(now: at(index * 20))
        }
        #expect(buffer.packetsRemovedForAcceleration >= 6)
        #expect(buffer.bufferedDuration <= .milliseconds(80))
    }

    @Test func withoutAPlayerItStaysBounded() {
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        for index in 0..<5000 {
            _ = insert(&buffer, Int64(index), at: index * 20)
            #expect(buffer.packetCount <= 50)
        }
        #expect(number(buffer.pop(now: at(100_000))) != nil)
    }

    @Test func lossAndJitterStillPlayEachPacketAtMostOnceInOrder() throws {
        var generator = SeededGenerator(seed: 12)
        var stream = RTPAudioReceiveStream(.init(payloadType: 111))
        var sender = RTPSendStream(.init(ssrc: 5, payloadType: 111, clockRate: 48_000), using: &generator)
        var pending: [(due: Int, packet: [UInt8])] = []
        var timestamps: [UInt32] = []
        var lost = 0
        for milliseconds in 0..<20_000 {
            if milliseconds % 20 == 0 {
                sender.enqueue(
                    try OpusPacketizer.packetize(payload: opus), captureTime: at(milliseconds), now: at(milliseconds))
                for packet in sender.pollAll(now: at(milliseconds)) where !generator.chance(percent: 3) {
                    pending.append((milliseconds + 20 + generator.number(below: 35), packet))
                }
            }
            for (_, packet) in pending.filter({ $0.due == milliseconds }) {
                let header = try RTPHeader(parsing: packet.span.bytes)
                stream.handle(header, packet: packet.span.bytes, now: at(milliseconds))
            }
            pending.removeAll { $0.due <= milliseconds }
            if milliseconds % 20 == 7 {
                switch stream.pop(now: at(milliseconds)) {
                case .packet(_, let timestamp): timestamps.append(timestamp)
                case .lost: lost += 1
                case .empty: break
                }
            }
        }
        #expect(zip(timestamps, timestamps.dropFirst()).allSatisfy { Int32(bitPattern: $1 &- $0) > 0 })
        #expect(timestamps.count > 930)
        #expect((10...70).contains(lost))
        let statistics = stream.statistics
        #expect(statistics.packetsLost > 10 && statistics.packetsLost < 60)
        #expect(statistics.jitterBufferDelay / Double(statistics.jitterBufferEmittedCount) < 0.08)
        #expect(stream.reportBlock(now: at(20_000))?.ssrc == 5)
    }
}
