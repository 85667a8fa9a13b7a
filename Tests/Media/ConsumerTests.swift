import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Testing

@Suite struct VideoCaptureConsumerTests {
    let pool = VideoFramePool(limit: 64)

    /// Takes a frame, looks at the ledger while holding it, and reports it encoded.
    private func takeAndHold(from consumer: VideoCaptureConsumer) -> (timestamp: Instant, inFlight: Int)? {
        guard let taken = consumer.takeLatest() else { return nil }
        let seen = (taken.frame.timestamp, consumer.ledger.inFlight)
        taken.encoded()
        return seen
    }

    @Test func newestFrameReplacesTheOneThatWaits() throws {
        let consumer = makeOpenConsumer()
        for time in 1...3 { #expect(consumer.consume(try makeFrame(pool, at: time)) == .accepted) }
        let taken = try #require(takeAndHold(from: consumer))
        #expect(taken.timestamp == .milliseconds(3))
        #expect(taken.inFlight == 1)
        #expect(consumer.takeLatest()?.frame.timestamp == nil)
        let ledger = consumer.ledger
        #expect(ledger.captured == 3)
        #expect(ledger.encoded == 1)
        #expect(ledger.droppedByReason == [.mailboxReplaced: 2])
        #expect(ledger.inFlight == 0)
        #expect(ledger.isBalanced)
        #expect(pool.framesInUse == 0)
    }

    @Test func stateDecidesWhyAFrameIsDropped() throws {
        let consumer = VideoCaptureConsumer()
        #expect(consumer.consume(try makeFrame(pool, at: 1)) == .dropped(.captureStopped))
        consumer.open()
        #expect(consumer.consume(try makeFrame(pool, at: 2)) == .dropped(.noSubscribers))
        consumer.setHasSubscribers(true)
        #expect(consumer.consume(try makeFrame(pool, at: 3)) == .accepted)
        consumer.setPaused(true)
        #expect(consumer.ledger.dropped(.paused) == 1)
        #expect(consumer.consume(try makeFrame(pool, at: 4)) == .dropped(.paused))
        consumer.setPaused(false)
        #expect(consumer.consume(try makeFrame(pool, at: 5)) == .accepted)
        consumer.close()
        #expect(consumer.takeLatest()?.frame.timestamp == nil)
        #expect(consumer.consume(try makeFrame(pool, at: 6)) == .dropped(.captureStopped))
        let ledger = consumer.ledger
        #expect(ledger.captured == 6)
        #expect(ledger.droppedByReason == [.captureStopped: 3, .noSubscribers: 1, .paused: 2])
        #expect(ledger.isBalanced)
    }

    @Test func frameNotLaterThanTheOneBeforeIsInvalid() throws {
        let consumer = makeOpenConsumer()
        #expect(consumer.consume(try makeFrame(pool, at: 5)) == .accepted)
        #expect(consumer.consume(try makeFrame(pool, at: 5)) == .dropped(.invalid))
        #expect(consumer.consume(try makeFrame(pool, at: 4)) == .dropped(.invalid))
        #expect(consumer.consume(try makeFrame(pool, at: 6)) == .accepted)
        consumer.close()
        consumer.open()
        #expect(consumer.consume(try makeFrame(pool, at: 1)) == .accepted)
    }

    @Test func takenFrameLetGoWithoutAWordCountsAsFailed() throws {
        let consumer = makeOpenConsumer()
        consumer.consume(try makeFrame(pool, at: 1))
        do { _ = consumer.takeLatest() }
        #expect(consumer.ledger.droppedByReason == [.encoderFailed: 1])
        consumer.consume(try makeFrame(pool, at: 2))
        consumer.takeLatest()?.dropped(.encoderRateControl)
        #expect(consumer.ledger.droppedByReason == [.encoderFailed: 1, .encoderRateControl: 1])
        #expect(consumer.ledger.isBalanced)
    }

    @Test func capturersOwnDropsAreCaptured() {
        let consumer = makeOpenConsumer()
        consumer.didDrop(.noBuffer, count: 3)
        consumer.didDrop(.invalid)
        consumer.didDrop(.invalid, count: -5)
        consumer.didLoseInDriver(count: 7)
        let ledger = consumer.ledger
        #expect(ledger.captured == 4)
        #expect(ledger.droppedByReason == [.noBuffer: 3, .invalid: 1])
        #expect(ledger.lostByDriver == 7)
        #expect(ledger.isBalanced)
    }

    @Test func wakingEndsTheWait() throws {
        let consumer = makeOpenConsumer()
        let before = consumer.wakeUps
        consumer.wake()
        #expect(consumer.waitForLatest(until: .distantFuture, since: before)?.frame.timestamp == nil)
        consumer.consume(try makeFrame(pool, at: 1))
        #expect(consumer.waitForLatest(until: .distantFuture, since: before)?.frame.timestamp == .milliseconds(1))
    }

    @Test func waitEndsAtItsDeadline() {
        let consumer = makeOpenConsumer()
        let deadline = MonotonicClock.now + .milliseconds(5)
        #expect(consumer.waitForLatest(until: deadline)?.frame.timestamp == nil)
        #expect(MonotonicClock.now >= deadline)
        #expect(consumer.waitForLatest(until: .zero)?.frame.timestamp == nil)
    }

    @Test func higherRateThanWantedIsThinnedEvenly() throws {
        for (wanted, kept) in [(15 as FrameRate, 45...46), (20, 60...61), (30, 90...90), (60, 90...90), (10, 30...31)] {
            let consumer = makeOpenConsumer()
            consumer.setWants(VideoWants(highestFrameRate: wanted))
            var accepted = 0
            for number in 0..<90 {
                // Jitter of ±8 ms must not cost a frame.
                let time = number * 33_333 / 1000 + (number % 3 - 1) * 8 + 20
                if consumer.consume(try makeFrame(pool, at: time)) == .accepted { accepted += 1 }
            }
            #expect(kept.contains(accepted), "\(accepted) of 90 kept for \(wanted)")
            #expect(consumer.ledger.dropped(.adaptation) == 90 - accepted)
            #expect(consumer.ledger.isBalanced)
        }
    }

    @Test func raisingTheWantedRateTakesEffectAtOnce() throws {
        let consumer = makeOpenConsumer()
        consumer.setWants(VideoWants(highestFrameRate: 1))
        #expect(consumer.consume(try makeFrame(pool, at: 0)) == .accepted)
        #expect(consumer.consume(try makeFrame(pool, at: 33)) == .dropped(.adaptation))
        consumer.setWants(VideoWants(highestFrameRate: 30))
        #expect(consumer.consume(try makeFrame(pool, at: 66)) == .accepted)
        #expect(consumer.consume(try makeFrame(pool, at: 100)) == .accepted)
    }

    @Test func poolBoundsWhatACapturerCanHold() throws {
        let consumer = makeOpenConsumer(poolLimit: 2)
        let format = VideoFormat(.argb, width: 4, height: 4)
        let held = [
            try consumer.makeFrame(format).finish(timestamp: .zero),
            try consumer.makeFrame(format).finish(timestamp: .zero),
        ]
        #expect(throws: VideoFrameError.poolExhausted(limit: 2)) { _ = try consumer.makeFrame(format) }
        withExtendedLifetime(held) {}
    }

    /// The property the ledger exists for: whatever producer, encoder and controls do at the same time, each frame
    /// ends in exactly one fate, and every snapshot on the way balances.
    @Test(arguments: 0..<4) func ledgerBalancesUnderConcurrency(_ seed: Int) async throws {
        let consumer = makeOpenConsumer()
        let produced = 3000
        let isDone = Counter()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var random = TestRandom(state: UInt64(seed))
                for number in 0..<produced {
                    if random.next() % 16 == 0 {
                        consumer.didDrop(.invalid)
                    } else if let picture = try? consumer.makeFrame(VideoFormat(.i420, width: 4, height: 4)) {
                        consumer.consume(picture.finish(timestamp: .milliseconds(number)))
                    } else {
                        consumer.didDrop(.noBuffer)
                    }
                }
                isDone.increment()
                consumer.wake()
            }
            group.addTask {
                var random = TestRandom(state: UInt64(seed) + 100)
                while isDone.value == 0 {
                    guard let taken = consumer.waitForLatest(until: MonotonicClock.now + .milliseconds(1)) else {
                        continue
                    }
                    switch random.next() % 8 {
                    case 0: taken.dropped(.encoderRateControl)
                    case 1: continue
                    default: taken.encoded()
                    }
                }
            }
            group.addTask {
                var random = TestRandom(state: UInt64(seed) + 200)
                while isDone.value == 0 {
                    switch random.next() % 4 {
                    case 0: consumer.setPaused(random.next() % 2 == 0)
                    case 1: consumer.setHasSubscribers(random.next() % 2 == 0)
                    default: #expect(consumer.ledger.isBalanced)
                    }
                    await Task.yield()
                }
            }
        }
        consumer.close()
        let ledger = consumer.ledger
        #expect(ledger.captured == produced)
        #expect(ledger.inFlight == 0)
        #expect(ledger.captured == ledger.encoded + ledger.droppedByReason.values.reduce(0, +))
    }
}

