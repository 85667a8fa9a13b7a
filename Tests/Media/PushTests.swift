import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Synchronization
import Testing

@Suite struct PushCaptureTests {
    private let format = VideoFormat(.i420, width: 16, height: 16)

    @Test func framesGoThroughBetweenStartAndStopOnly() throws {
        let capture = PushCapture(format: format, contentHint: .detail)
        let consumer = makeOpenConsumer()
        let pool = VideoFramePool()
        #expect(capture.push(try makeFrame(pool, at: 1)) == .dropped(.captureStopped))
        #expect(capture.wants == nil)
        try capture.start(into: consumer)
        #expect(capture.isCapturing)
        #expect(throws: CaptureError.self) { try capture.start(into: consumer) }
        consumer.setWants(VideoWants(highestFrameRate: 5))
        #expect(capture.wants == VideoWants(highestFrameRate: 5))
        consumer.setWants(VideoWants())
        #expect(capture.push(try makeFrame(pool, at: 2)) == .accepted)
        #expect(capture.push(try makeFrame(pool, at: 2)) == .dropped(.invalid))
        #expect(capture.push(try makeFrame(pool, width: 32, height: 24, at: 3)) == .accepted)
        let taken = take(1, from: consumer)
        #expect(taken.first?.size == VideoSize(width: 32, height: 24))
        consumer.setHasSubscribers(false)
        #expect(capture.push(try makeFrame(pool, at: 4)) == .dropped(.noSubscribers))
        capture.stop()
        capture.stop()
        #expect(!capture.isCapturing)
        #expect(capture.push(try makeFrame(pool, at: 5)) == .dropped(.captureStopped))
        #expect(consumer.ledger.captured == 4)
        #expect(consumer.ledger.isBalanced)
        try capture.start(into: consumer)
        #expect(capture.isCapturing)
    }

    @Test func formatIsCheckedAtTheStart() {
        let capture = PushCapture(format: VideoFormat(.i420, width: 0, height: 16))
        #expect(throws: CaptureError.self) { try capture.start(into: makeOpenConsumer()) }
        #expect(!capture.isCapturing)
    }

    @Test func manyThreadsMayPushWhileItIsStoppedAndStarted() async throws {
        let capture = PushCapture(format: format)
        let consumer = makeOpenConsumer()
        let pool = VideoFramePool(limit: 64)
        let clock = Counter()
        let (accepted, refused) = (Counter(), Counter())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        let time = clock.increment()
                        switch capture.push(try makeFrame(pool, at: time)) {
                        case .accepted, .dropped(.invalid): accepted.increment()
                        case .dropped: refused.increment()
                        }
                    }
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    try capture.start(into: consumer)
                    await Task.yield()
                    capture.stop()
                }
            }
            try await group.waitForAll()
        }
        // What was answered is what the consumer has counted: no frame came in after a stop.
        #expect(consumer.ledger.captured == accepted.value)
        #expect(accepted.value + refused.value == 4000)
        #expect(consumer.ledger.isBalanced)
    }

    @Test func noFrameArrivesAfterStopHasReturned() async throws {
        let capture = PushCapture(format: format)
        let consumer = makeOpenConsumer()
        let pool = VideoFramePool(limit: 64)
        let ends = Counter()
        let clock = Counter()
        try capture.start(into: consumer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    while ends.value == 0 {
                        _ = capture.push(try makeFrame(pool, at: clock.increment()))
                        await Task.yield()
                    }
                }
            }
            #expect(await eventually { consumer.ledger.captured > 50 })
            capture.stop()
            let captured = consumer.ledger.captured
            let pushed = clock.value
            #expect(await eventually { clock.value > pushed + 100 })
            #expect(consumer.ledger.captured == captured)
            ends.increment()
            try await group.waitForAll()
        }
    }

    @Test func releaseOfAReplacedFrameMayPushAndStop() throws {
        let capture = PushCapture(format: format)
        let consumer = makeOpenConsumer()
        let pool = VideoFramePool()
        try capture.start(into: consumer)
        let memory = TestMemory(byteCount: format.byteCount)
        let later = try makeFrame(pool, at: 3)
        let answer = Mutex<ConsumeResult?>(nil)
        do {
            let lent = BorrowedBuffer(memory.readOnly) {
                answer.withLock { $0 = capture.push(later) }
                capture.stop()
            }
            capture.push(try VideoFrame(borrowing: lent, format: format, timestamp: .milliseconds(1)))
        }
        #expect(capture.push(try makeFrame(pool, at: 2)) == .accepted)
        #expect(answer.withLock { $0 } == .accepted)
        #expect(!capture.isCapturing)
        #expect(consumer.ledger.captured == 3)
    }
}
