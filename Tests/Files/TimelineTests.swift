import Testing

@testable import EmisoraFiles

@Suite struct TimelineTests {
    private let second: Int64 = 1_000_000_000

    @Test func timesOnlyRise() {
        var timeline = MediaTimeline()
        #expect(timeline.place(0, duration: 40) == 0)
        #expect(timeline.place(40, duration: 40) == 40)
        #expect(timeline.place(40, duration: 40) == nil)
        #expect(timeline.place(10, duration: 40) == nil)
        #expect(timeline.place(nil, duration: 40) == 80)
        #expect(timeline.end == 120)
    }

    @Test func timesBeyondBeliefAreDamageButPassesMayBeFarApart() {
        var timeline = MediaTimeline()
        #expect(timeline.place(0, duration: 0) == 0)
        #expect(timeline.place(61 * second, duration: 0) == nil)
        #expect(timeline.place(60 * second, duration: .max) == 60 * second)
        #expect(timeline.end == 120 * second)
        timeline.beginPass(at: 1000 * second)
        #expect(timeline.place(1001 * second, duration: 40) == 1001 * second)
        #expect(timeline.place(.max / 4, duration: 40) == nil)
    }

    @Test func aPassLastsToTheEndOfTheLongestStreamInUse() {
        var length = PassLength()
        #expect(length.length(of: [.video]) == PassLength.shortest)
        length.note(.video, time: 0, duration: second)
        length.note(.audio, time: 2 * second, duration: second)
        length.note(.video, time: 1000 * second, duration: second)
        #expect(length.length(of: [.video]) == second)
        #expect(length.length(of: [.video, .audio]) == 3 * second)
        #expect(length.length(of: []) == PassLength.shortest)
    }

    @Test func soundIsJoinedWithSilenceInGapsAndCutsWhereItOverlaps() {
        var assembler = SoundAssembler(channels: 2, start: 0)
        assembler.append([Int16](repeating: 7, count: 2 * 480), at: 0, notBefore: 0)
        #expect(assembler.takeChunk() == nil)
        // 10 ms off is rounding; what follows is joined.
        #expect(assembler.gap(before: 20_000_000) == 0)
        #expect(assembler.gap(before: 20_000_000, tolerance: SoundAssembler.toleranceAtStart) == 10_000_000)
        assembler.append([Int16](repeating: 8, count: 2 * 480), at: 20_000_000, notBefore: 0)
        let chunk = assembler.takeChunk()
        #expect(chunk?.time == 0 && chunk?.samples == Array(repeating: 7, count: 960) + Array(repeating: 8, count: 960))
        // 40 ms are a gap.
        #expect(assembler.gap(before: 60_000_000) == 40_000_000)
        var silence = 0
        while SoundAssembler.isBefore(assembler.end, 60_000_000) {
            assembler.appendSilence(until: 60_000_000)
            while let chunk = assembler.takeChunk() {
                #expect(chunk.samples.allSatisfy { $0 == 0 })
                silence += 1
            }
        }
        #expect(silence == 2 && assembler.end == 60_000_000)
        // 30 ms too early: that much is cut.
        assembler.append([Int16](repeating: 9, count: 2 * 960 * 2), at: 30_000_000, notBefore: 0)
        #expect(assembler.end == 70_000_000)
        assembler.pad()
        #expect(assembler.takeChunk()?.time == 60_000_000 && assembler.takeChunk() == nil)
    }

    @Test func soundBeforeThePassIsCutToTheSample() {
        var assembler = SoundAssembler(channels: 1, start: 0)
        assembler.append([Int16](repeating: 1, count: 960), at: -10_000_000, notBefore: 0)
        #expect(assembler.end == 10_000_000)
    }

    @Test func timesOfFilesNeverOverflow() {
        let base = TimeBase(.init(num: .max, den: 1))
        #expect(base.nanoseconds(.max) == nil && base.nanoseconds(.min + 1) == nil && base.nanoseconds(.min) == nil)
        #expect(base.nanoseconds(0) == 0)
        #expect(TimeBase(.init(num: 0, den: 0)).nanoseconds(5) == nil)
        #expect(TimeBase(.init(num: 1, den: 90_000)).nanoseconds(90_000) == second)
    }
}
