import EmisoraCore
import Testing

@testable import EmisoraRTP

/// The receiving side of RFC 8888.
@Suite struct CongestionFeedbackTests {
    private let wallClock = WallClock(unixNanosecondsAtZero: 1_700_000_000_000_000_000)

    private func poll(_ receiver: inout CongestionFeedbackReceiver, _ now: Instant) -> CongestionControlFeedback? {
        receiver.pollFeedback(senderSSRC: 9, wallClock: wallClock, now: now)
    }

    /// What a message says of a number; `nil` when nothing.
    private func word(
        _ message: CongestionControlFeedback?, _ ssrc: UInt32, _ number: UInt16
    ) -> CongestionControlFeedback.Arrival?? {
        guard let block = message?.blocks.first(where: { $0.ssrc == ssrc }) else { return nil }
        let distance = Int(number &- block.beginSequenceNumber)
        return distance < block.packets.count ? .some(block.packets[distance]) : nil
    }

    @Test("RFC 8888 §3.1: a report tells of each packet by source and number, when it came, or that it did not")
    func tellsOfEachPacketOfEachSource() throws {
        var receiver = CongestionFeedbackReceiver()
        #expect(receiver.nextDeadline == nil)
        for (index, number) in [UInt16(65_534), 65_535, 1].enumerated() {
            receiver.handle(ssrc: 1, sequenceNumber: number, byteCount: 1_000, now: at(10 * index))
        }
        receiver.handle(ssrc: 2, sequenceNumber: 7, byteCount: 100, now: at(25))
        #expect(poll(&receiver, at(49)) == nil)
        let deadline = try #require(receiver.nextDeadline)
        #expect(deadline == at(50))
        let message = try #require(poll(&receiver, deadline))
        #expect(message.senderSSRC == 9 && message.timestamp == wallClock.ntp(at: deadline).middle32)
        #expect(message.blocks.map(\.ssrc) == [1, 2])
        #expect(message.blocks[0].beginSequenceNumber == 65_534)
        #expect(message.blocks[0].packets.map { $0 != nil } == [true, true, false, true])
        // In 1/1024 s before the report.
        #expect(message.blocks[0].packets.compactMap { $0?.timeOffset } == [51, 40, 30])
        #expect(message.blocks[1].packets == [.init(ecn: 0, timeOffset: 25)])
        #expect(receiver.nextDeadline == nil)
    }

    @Test func eachPacketIsToldOfTwiceSinceMessagesGetLost() {
        var receiver = CongestionFeedbackReceiver()
        var told: [UInt16: Int] = [:]
        for index in 0..<300 {
            receiver.handle(ssrc: 1, sequenceNumber: UInt16(index), byteCount: 1_200, now: at(10 * index))
            guard let message = poll(&receiver, at(10 * index)) else { continue }
            for (offset, packet) in message.blocks[0].packets.enumerated() where packet != nil {
                told[message.blocks[0].beginSequenceNumber &+ UInt16(offset), default: 0] += 1
            }
        }
        #expect((0..<280).allSatisfy { told[$0] == 2 || $0 < 10 })
        #expect((0..<290).allSatisfy { (told[$0] ?? 0) > 0 })
    }

    @Test func aPacketThatCameLateIsCorrectedByTheNextMessage() {
        var receiver = CongestionFeedbackReceiver()
        for number in [UInt16(1), 2, 4] {
            receiver.handle(ssrc: 1, sequenceNumber: number, byteCount: 1_000, now: at(0))
        }
        let first = poll(&receiver, at(50))
        #expect(word(first, 1, 3) == .some(nil))
        for number in [UInt16(3), 5, 6] {
            receiver.handle(ssrc: 1, sequenceNumber: number, byteCount: 1_000, now: at(60))
        }
        let second = poll(&receiver, at(100))
        #expect(word(second, 1, 3) == .some(.init(ecn: 0, timeOffset: 40)))
        #expect(word(second, 1, 6) == .some(.init(ecn: 0, timeOffset: 40)))
    }

    @Test func aSourceThatBeginsAnewIsToldOfAgainAndOneThatFellSilentNotAnyMore() {
        var receiver = CongestionFeedbackReceiver()
        receiver.handle(ssrc: 1, sequenceNumber: 30_000, byteCount: 1_000, now: at(0))
        receiver.handle(ssrc: 1, sequenceNumber: 10_000, byteCount: 1_000, now: at(10))
        let message = poll(&receiver, at(50))
        #expect(word(message, 1, 10_000) != nil)
        // Each source's last packets come twice, then no more.
        var blocks = 0
        for round in 1..<10 {
            receiver.handle(ssrc: 2, sequenceNumber: UInt16(round), byteCount: 1_000, now: at(100 * round))
            blocks += poll(&receiver, at(100 * round + 99))?.blocks.filter { $0.ssrc == 1 }.count ?? 0
        }
        #expect(blocks == 1)
    }

    @Test func whatItKeepsAndTellsIsBoundedWhateverComes() throws {
        var generator = SeededGenerator(seed: 5)
        var receiver = CongestionFeedbackReceiver()
        var largest = 0
        for index in 0..<40_000 {
            receiver.handle(
                ssrc: UInt32(generator.number(below: 100)),
                sequenceNumber: UInt16(truncatingIfNeeded: generator.next()), byteCount: 1_000, now: at(index / 10))
            guard let message = poll(&receiver, at(index / 10)) else { continue }
            let bytes = try written { (buffer) throws -> Int? in
                var writer = RTCPWriter(&buffer, form: .reducedSize)
                try writer.write(message)
                return writer.byteCount
            }
            largest = max(largest, bytes?.count ?? 0)
            #expect(message.blocks.count <= 12)
        }
        // With reports beside it within a datagram.
        #expect(largest > 0 && largest <= 1_150, "\(largest)")
    }
}
