import EmisoraCore
import EmisoraRTP
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// Whole calls whose receiver plays in step, with its own beat for sound, in virtual time.
@Suite struct PlayoutTests {
    private final class Player {
        let call: PublishedCall
        private(set) var pictures: [(capturedAt: Instant, handedOverAt: Instant, playAt: Instant)] = []
        /// Sound behind pictures, in milliseconds.
        private(set) var skews: [(at: Instant, skew: Double)] = []

        init(_ call: PublishedCall) {
            self.call = call
            call.receiver.playoutOptions.isSynchronized = true
            call.onSound = { [unowned self] in compare($0) }
        }

        func run(until seconds: Int) {
            call.simulation.run(until: call.start + .seconds(seconds)) { [unowned self] in
                let now = call.simulation.now
                while let frame = call.receiver.pollVideoFrame(now: now) {
                    let captured = frame.payload.span.bytes.unsafeLoadUnaligned(fromByteOffset: 10, as: Int64.self)
                    pictures.append((Instant(nanoseconds: captured), now, frame.playAt))
                }
                return false
            }
        }

        private func compare(_ now: Instant) {
            guard let picture = pictures.last, let sound = call.receiver.audioPlayoutTime(now: now) else { return }
            let capturedAt = PeerEngineTests.wallClock.ntp(at: picture.capturedAt)
            skews.append((now, ((now - picture.playAt) - sound.duration(since: capturedAt)).inMilliseconds))
        }

        func skews(after seconds: Int) -> [Double] {
            skews.filter { $0.at > call.start + .seconds(seconds) }.map(\.skew)
        }
    }

    @Test(
        "Pictures that take long on a narrow path have sound with them, by capture times or by reports",
        arguments: [[], ["abs-capture-time"]], UInt64(1)...2)
    func lipSync(without words: [String], seed: UInt64) throws {
        let call = try PublishedCall(seed: seed, kilobits: 400) { offer, _ in
            for word in words { offer = offer.without(word) }
        }
        let player = Player(call)
        player.run(until: 40)
        let skews = player.skews(after: 12)
        #expect(skews.count > 1_000)
        let outside = skews.count { abs($0) > 40 }
        // While the rate looks for the path's limit a picture comes late now and then.
        #expect(outside * 20 < skews.count, "\(skews.min() ?? 0)…\(skews.max() ?? 0), \(outside) of \(skews.count)")
        #expect(abs(skews.sorted()[skews.count / 2]) < 30)
        let offset = try #require(call.receiver.lipSyncOffset)
        #expect(abs(offset.inMilliseconds) < 60)
    }

    @Test func framesComeBeforeTheirTimeAndInTheRhythmOfCapture() throws {
        let call = try PublishedCall(seed: 3, kilobits: nil)
        call.simulation.links[0].conditions.jitter = .milliseconds(40)
        let player = Player(call)
        player.run(until: 20)
        let settled = player.pictures.dropFirst(200)
        #expect(settled.count > 350)
        // All but those that came too late for it.
        let early = settled.count { $0.playAt >= $0.handedOverAt }
        #expect(early * 10 > settled.count * 9, "\(early) of \(settled.count)")
        let steps = zip(settled, settled.dropFirst()).map {
            abs((($1.playAt - $0.playAt) - ($1.capturedAt - $0.capturedAt)).inMilliseconds)
        }
        #expect(steps.allSatisfy { $0 < 5 }, "\(steps.max() ?? 0)")
        let statistics = try #require(call.receiver.statistics.inboundVideo)
        let count = Double(statistics.jitterBufferEmittedCount)
        #expect(statistics.jitterBufferTargetDelay / count > 0.02 && statistics.jitterBufferTargetDelay / count < 0.08)
        #expect(statistics.jitterBufferMinimumDelay <= statistics.jitterBufferTargetDelay)
        // What is played now was captured a moment ago.
        let playing = try #require(call.receiver.videoPlayoutTime(now: call.simulation.now))
        let age = PeerEngineTests.wallClock.ntp(at: call.simulation.now).duration(since: playing)
        #expect(age > .milliseconds(30) && age < .milliseconds(150), "\(age)")
    }

    @Test func onAnEvenPathNothingWaits() throws {
        let call = try PublishedCall(seed: 4, kilobits: nil, delay: 1)
        let player = Player(call)
        player.run(until: 10)
        let waits = player.pictures.map { ($0.playAt - $0.capturedAt).inMilliseconds }
        #expect(waits.dropFirst(60).allSatisfy { $0 < 25 }, "\(waits.max() ?? 0)")
        #expect(player.skews(after: 2).allSatisfy { abs($0) <= 40 })
    }

    @Test func aReceiverWhoseFramesNobodyFetchesIsNotRemindedForEver() throws {
        let call = try PublishedCall(seed: 5, kilobits: nil)
        call.receiver.playoutOptions.isSynchronized = true
        call.receiver.playoutOptions.minimumDelay = .milliseconds(500)
        call.simulation.run(until: call.start + .seconds(5))
        _ = call.receiver.pollVideoFrame(now: call.simulation.now)
        call.simulation.run(until: call.start + .seconds(10))
        #expect(!call.simulation.isStalled)
    }
}