@Suite struct AudioCaptureConsumerTests {
    private func frame(at milliseconds: Int) throws -> AudioFrame {
        try AudioFrame([Int16](repeating: 0, count: 960), format: .mono, timestamp: .milliseconds(milliseconds))
    }

    @Test func framesComeOutInOrder() throws {
        let consumer = makeOpenAudioConsumer()
        for time in 0..<5 { #expect(consumer.consume(try frame(at: time)) == .accepted) }
        #expect(take(5, from: consumer).map(\.timestamp) == (0..<5).map { .milliseconds($0) })
        #expect(consumer.ledger.encoded == 5)
        #expect(consumer.ledger.isBalanced)
    }

    @Test func fullQueueDropsItsOldest() throws {
        let consumer = makeOpenAudioConsumer(queueLimit: 3)
        for time in 0..<5 { consumer.consume(try frame(at: time)) }
        #expect(consumer.ledger.droppedByReason == [.queueFull: 2])
        #expect(take(3, from: consumer).map(\.timestamp) == [.milliseconds(2), .milliseconds(3), .milliseconds(4)])
        #expect(consumer.ledger.isBalanced)
    }

    @Test func closingDropsWhatWaits() throws {
        let consumer = makeOpenAudioConsumer()
        for time in 0..<5 { consumer.consume(try frame(at: time)) }
        consumer.close()
        #expect(consumer.takeNext()?.frame.timestamp == nil)
        #expect(consumer.ledger.droppedByReason == [.captureStopped: 5])
        #expect(consumer.ledger.isBalanced)
    }
}

@Suite struct DeliveryLedgerTests {
    @Test func countsOfSeveralSubscribersAddUp() {
        var first = DeliveryLedger()
        first.recordEncoded()
        first.recordSent()
        var second = DeliveryLedger()
        second.recordEncoded()
        second.recordNotSent(.notNegotiated)
        first.add(second)
        #expect(first.encoded == 2)
        #expect(first.sent == 1)
        #expect(first.notSent(.notNegotiated) == 1)
        #expect(first.inFlight == 0)
    }

