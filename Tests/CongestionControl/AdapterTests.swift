import EmisoraCore
import EmisoraRTP
import EmisoraSimulation
import Testing

@testable import EmisoraCongestionControl

@Suite struct AdapterTests {
    private let start = Instant.zero + .seconds(1)

    private func feedback(
        base: UInt16, reference: UInt32 = 0, count: UInt8 = 0, _ packets: [TransportWideFeedback.Status]
    ) -> TransportWideFeedback {
        TransportWideFeedback(
            senderSSRC: 1, mediaSSRC: 2, baseSequenceNumber: base, referenceTime: reference, messageCount: count,
            packets: packets)
    }

    @Test func everyPacketIsSettledOnceAlsoWhereNumbersAndTimesWrap() {
        var adapter = TransportFeedbackAdapter()
        var receiver = TransportFeedbackReceiver()
        var settled: [Int64: PacketResult] = [:]
        // The reference time wraps after 2^24 times 64 ms; the numbers after 65536.
        let wrap = Instant.zero + .milliseconds(64 * (1 << 24)) - .seconds(100)
        for step in 0..<80_000 {
            let now = wrap + .milliseconds(step * 3)
            let number = adapter.packetSent(
                byteCount: 1_000, ssrc: 7, sequenceNumber: UInt16(truncatingIfNeeded: step), now: now)
            if number != UInt16(truncatingIfNeeded: step) { Issue.record("number \(number) in step \(step)") }
            if step % 50 != 9 { receiver.handle(sequenceNumber: number, mediaSSRC: 7, byteCount: 1_200, now: now) }
            while let message = receiver.pollFeedback(senderSSRC: 1, now: now) {
                for packet in adapter.handle(message, now: now).packets {
                    if settled.updateValue(packet, forKey: packet.number) != nil { Issue.record("settled twice") }
                }
            }
        }
        #expect(settled.count > 79_900)
        #expect(settled.allSatisfy { ($0.value.arrival == nil) == ($0.key % 50 == 9) })
        // On the peer's clock, which is ours here, to a tick; whatever reference it began with.
        let offsets = settled.values.compactMap { packet in
            packet.arrival.map { $0 - .nanoseconds(packet.sentAt.nanoseconds) }
        }
        #expect((offsets.max() ?? .zero) - (offsets.min() ?? .zero) < .microseconds(260))
        #expect(adapter.messagesLost == 0)
        #expect(adapter.inFlightByteCount < 60_000)
    }

    @Test func aPacketTakenForLostThatComesAfterAllIsCorrected() {
        var adapter = TransportFeedbackAdapter()
        for number in 0..<4 {
            _ = adapter.packetSent(byteCount: 100, ssrc: 1, sequenceNumber: UInt16(number), now: start)
        }
        #expect(adapter.inFlightByteCount == 400)
        let first = adapter.handle(
            feedback(base: 0, [.received(delta: 0), .notReceived, .unknown, .received(delta: 4)]), now: start)
        #expect(first.packets.map(\.number) == [0, 1, 3])
        #expect(first.packets[2].arrival == .milliseconds(1))
        #expect(first.inFlightByteCount == 100)
        let second = adapter.handle(
            feedback(base: 1, count: 3, [.received(delta: 8), .received(delta: 0), .received(delta: 0)]), now: start)
        #expect(second.packets.map(\.number) == [1, 2])
        #expect(second.packets.map(\.wasTakenForLost) == [true, false])
        #expect(second.inFlightByteCount == 0)
        #expect(adapter.messagesLost == 2)
    }

    @Test func feedbackOnWhatWasNeverSentIsIgnored() {
        var adapter = TransportFeedbackAdapter()
        let all = Array(repeating: TransportWideFeedback.Status.received(delta: .max), count: 0x4000)
        #expect(adapter.handle(feedback(base: 60_000, all), now: start).packets.isEmpty)
        _ = adapter.packetSent(byteCount: 100, ssrc: 1, sequenceNumber: 5, now: start)
        #expect(adapter.handle(feedback(base: 1, all), now: start).packets.isEmpty)
        #expect(adapter.handle(feedback(base: 0, all), now: start).packets.count == 1)
    }

    @Test func packetsWithoutFeedbackAreForgotten() {
        var adapter = TransportFeedbackAdapter()
        var most = 0
        for step in 0..<100_000 {
            let now = start + .microseconds(step * 20)
            _ = adapter.packetSent(
                byteCount: 10, ssrc: 1, sequenceNumber: UInt16(truncatingIfNeeded: step), now: now)
            most = max(most, adapter.inFlightByteCount)
        }
        #expect(most > 100_000 && most <= 10 * 0x8000)
        _ = adapter.packetSent(byteCount: 10, ssrc: 1, sequenceNumber: 0, now: start + .seconds(60))
        #expect(adapter.inFlightByteCount == 10)
    }

