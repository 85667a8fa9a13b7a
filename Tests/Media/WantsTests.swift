import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Synchronization
import Testing

/// What a capturer does about what is wanted of it. Real time: what is asserted holds however late threads are.
@Suite struct WantsTests {
    /// Notes every picture as the capturer hands it over.
    private final class Arrivals: Sendable {
        private let pictures = Mutex<[(time: Instant, size: VideoSize)]>([])
        var times: [Instant] { pictures.withLock { $0.map(\.time) } }
        var sizes: [VideoSize] { pictures.withLock { $0.map(\.size) } }

        func consumer(_ wants: VideoWants) -> VideoCaptureConsumer {
            let consumer = VideoCaptureConsumer(
                poolLimit: 64,
                onConsume: { frame in self.pictures.withLock { $0.append((frame.timestamp, frame.size)) } })
            consumer.open()
            consumer.setHasSubscribers(true)
            consumer.setWants(wants)
            return consumer
        }
    }

    @Test func picturesThatAreNotWantedAreNeverMade() async throws {
        let format = VideoFormat(.argb, width: 8, height: 8, frameRate: 200)
        let captures: [any VideoCapture] = [
            PacedCapture(format: format) { _, _ in },
            NoiseCapture(width: 64, height: 48, frameRate: 200),
            PatternCapture(width: 160, height: 120, frameRate: 200),
        ]
        for capture in captures {
            let arrivals = Arrivals()
            let consumer = arrivals.consumer(VideoWants(highestFrameRate: 20))
            try capture.start(into: consumer)
            #expect(await eventually { arrivals.times.count >= 8 })
            consumer.setWants(VideoWants())
            // As many as there are, as soon as they are wanted again.
            #expect(
                await eventually {
                    zip(arrivals.times, arrivals.times.dropFirst()).contains { $1 - $0 == .milliseconds(5) }
                })
            capture.stop()
            let times = arrivals.times.prefix(8)
            for (number, time) in times.enumerated() {
                // A frame may come by three eighths of its time early.
                #expect(time - times[0] > .milliseconds(50 * number - 19))
            }
            let ledger = consumer.ledger
            #expect(ledger.dropped(.adaptation) == 0, "\(capture)")
            #expect(ledger.captured == arrivals.times.count + ledger.dropped(.captureLate))
        }
    }

    @Test func generatorsDrawNoLargerThanWanted() async throws {
        let noise = NoiseCapture(width: 64, height: 48, frameRate: 100)
        let pattern = PatternCapture(width: 640, height: 480, frameRate: 100)
        let cases: [(any VideoCapture, VideoSize, VideoSize)] = [
            (noise, VideoSize(width: 33, height: 33), VideoSize(width: 32, height: 24)),
            (pattern, VideoSize(width: 320, height: 10_000), VideoSize(width: 320, height: 240)),
        ]
        for (capture, wanted, expected) in cases {
            let full = capture.format.size
            let arrivals = Arrivals()
            let consumer = arrivals.consumer(VideoWants(largestSize: wanted))
            try capture.start(into: consumer)
            let frame = try #require(take(1, from: consumer).first)
            #expect(frame.size == expected)
            if capture is PatternCapture { #expect(PatternReader.read(frame) != nil) }
            consumer.setWants(VideoWants())
            #expect(await eventually { arrivals.sizes.last == full })
            capture.stop()
            #expect(Set(arrivals.sizes).count == 2)
            #expect(capture.format.size == full)
        }
    }

    @Test func patternIsNotDrawnTooSmallToBeRead() throws {
        let consumer = Arrivals().consumer(VideoWants(largestSize: VideoSize(width: 80, height: 60)))
        let capture = PatternCapture(width: 320, height: 240, frameRate: 100)
        try capture.start(into: consumer)
        let frame = try #require(take(1, from: consumer).first)
        capture.stop()
        #expect(PatternReader.read(frame) != nil)
    }

    @Test func wantsAreLookedAtWhileLate() async throws {
        // Every picture takes as long as four of them last; of those that are missed a quarter was wanted.
        let arrivals = Arrivals()
        let consumer = arrivals.consumer(VideoWants(highestFrameRate: 50))
        let format = VideoFormat(.argb, width: 8, height: 8, frameRate: 200)
        let capture = PacedCapture(
            format: format,
            draw: { _, _ in
                let end = MonotonicClock.now + .milliseconds(20)
                while MonotonicClock.now < end {}
            })
        try capture.start(into: consumer)
        #expect(await eventually { arrivals.times.count >= 10 })
        capture.stop()
        let (times, ledger) = (arrivals.times, consumer.ledger)
        let span = times[times.count - 1] - times[0]
        // Those handed over and those reported as late make up the wanted rate, not the source's.
        #expect(ledger.captured <= FrameRate(integerLiteral: 50).frame(at: span) + 2)
        #expect(ledger.dropped(.adaptation) == 0)
    }
}
