import Emisora
import Glibc
import Synchronization
import Testing

/// Collects what a subscriber gets, and lets a test wait for it.
final class Collector: VideoFrameSink, AudioFrameSink {
    struct State {
        var marks: [PatternMark] = []
        var latencies: [Duration] = []
        var frames = 0
        var firstFrameAt: Instant?
        var audioFrames = 0
        var peakLevel = 0.0
    }

    private let state = Mutex(State())

    func receive(_ frame: VideoFrame) {
        let mark = PatternReader.read(frame)
        let now = MonotonicClock.now
        state.withLock { state in
            state.frames += 1
            state.firstFrameAt = state.firstFrameAt ?? now
            if let mark {
                state.marks.append(mark)
                state.latencies.append(now - mark.captureTime)
            }
        }
    }

    func receive(_ frame: AudioFrame) {
        state.withLock { state in
            state.audioFrames += 1
            state.peakLevel = max(state.peakLevel, frame.level)
        }
    }

    var snapshot: State { state.withLock { $0 } }
}

/// Waits until a condition holds, looking every few milliseconds; fails the test after the limit.
func eventually(
    _ comment: Comment, within limit: Duration = .seconds(20), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async -> Bool
) async throws {
    let clock = ContinuousClock()
    let deadline = clock.now + limit
    while await !condition() {
        guard clock.now < deadline else {
            Issue.record(comment, sourceLocation: sourceLocation)
            return
        }
        try await clock.sleep(for: .milliseconds(5))
    }
}

@Suite(.serialized) struct LoopbackTests {
    @Test(arguments: Offerer.allCases)
    func picturesAndSoundArriveWhoeverOffers(offerer: Offerer) async throws {
        let (publishing, receiving) = try await Session.loopback()
        try await publishing.publish(
            Publisher(name: "main", videoCapture: PatternCapture(width: 320, height: 240), audioCapture: ToneCapture()))
        let collector = Collector()
        let subscriber = Subscriber(videoSink: collector, audioSink: collector)
        try await receiving.subscribe(subscriber, to: "main", offerer: offerer)
        try await eventually("pictures arrive") { collector.snapshot.marks.count >= 10 }
        try await eventually("sound arrives") { collector.snapshot.peakLevel > 0.01 }
        await publishing.disconnect()
        await receiving.disconnect()
    }

    @Test func whatIsPublishedArrivesInOrderWithSoundAndTheLedgerBalances() async throws {
        let (publishing, receiving) = try await Session.loopback()
        let publisher = Publisher(
            name: "pattern", videoCapture: PatternCapture(width: 320, height: 240), audioCapture: ToneCapture())
        try await publishing.publish(publisher)
        let collector = Collector()
        let subscriber = Subscriber(videoSink: collector, audioSink: collector)
        try await receiving.subscribe(subscriber, to: "pattern")
        try await eventually("60 pictures arrive") { collector.snapshot.marks.count >= 60 }
        try await eventually("sound arrives") { collector.snapshot.peakLevel > 0.01 }

        let statistics = await publishing.statistics()
        #expect(statistics.publishers.first?.subscriberCount == 1)
        let received = await receiving.statistics()
        #expect(received.subscribers.first?.srtpCipher == "SRTP_AEAD_AES_128_GCM")

        await publishing.disconnect()
        await receiving.disconnect()
        let state = collector.snapshot
        let numbers = state.marks.map(\.frameNumber)
        let isRising = zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
        #expect(isRising)
        #expect(state.marks.count == state.frames)
        let ledger = publisher.captureLedger
        #expect(ledger.inFlight == 0)
        #expect(ledger.isBalanced)
        #expect(ledger.encoded >= 60)
    }

    @Test func nothingIsEncodedWhileNobodyReceives() async throws {
        let (publishing, receiving) = try await Session.loopback()
        let publisher = Publisher(videoCapture: NoiseCapture(width: 160, height: 120))
        try await publishing.publish(publisher)
        try await eventually("ten pictures are captured and dropped") {
            publisher.captureLedger.dropped(.noSubscribers) >= 10
        }
        #expect(publisher.captureLedger.encoded == 0)

        let collector = Collector()
        let subscriber = Subscriber(videoSink: collector)
        try await receiving.subscribe(subscriber, to: "main")
        try await eventually("a picture arrives") { collector.snapshot.frames >= 1 }
        await receiving.unsubscribe(subscriber)
        try await eventually("the encoder rests") { await publishing.statistics().publishers[0].subscriberCount == 0 }
        await publishing.disconnect()
        await receiving.disconnect()
    }

    @Test func capturerBitrateAndMuteChangeWhilePublishing() async throws {
        let (publishing, receiving) = try await Session.loopback()
        let first = NoiseCapture(width: 160, height: 120)
        let publisher = Publisher(videoCapture: first)
        try await publishing.publish(publisher)
        let collector = Collector()
        try await receiving.subscribe(Subscriber(videoSink: collector), to: "main")
        try await eventually("noise arrives") { collector.snapshot.frames >= 3 }

        publisher.videoCapture = PatternCapture(width: 320, height: 240)
        try await eventually("the pattern takes over") { collector.snapshot.marks.count >= 3 }
        #expect(!first.isCapturing)

        publisher.videoBitrate = .kilobitsPerSecond(300)
        publisher.publishesVideo = false
        try await eventually("pictures are dropped as paused") {
            publisher.captureLedger.dropped(.paused) >= 5
        }
        publisher.publishesVideo = true
        let before = collector.snapshot.frames
        try await eventually("pictures come again") { collector.snapshot.frames > before + 3 }
        await publishing.disconnect()
        await receiving.disconnect()
        #expect(publisher.captureLedger.isBalanced)
    }

    @Test func threeReceiversCostOneEncoder() async throws {
        let (publishing, receiving) = try await Session.loopback()
        let publisher = Publisher(videoCapture: PatternCapture(width: 320, height: 240))
        try await publishing.publish(publisher)
        let collectors = (0..<3).map { _ in Collector() }
        for collector in collectors {
            try await receiving.subscribe(Subscriber(videoSink: collector), to: "main")
        }
        try await eventually("all three see pictures") { collectors.allSatisfy { $0.snapshot.marks.count >= 20 } }
        let statistics = try #require(await publishing.statistics().publishers.first)
        #expect(statistics.subscriberCount == 3)
        #expect(Int(statistics.framesEncoded) <= statistics.capture.captured)
        // Where the machine lets them come one by one, there is another key frame for each half second that it takes.
        let begins = collectors.compactMap { $0.snapshot.firstFrameAt }.sorted()
        let spread = (begins[2] - begins[0]).inSeconds
        let allowed = spread <= 0.5 ? 2 : 1 + UInt64((spread / 0.5).rounded(.up))
        // A decoder that cannot keep up, as under a sanitizer, asks for key frames of its own.
        if getenv("EMISORA_NO_TIMING") == nil { #expect(statistics.keyFramesEncoded <= allowed, "within \(spread) s") }
        let isBalanced = statistics.delivery.allSatisfy(\.isBalanced)
        #expect(isBalanced)
        await publishing.disconnect()
        await receiving.disconnect()
    }

    @Test func aStreamThatIsNotThereIsRefused() async throws {
        let (publishing, receiving) = try await Session.loopback()
        await #expect(throws: SessionError.self) {
            try await receiving.subscribe(Subscriber(), to: "nothing")
        }
        await publishing.disconnect()
        await receiving.disconnect()
    }
}
