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

    /// Two numbers are missing before the third of five pictures, in the ids' two widths and around their ends.
    @Test(arguments: [(false, 125), (true, 0x7FFD), (true, 5)])
    func whatWasNoPictureIsNotWaitedFor(_ isLong: Bool, _ firstID: Int) {
        var buffer = VideoJitterBuffer()
        func insert(_ number: Int64, picture: Int, skipping: Int = 0) {
            let id = firstID + picture + skipping
            let bytes: [UInt8] =
                isLong
                ? [0x80 | UInt8(truncatingIfNeeded: id >> 8), UInt8(truncatingIfNeeded: id)]
                : [UInt8(truncatingIfNeeded: id) & 0x7F]
            let payload = [0x90, 0x80] + bytes + [picture == 0 ? 0x00 : 0x01]
            _ = buffer.insert(
                number: number, timestamp: UInt32(picture * 3000), marker: true, payload: payload.span.bytes,
                now: at(Int(number)))
        }
        insert(100, picture: 0)
        insert(101, picture: 1)
        insert(104, picture: 2)
        insert(105, picture: 3)
        #expect(frames(&buffer) == [0, 1, 2, 3])
        #expect(buffer.nextDeadline == nil && buffer.floor == 106)
        // An id that is left out is a picture that is missing.
        insert(107, picture: 4, skipping: 1)
        #expect(frames(&buffer) == [])
        #expect(buffer.nextDeadline != nil)
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
