import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Glibc
import Synchronization
import Testing

/// Real time, in short runs: what is asserted holds on a loaded machine too.
@Suite struct PacingTests {
    let format = VideoFormat(.argb, width: 8, height: 8, frameRate: 500)

    @Test func framesLieOnTheExactGrid() throws {
        let rate = try #require(FrameRate(240_000, 1001))
        let consumer = makeOpenConsumer()
        let capture = PacedCapture(format: format.with(frameRate: rate)) { _, _ in }
        try capture.start(into: consumer)
        let frames = take(30, from: consumer)
        capture.stop()
        #expect(frames.count == 30)
        let start = try #require(frames.first).timestamp
        for frame in frames {
            let elapsed = frame.timestamp - start
            // The grid is anchored at frame 0, which need not be the first one taken: allow the rounding of both ends.
            let error = elapsed - rate.time(ofFrame: rate.frame(at: elapsed + .nanoseconds(2)))
            #expect(error >= .nanoseconds(-2) && error <= .nanoseconds(2))
        }
    }

    @Test func framesNeverComeBeforeTheyAreDue() throws {
        let consumer = makeOpenConsumer()
        let early = Counter()
        let capture = PacedCapture(format: format) { _, tick in
            if MonotonicClock.now < tick.time { early.increment() }
        }
        try capture.start(into: consumer)
        #expect(take(20, from: consumer).count == 20)
        capture.stop()
        #expect(early.value == 0)
    }

    @Test func lateFramesAreSkippedAndCounted() throws {
        let consumer = makeOpenConsumer()
        let drawn = Counter()
        let lastIndex = Mutex(0)
        let capture = PacedCapture(format: format) { _, tick in
            drawn.increment()
            lastIndex.withLock { $0 = tick.index }
            // Spends three frames' time on the second frame.
            let end = MonotonicClock.now + .milliseconds(7)
            while drawn.value == 2, MonotonicClock.now < end {}
        }
        try capture.start(into: consumer)
        #expect(take(6, from: consumer).count == 6)
        capture.stop()
        let ledger = consumer.ledger
        #expect(ledger.dropped(.captureLate) >= 2)
        #expect(lastIndex.withLock { $0 } + 1 == drawn.value + ledger.dropped(.captureLate))
        consumer.close()
        #expect(consumer.ledger.isBalanced)
        #expect(consumer.ledger.inFlight == 0)
    }

    @Test func stopReturnsAtOnceHoweverSlowTheRate() throws {
        let consumer = makeOpenConsumer()
        let slow = try #require(FrameRate(1, 1000))
        let capture = PacedCapture(format: format.with(frameRate: slow)) { _, _ in }
        try capture.start(into: consumer)
        #expect(take(1, from: consumer).count == 1)
        let before = MonotonicClock.now
        capture.stop()
        #expect(MonotonicClock.now - before < .seconds(5))
        #expect(!capture.isCapturing)
    }

    @Test func noFrameArrivesAfterStop() throws {
        let consumer = makeOpenConsumer()
        let capture = PacedCapture(format: format.with(frameRate: 1000)) { _, _ in }
        for _ in 0..<50 {
            try capture.start(into: consumer)
            _ = take(1, from: consumer)
            capture.stop()
            let captured = consumer.ledger.captured
            #expect(!capture.isCapturing)
            sched_yield()
            #expect(consumer.ledger.captured == captured)
        }
    }

