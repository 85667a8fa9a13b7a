import EmisoraCore
import Testing

@testable import EmisoraRTP

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
            #expect(buffer.packetCount <= buffer.configuration.packetLimit)
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
                case .expand, .empty: break
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
