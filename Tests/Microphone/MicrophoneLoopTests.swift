import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import Testing

@testable import EmisoraMicrophone

@Suite struct MicrophoneLoopTests {
    @Test(arguments: [-200.0, 200]) func driftOfTheCardIsMeasuredAndCorrected(_ drift: Double) throws {
        let rig = Rig()
        rig.system.setUp = { $0.drift = drift }
        try rig.start()
        rig.run(.seconds(30))
        let frames = rig.frames()
        #expect((1495...1501).contains(frames.count))
        #expect(isSeamless(frames))
        #expect(abs(rig.statistics.driftPartsPerMillion - drift) < 5)
        #expect(rig.statistics.overruns == 0 && rig.statistics.lost == .zero)
        #expect(rig.events == [.opened(device: "card", sampleRate: 48_000, channels: 1)])
        #expect(abs(amplitude(of: 1000, in: samples(frames.suffix(50))) - 16_000.0 / 32_768) < 0.001)
    }

    @Test func timestampsAreThoseOfTheFirstSample() throws {
        let rig = Rig()
        let start = rig.system.now
        try rig.start()
        rig.run(.seconds(2))
        let frames = rig.frames()
        #expect(abs((try #require(frames.first).timestamp - start).inSeconds) < 0.001)
        #expect((rig.system.now - (try #require(frames.last)).timestamp).inSeconds < 0.05)
    }

    /// By how soon its buffer is full a device without a clock is told from a card; who looks late cannot tell.
    @Test(arguments: [true, false]) func aLateFirstLookIsNoMeasureOfTheDevice(_ hasClock: Bool) throws {
        let rig = Rig()
        rig.system.setUp = { $0.hasClock = hasClock }
        try rig.start()
        rig.system.now = rig.system.now + .milliseconds(150)
        rig.run(.seconds(2))
        let frames = rig.frames()
        #expect((95...101).contains(frames.count))
        #expect(isSeamless(frames))
    }

    @Test(arguments: [Duration.milliseconds(210), .milliseconds(900), .seconds(20)])
    func anOverrunIsCountedAndTimestampsJumpByWhatWasLost(_ pause: Duration) throws {
        let rig = Rig()
        try rig.start()
        rig.run(.seconds(2))
        let before = rig.frames()
        // The thread is held up for longer than the card's buffer lasts.
        rig.system.now = rig.system.now + pause
        rig.run(.seconds(2))
        let after = rig.frames()
        let gap = try #require(after.first).timestamp - (try #require(before.last)).timestamp - .milliseconds(20)
        #expect(gap >= pause - .milliseconds(25) && gap < pause + .milliseconds(25))
        #expect(rig.statistics.overruns == 1)
        #expect(rig.statistics.lost == gap)
        #expect(rig.events.last == .soundLost(gap, .overrun))
        #expect(rig.consumer.ledger.lostByDriver == Int((gap.inSeconds * 50).rounded()))
        #expect(isSeamless(after))
        #expect(after.count >= 98)
    }

    @Test func aCardThatRunsOverAtOnceIsReopenedAndNobodySpins() throws {
        let rig = Rig()
        var isBroken = false
        rig.system.setUp = { card in card.fault = { _ in isBroken ? .overrun : nil } }
        try rig.start()
        rig.run(.seconds(1))
        isBroken = true
        let calls = rig.system.calls
        rig.run(.seconds(10))
        #expect(rig.system.calls - calls < 200)
        #expect(rig.system.cards.count > 5)
        isBroken = false
        rig.run(.seconds(2))
        #expect(rig.statistics.overruns >= 1)
        #expect(rig.events.suffix(2).contains { if case .interruptionEnded = $0 { true } else { false } })
        #expect(rig.frames().suffix(90).count == 90)
    }