    @Test func anyNumberOfThreadsMayStop() async throws {
        let consumer = makeOpenConsumer()
        let capture = PacedCapture(format: format.with(frameRate: 1000)) { _, _ in }
        for _ in 0..<50 {
            try capture.start(into: consumer)
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        capture.stop()
                        capture.stop()
                        return capture.isCapturing
                    }
                }
                for await isCapturing in group { #expect(!isCapturing) }
            }
        }
        capture.stop()
    }

    @Test func drawingMayStopItsOwnCapturer() async throws {
        for _ in 0..<50 {
            let consumer = makeOpenConsumer()
            let drawn = Counter()
            let shared = StopFromWithin(drawn: drawn)
            let capture = PacedCapture(format: format) { _, _ in shared.stop() }
            shared.set(capture)
            try capture.start(into: consumer)
            #expect(await eventually { drawn.value == 1 })
            capture.stop()
            #expect(!capture.isCapturing)
            #expect(drawn.value == 1)
            // The picture that was being drawn was captured, but it does not arrive after `stop`.
            #expect(consumer.ledger.droppedByReason == [.captureStopped: 1])
            shared.set(nil)
        }
    }

    @Test func capturersAreNotKeptByTheirOwnThreads() async throws {
        let consumer = makeOpenConsumer()
        let audioConsumer = makeOpenAudioConsumer()
        weak var paced: PacedCapture?
        weak var noise: NoiseCapture?
        weak var pattern: PatternCapture?
        weak var tone: ToneCapture?
        try {
            let captures: [any VideoCapture] = [
                PacedCapture(format: format) { _, _ in }, NoiseCapture(width: 16, height: 16),
                PatternCapture(width: 160, height: 120),
            ]
            let sound = ToneCapture()
            paced = captures[0] as? PacedCapture
            noise = captures[1] as? NoiseCapture
            pattern = captures[2] as? PatternCapture
            tone = sound
            try sound.start(into: audioConsumer)
            sound.stop()
            for capture in captures {
                try capture.start(into: consumer)
                capture.stop()
            }
        }()
        #expect(paced == nil && noise == nil && pattern == nil && tone == nil)
    }

    @Test func consumerIsLetGoWhenCapturingEnds() async throws {
        let capture = PacedCapture(format: format) { _, _ in }
        weak var watched: VideoCaptureConsumer?
        try {
            let consumer = makeOpenConsumer()
            watched = consumer
            try capture.start(into: consumer)
            capture.stop()
        }()
        #expect(await eventually { watched == nil })
    }

    @Test func startingTwiceIsRefused() throws {
        let consumer = makeOpenConsumer()
        let capture = PacedCapture(format: format) { _, _ in }
        try capture.start(into: consumer)
        defer { capture.stop() }
        #expect {
            try capture.start(into: consumer)
        } throws: { error in
            if case CaptureError.alreadyCapturing = error { true } else { false }
        }
        #expect(capture.isCapturing)
    }

    @Test func errorsOfDrawingAreCounted() throws {
        struct Failure: Error {}
        let consumer = makeOpenConsumer()
        let capture = PacedCapture(format: format) { _, tick in
            if tick.index == 0 { throw Failure() }
        }
        try capture.start(into: consumer)
        #expect(take(1, from: consumer).count == 1)
        capture.stop()
        #expect(consumer.ledger.dropped(.invalid) == 1)
    }

    @Test func badFormatIsRefusedAtStart() {
        let consumer = makeOpenConsumer()
        let bad = PacedCapture(format: VideoFormat(.argb, width: 0, height: 1)) { _, _ in }
        #expect(throws: CaptureError.self) { try bad.start(into: consumer) }
        let fast = PacedCapture(format: format.with(frameRate: 1001)) { _, _ in }
        #expect(throws: CaptureError.self) { try fast.start(into: consumer) }
        #expect(!bad.isCapturing && !fast.isCapturing)
    }
}

/// Lets a capturer's own drawing stop it.
private final class StopFromWithin: Sendable {
    private let capture = Mutex<PacedCapture?>(nil)
    private let drawn: Counter

    init(drawn: Counter) {
        self.drawn = drawn
    }

    func set(_ capture: PacedCapture?) {
        self.capture.withLock { $0 = capture }
    }

    func stop() {
        capture.withLock { $0 }?.stop()
        drawn.increment()
    }
}
