import Emisora
import Synchronization
import Testing

@testable import Emisora

/// Notes when pictures flash and sound clicks, by the timestamps that sinks get.
private final class FlashAndClick: VideoFrameSink, AudioFrameSink {
    struct State {
        var flashes: [Instant] = []
        var clicks: [Instant] = []
        var wasFlashing = false
    }

    private let state = Mutex(State())

    var snapshot: State { state.withLock { $0 } }

    func forget() { state.withLock { $0 = State() } }

    func receive(_ frame: VideoFrame) {
        // The pattern's box on the left: a sixth of the width, four fifths of the height.
        let place = frame.height * 4 / 5 * frame.format.layout(ofPlane: 0).stride + frame.width * 6 / 40
        let isFlashing = frame.plane(0).unsafeLoad(fromByteOffset: place, as: UInt8.self) > 180
        state.withLock { state in
            if isFlashing, !state.wasFlashing { state.flashes.append(frame.timestamp) }
            state.wasFlashing = isFlashing
        }
    }

    func receive(_ frame: AudioFrame) {
        guard case .int16(let samples) = frame.samples, let index = samples.firstIndex(where: { abs(Int($0)) > 3_500 })
        else { return }
        let at = frame.timestamp + .nanoseconds(Int64(index) * 1_000_000_000 / Int64(frame.format.sampleRate))
        state.withLock { state in
            if state.clicks.last.map({ at - $0 > .milliseconds(200) }) ?? true { state.clicks.append(at) }
        }
    }

    /// Sound behind pictures, for each click with a flash within half of the time from click to click, in milliseconds.
    var skews: [Double] {
        let state = snapshot
        return state.clicks.compactMap { click in
            state.flashes.map { (click - $0).inMilliseconds }.filter { abs($0) < 305 }.min { abs($0) < abs($1) }
        }
    }
}

/// Real sockets, clocks and codecs; pictures are held up on their way, sound is not.
@Suite(.serialized) struct LipSyncTests {
    @Test func picturesWith50MillisecondsOfJitterStayWithTheirSound() async throws {
        let relay = try await BottleneckRelay(rate: nil)
        // Late enough that sound left to itself would be far ahead.
        relay.shared.withLock { ($0.pictureDelay, $0.pictureJitter) = (.milliseconds(100), .milliseconds(50)) }
        let (first, second) = RelayedChannel.pair(relay)
        let publishing = try await Session.open(first, RelayedChannel.sessionOptions)
        let receiving = try await Session.open(second, RelayedChannel.sessionOptions)
        // Not a multiple of a picture's time: a flash is up to half a picture from its click, which is to even out.
        let clicks = ClickTrack.every(.milliseconds(610))
        try await publishing.publish(
            Publisher(
                videoCapture: PatternCapture(width: 320, height: 240, clicks: clicks),
                audioCapture: ToneCapture(level: 0.05, clicks: clicks)))
        let sink = FlashAndClick()
        try await receiving.subscribe(Subscriber(videoSink: sink, audioSink: sink), to: "main")
        func statistics() async -> SubscriberStatistics? { await receiving.statistics().subscribers.first }
        try await eventually("sound is lined up with pictures, a packet after the other", within: .seconds(40)) {
            guard let offset = await statistics()?.lipSyncOffset else { return false }
            return abs(offset.inMilliseconds) < 30
        }
        sink.forget()
        try await eventually("clicks are heard and flashes seen") { sink.skews.count >= 9 }
        let skews = sink.skews.sorted()
        let median = try #require(skews.isEmpty ? nil : skews[skews.count / 2])
        #expect(abs(median) <= 40, "\(skews)")
        let figures = try #require(await statistics()?.videoPlayout)
        #expect(figures.jitterBufferEmittedCount > 100 && figures.estimatedPlayoutTimestamp != nil)
        #expect(figures.jitterBufferTargetDelay / Double(figures.jitterBufferEmittedCount) > 0.01)
        await publishing.disconnect()
        await receiving.disconnect()
        await relay.close()
    }
}

@Suite struct FreezeDetectorTests {
    @Test func onlyWhatTheRhythmDoesNotExplainIsAFreeze() {
        var detector = FreezeDetector()
        var now = Instant.zero
        func show(after milliseconds: Int) {
            now = now + .milliseconds(milliseconds)
            detector.show(now: now)
        }
        for _ in 0..<40 { show(after: 33) }
        show(after: 180)
        #expect(detector.freezeCount == 0)
        for _ in 0..<40 { show(after: 33) }
        show(after: 200)
        #expect(detector.freezeCount == 1 && detector.totalFreezesDuration == .milliseconds(200))
        // A picture a second is slow, and no freeze.
        var slow = FreezeDetector()
        for second in 0..<10 { slow.show(now: .zero + .seconds(second)) }
        #expect(slow.freezeCount == 0)
    }

    @Test func theTimeGivenToDecodingIsTheUsualAndTwiceItsVariation() {
        var time = DecodeTime()
        #expect(time.allowance == .zero)
        for _ in 0..<50 { time.add(.milliseconds(4)) }
        #expect(time.allowance >= .milliseconds(4) && time.allowance < .milliseconds(5))
        time.add(.seconds(5))
        #expect(time.allowance <= .milliseconds(100))
    }
}