    @Test func anUnpluggedCardIsTakenUpWhenItIsBack() throws {
        let rig = Rig()
        try rig.start()
        rig.run(.seconds(1))
        _ = rig.frames()
        let unplugged = rig.system.now
        let back = unplugged + .seconds(10)
        rig.system.cards[0].fault = { _ in .unplugged }
        rig.system.refusal = { $0 < back ? .notFound(device: "card", available: []) : nil }
        rig.run(.seconds(20))
        // At once, then 0.5, 1, 2, 4 and 8 seconds apart.
        let attempts = rig.system.attempts.dropFirst().map { ($0 - unplugged).inSeconds }
        #expect(attempts.count == 6)
        for (attempt, expected) in zip(attempts, [0, 0.5, 1.5, 3.5, 7.5, 15.5]) {
            #expect(abs(attempt - expected) < 0.05)
        }
        let frames = rig.frames()
        #expect(isSeamless(frames))
        #expect(abs((try #require(frames.first).timestamp - unplugged).inSeconds - 15.5) < 0.05)
        #expect(rig.statistics.interruptions == 1)
        #expect(rig.consumer.ledger.lostByDriver > 700)
        let kinds = rig.events.map { event in
            switch event {
            case .opened: "opened"
            case .interruptionBegan(.unplugged): "unplugged"
            case .interruptionBegan: "other"
            case .soundLost(_, let loss): loss.rawValue
            case .interruptionEnded(let gap): gap > .seconds(15) && gap < .seconds(16) ? "back" : "wrong"
            }
        }
        // A frame is whole only with the second chunk, which is when what was lost is known.
        #expect(kinds.prefix(3) == ["opened", "unplugged", "opened"])
        #expect(Set(kinds.suffix(2)) == ["interruption", "back"])
    }

    @Test func aCardInUseByAnotherIsAskedForEveryHalfSecond() throws {
        let rig = Rig()
        try rig.start()
        rig.run(.seconds(1))
        let start = rig.system.now
        rig.system.cards[0].fault = { _ in .failed(operation: "read sound", code: 5) }
        rig.system.refusal = { $0 < start + .seconds(5) ? .busy(device: "card") : nil }
        rig.run(.seconds(10))
        #expect((10...12).contains(rig.system.attempts.count - 1))
        #expect(
            rig.events.contains {
                if case .interruptionBegan(.failed(.driver("card", "read sound", 5))) = $0 { true } else { false }
            })
    }

    @Test func aMachineThatSleptGoesOn() throws {
        let rig = Rig()
        try rig.start()
        rig.run(.seconds(1))
        let card = rig.system.cards[0]
        let asleep = rig.system.now + .milliseconds(500)
        card.resumeDelays = 3
        card.fault = { [unowned card] now in now >= asleep && card.resumeDelays >= 0 ? .suspended : nil }
        rig.run(.seconds(2))
        #expect(rig.system.cards.count == 1)
        #expect(rig.events.contains(.interruptionBegan(.suspended)))
        #expect(rig.statistics.interruptions == 1)
        #expect(rig.statistics.lost >= .milliseconds(280) && rig.statistics.lost < .milliseconds(400))
    }

    @Test func aCardThatStandsStillIsStartedAnewThenReopened() throws {
        let rig = Rig()
        try rig.start()
        rig.run(.seconds(1))
        let still = rig.system.now
        rig.system.cards[0].isStill = { _ in true }
        rig.run(.milliseconds(1500))
        #expect(rig.system.cards[0].restarts == 1)
        #expect(rig.events.last == .interruptionBegan(.stalled))
        rig.run(.seconds(2))
        #expect(rig.system.cards.count == 2)
        #expect((rig.system.attempts[1] - still).inSeconds < 2.2)
        #expect(rig.statistics.interruptions == 1)
        _ = rig.frames()
        rig.run(.seconds(1))
        #expect(rig.frames().count >= 48)
    }

    @Test func aDeviceWithoutAClockIsReadAtTheMachinesPace() throws {
        let rig = Rig()
        rig.system.setUp = { $0.hasClock = false }
        try rig.start()
        rig.run(.seconds(10))
        let frames = rig.frames()
        #expect((498...500).contains(frames.count))
        #expect(isSeamless(frames))
        #expect(abs(rig.statistics.driftPartsPerMillion) < 0.1)
        #expect(rig.system.calls < 10_000)
    }

    @Test(arguments: [1, 2, 4], [1, 2]) func channelsBecomeThoseThatAreWanted(_ has: Int, _ wanted: Int) throws {
        let rig = Rig()
        rig.system.setUp = { $0.configuration.channels = has }
        try rig.start(channels: wanted)
        rig.run(.seconds(1))
        let sound = samples(rig.frames().suffix(20))
        #expect(sound.count == 20 * 960 * wanted)
        let first = stride(from: 0, to: sound.count, by: wanted).map { sound[$0] }
        // Opposite channels cancel in their mean; of four the first is taken.
        let expected = has == 2 && wanted == 1 ? 0 : 16_000.0 / 32_768
        #expect(abs(amplitude(of: 1000, in: first) - expected) < 0.001)
        guard wanted == 2 else { return }
        for index in stride(from: 0, to: sound.count, by: 2) {
            #expect(abs(sound[index + 1] - (has == 1 ? sound[index] : -sound[index])) < 1e-5)
        }
    }
}