    @Test func everyEncodedFrameIsSentOrNot() {
        var ledger = DeliveryLedger()
        for _ in 0..<10 { ledger.recordEncoded() }
        for _ in 0..<6 { ledger.recordSent() }
        ledger.recordNotSent(.awaitingKeyFrame, count: 3)
        #expect(ledger.inFlight == 1)
        #expect(ledger.isBalanced)
        #expect(ledger.notSentByReason == [.awaitingKeyFrame: 3])
        ledger.recordSent()
        #expect(ledger.inFlight == 0)
        ledger.recordSent()
        #expect(!ledger.isBalanced)
    }

    @Test func eachReasonHasACountOfItsOwn() {
        var delivery = DeliveryLedger()
        for (number, reason) in NotSentReason.allCases.enumerated() {
            delivery.recordNotSent(reason, count: number + 1)
        }
        for (number, reason) in NotSentReason.allCases.enumerated() {
            #expect(delivery.notSent(reason) == number + 1)
        }
        let consumer = VideoCaptureConsumer()
        for (number, reason) in DropReason.allCases.enumerated() { consumer.didDrop(reason, count: number + 1) }
        for (number, reason) in DropReason.allCases.enumerated() {
            #expect(consumer.ledger.dropped(reason) == number + 1)
        }
    }
}