    @Test func rfc8888FeedbackSettlesBySSRCAndSequenceNumber() {
        var adapter = TransportFeedbackAdapter()
        for step in 0..<6 {
            _ = adapter.packetSent(
                byteCount: 100, ssrc: step % 2 == 0 ? 1 : 2, sequenceNumber: UInt16(65_535) &+ UInt16(step / 2),
                now: start + .milliseconds(step))
        }
        let arrival = CongestionControlFeedback.Arrival(ecn: 0, timeOffset: 512)
        let result = adapter.handle(
            CongestionControlFeedback(
                senderSSRC: 9,
                blocks: [
                    .init(ssrc: 1, beginSequenceNumber: 65_535, packets: [arrival, nil, arrival]),
                    .init(
                        ssrc: 2, beginSequenceNumber: 65_535,
                        packets: [nil, arrival, .init(ecn: 0, timeOffset: 0x1FFF)]),
                    .init(ssrc: 3, beginSequenceNumber: 0, packets: [arrival]),
                ], timestamp: 10 << 16), now: start)
        #expect(result.packets.map(\.number) == [0, 1, 2, 3, 4])
        #expect(
            result.packets.map(\.arrival) == [
                .milliseconds(9_500), nil, nil, .milliseconds(9_500), .milliseconds(9_500),
            ])
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func anyFeedbackLeavesAdapterAndControlSound(seed: UInt64) {
        var random = SeededRandom(seed)
        var adapter = TransportFeedbackAdapter()
        var options = CongestionControl.Options()
        options.start = .kilobitsPerSecond(1_000)
        var control = CongestionControl(options, now: start)
        var now = start
        for step in 0..<30_000 {
            now = now + .microseconds(Int64(random.next() % 4_000))
            _ = adapter.packetSent(
                byteCount: Int(random.next() % 1_500), ssrc: 1, sequenceNumber: UInt16(truncatingIfNeeded: step),
                now: now)
            control.packetSent(byteCount: 1_000, now: now)
            guard step % 20 == 0 else { continue }
            let packets: [TransportWideFeedback.Status] = (0..<Int(random.next() % 60)).map { _ in
                switch random.next() % 4 {
                case 0: .notReceived
                case 1: .unknown
                default: .received(delta: Int16(truncatingIfNeeded: random.next()))
                }
            }
            let message = feedback(
                base: UInt16(truncatingIfNeeded: UInt64(step) &+ random.next() % 64 &- 64),
                reference: UInt32(random.next() & 0xFF_FFFF), count: UInt8(truncatingIfNeeded: random.next()), packets)
            control.handle(adapter.handle(message, now: now))
            control.handle(
                LossReport(
                    receivedAt: now, lost: Int(truncatingIfNeeded: Int32(truncatingIfNeeded: random.next())),
                    expected: 50))
            control.handleRoundTripTime(.nanoseconds(Int64(bitPattern: random.next())), now: now)
            control.processInterval(now: now)
            let target = control.decision.targetBitrate
            #expect(target >= options.floor && target <= options.ceiling)
            #expect(control.decision.pacingRate >= target)
            #expect(adapter.inFlightByteCount >= 0)
        }
    }

    @Test func optionsBeyondAllBoundsAreHeldWithin() {
        var options = CongestionControl.Options()
        options.start = .bitsPerSecond(.max)
        options.ceiling = .bitsPerSecond(.max)
        options.floor = .bitsPerSecond(.min)
        options.pacingFactor = .infinity
        var control = CongestionControl(options, now: start)
        control.packetSent(byteCount: .max, now: start)
        control.packetSent(byteCount: .max, now: start)
        control.handle(LossReport(receivedAt: start + .seconds(1), lost: .max, expected: .max))
        control.handle(LossReport(receivedAt: start + .seconds(2), lost: .max, expected: .max))
        #expect(control.decision.targetBitrate.bitsPerSecond <= 1_000_000_000_000)
        #expect(control.decision.targetBitrate.bitsPerSecond >= 1_000)
    }

    @Test func lossOfReportsIsTheDifferenceOfTheirCounters() {
        var reporter = LossReporter()
        func block(_ highest: UInt32, _ lost: Int32) -> ReportBlock {
            ReportBlock(ssrc: 1, cumulativeLost: lost, extendedHighestSequenceNumber: highest)
        }
        #expect(reporter.handle(block(.max - 9, 5), now: start) == nil)
        #expect(reporter.handle(block(90, 15), now: start) == LossReport(receivedAt: start, lost: 10, expected: 100))
        // Nothing new, then a counter that fell by duplicates, then a jump.
        #expect(reporter.handle(block(90, 15), now: start) == nil)
        #expect(reporter.handle(block(190, 12), now: start) == LossReport(receivedAt: start, lost: -3, expected: 100))
        #expect(reporter.handle(block(1_000_000, 12), now: start) == nil)
        #expect(reporter.handle(block(1_000_010, .max), now: start)?.lost == 10)
    }

    @Test func theLowestRequestBindsAndItsOwnerIsNamed() {
        var limits = ReceiverLimits()
        func request(_ sender: UInt32, _ kilobits: Int, for ssrc: UInt32 = 1) -> TemporaryMaximumBitrate {
            TemporaryMaximumBitrate(
                .request, senderSSRC: sender,
                entries: [.init(ssrc: ssrc, bitrate: .kilobitsPerSecond(kilobits), overhead: 40)])
        }
        #expect(limits.handle(request(8, 100, for: 99), ours: [1], now: start) == nil)
        #expect(limits.temporaryMaximum == nil)
        let first = limits.handle(request(8, 500), ours: [1], now: start)
        #expect(first?.entries.map(\.ssrc) == [8])
        let second = limits.handle(request(9, 300), ours: [1], now: start)
        #expect(second?.entries == [.init(ssrc: 9, bitrate: .kilobitsPerSecond(300), overhead: 40)])
        #expect(limits.temporaryMaximum == .kilobitsPerSecond(300))
        limits.heard(from: 8, now: start + .seconds(20))
        limits.refresh(now: start + .seconds(30))
        #expect(limits.temporaryMaximum == .kilobitsPerSecond(500))
        _ = limits.remove(8, now: start + .seconds(31))
        #expect(limits.temporaryMaximum == nil)
    }
}
