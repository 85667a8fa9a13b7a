import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Synchronization
import Testing

/// Starting and stopping, as all capturers have it.
@Suite struct CaptureRunTests {
    private let runner = CaptureRunner()
    private let log = Log()

    /// A consumer that notes what it is told of the end.
    private func makeConsumer() -> VideoCaptureConsumer {
        let log = log
        return VideoCaptureConsumer(onReport: { report in
            guard case .ended(let error) = report else { return }
            log.note(error.map { "ended: \($0)" } ?? "ended")
        })
    }

    private func isStopped(_ error: any Error) -> Bool {
        if case CaptureError.stopped = error { true } else { false }
    }

    @Test func startReturnsWhenTheSourceIsOpen() async throws {
        let gate = Gate()
        let consumer = makeConsumer()
        let (runner, log) = (runner, log)
        let starting = try BlockingCall {
            try runner.start(into: consumer) { run throws(CaptureError) in
                log.note("opening")
                gate.wait()
                guard run.begin() else { return }
                while run.wait(until: .distantFuture) {}
            }
            log.note("started")
        }
        #expect(await eventually { log.lines == ["opening"] })
        #expect(!runner.isCapturing)
        // One start at a time.
        #expect(throws: CaptureError.self) { try runner.start(into: consumer) { _ in log.note("another") } }
        gate.open()
        #expect(await eventually { starting.outcome != nil })
        try starting.outcome?.get()
        #expect(runner.isCapturing)
        #expect(throws: CaptureError.self) { try runner.start(into: consumer) { _ in log.note("another") } }
        runner.stop()
        #expect(!runner.isCapturing)
        #expect(log.lines == ["opening", "started"])
    }

    @Test func stopEndsAnOpeningThatWaits() async throws {
        let consumer = makeConsumer()
        let (runner, log) = (runner, log)
        for number in 0..<20 {
            let gate = Gate()
            let starting = try BlockingCall {
                try runner.start(into: consumer) { run throws(CaptureError) in
                    run.onStop { gate.open() }
                    log.note("opening")
                    gate.wait()
                    if run.begin() { log.note("begun") }
                }
            }
            // At any moment, and every other time surely while the opening waits.
            if number % 2 == 0 { #expect(await eventually { log.lines == ["opening"] }) }
            #expect(
                await eventually {
                    runner.stop()
                    return starting.outcome != nil
                })
            #expect { try starting.outcome?.get() } throws: { isStopped($0) }
            #expect(!runner.isCapturing)
            #expect(!log.lines.contains("begun"))
            log.clear()
        }
        // Nothing is left of it.
        try runner.start(into: consumer) { run throws(CaptureError) in _ = run.begin() }
        #expect(await eventually { log.lines == ["ended"] })
    }

    @Test func errorOfTheOpeningIsThrown() throws {
        let consumer = makeConsumer()
        #expect {
            try runner.start(into: consumer) { _ throws(CaptureError) in throw .file(path: "/x", code: 5) }
        } throws: {
            if case CaptureError.file("/x", 5) = $0 { true } else { false }
        }
        #expect(!runner.isCapturing && runner.failure == nil && log.lines.isEmpty)
        runner.stop()
    }

    @Test func openingThatEndsWithoutBeginningIsNoStart() {
        let consumer = makeConsumer()
        #expect { try runner.start(into: consumer) { _ in } } throws: { isStopped($0) }
        #expect(!runner.isCapturing && log.lines.isEmpty)
    }

    @Test func endOfTheSourceIsToldOnceWithItsReason() async throws {
        let consumer = makeConsumer()
        let (runner, log) = (runner, log)
        for failure in [nil, CaptureError.invalidOption("no more")] {
            log.clear()
            try runner.start(into: consumer) { run throws(CaptureError) in
                guard run.begin() else { return }
                if let failure { throw failure }
            }
            #expect(await eventually { log.lines.count == 1 })
            #expect(log.lines == [failure == nil ? "ended" : "ended: no more"])
            #expect(!runner.isCapturing)
            #expect(runner.failure?.description == failure?.description)
            runner.stop()
            #expect(log.lines.count == 1)
        }
        // Forgotten with the next start.
        try runner.start(into: consumer) { run throws(CaptureError) in
            guard run.begin() else { return }
            while run.wait(until: .distantFuture) {}
        }
        #expect(runner.failure == nil)
        runner.stop()
    }

    @Test func endCanBeTheFirstThingThatIsKnown() async throws {
        let consumer = makeConsumer()
        let gate = Gate()
        let (runner, log) = (runner, log)
        try runner.start(into: consumer) { run throws(CaptureError) in
            guard run.begin() else { return }
            run.end(.invalidOption("the first"))
            log.note("\(runner.isCapturing)")
            gate.wait()
            throw .invalidOption("the second")
        }
        #expect(await eventually { log.lines == ["false"] })
        #expect(runner.failure?.description == "the first")
        gate.open()
        #expect(await eventually { log.lines == ["false", "ended: the first"] })
    }

    @Test func failureBecauseOfTheStopIsNone() throws {
        let consumer = makeConsumer()
        try runner.start(into: consumer) { run throws(CaptureError) in
            guard run.begin() else { return }
            while run.wait(until: .distantFuture) {}
            throw .invalidOption("the connection broke")
        }
        runner.stop()
        #expect(runner.failure == nil && log.lines.isEmpty)
    }

    @Test func stopOnItsOwnThreadDoesNotWait() async throws {
        let consumer = makeConsumer()
        let (runner, log) = (runner, log)
        let gate = Gate()
        try runner.start(into: consumer) { run throws(CaptureError) in
            guard run.begin() else { return }
            runner.stop()
            log.note(run.isStopRequested && !runner.isCapturing ? "stopped" : "going on")
            gate.wait()
            log.note("over")
        }
        #expect(await eventually { log.lines == ["stopped"] })
        // The next one begins when that one has let go of everything.
        let next = try BlockingCall {
            try runner.start(into: consumer) { run throws(CaptureError) in
                log.note("next")
                guard run.begin() else { return }
                while run.wait(until: .distantFuture) {}
            }
        }
        #expect(log.lines == ["stopped"])
        gate.open()
        #expect(await eventually { next.outcome != nil })
        try next.outcome?.get()
        #expect(log.lines == ["stopped", "over", "next"])
        runner.stop()
    }

    @Test func stopsOfAllThreadsWaitForTheEnd() async throws {
        let consumer = makeConsumer()
        let runner = runner
        for _ in 0..<50 {
            let ended = Counter()
            try runner.start(into: consumer) { run throws(CaptureError) in
                guard run.begin() else { return }
                while run.wait(until: .distantFuture) {}
                ended.increment()
            }
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        runner.stop()
                        return ended.value
                    }
                }
                for await count in group { #expect(count == 1) }
            }
        }
    }

    @Test func whatTheBodyHoldsIsFreeWhenStopReturns() throws {
        for _ in 0..<200 {
            weak var watched: TestMemory?
            try {
                let memory = TestMemory(byteCount: 8)
                watched = memory
                try runner.start(into: makeConsumer()) { run throws(CaptureError) in
                    guard run.begin() else { return }
                    run.onStop { withExtendedLifetime(memory) {} }
                    withExtendedLifetime(memory) { while run.wait(until: .distantFuture) {} }
                }
            }()
            #expect(watched != nil)
            runner.stop()
            #expect(watched == nil)
        }
    }

    @Test func runnerThatGoesEndsItsRun() async throws {
        let consumer = makeConsumer()
        let ended = Counter()
        do {
            let runner = CaptureRunner()
            try runner.start(into: consumer) { run throws(CaptureError) in
                guard run.begin() else { return }
                while run.wait(until: .distantFuture) {}
                ended.increment()
            }
            #expect(ended.value == 0)
        }
        #expect(await eventually { ended.value == 1 })
        #expect(log.lines.isEmpty)
    }

    @Test func latestActionIsCalledOnceByTheStop() throws {
        let consumer = makeConsumer()
        let log = log
        try runner.start(into: consumer) { run throws(CaptureError) in
            run.onStop { log.note("first") }
            guard run.begin() else { return }
            run.onStop { log.note("second") }
            while run.wait(until: .distantFuture) {}
            run.onStop { log.note("too late") }
        }
        runner.stop()
        runner.stop()
        // The stop may come before the second was named; the last comes whenever the thread is awake.
        let lines = log.lines.sorted()
        #expect([["first", "second", "too late"], ["second", "too late"]].contains(lines), "\(lines)")
    }

    @Test func frameThatWasMadeUntilAfterTheStopIsCountedAndNotHandedOver() throws {
        let consumer = makeOpenConsumer()
        let pool = VideoFramePool()
        let frame = try makeFrame(pool, at: 1)
        try runner.start(into: consumer) { run throws(CaptureError) in
            guard run.begin() else { return }
            while run.wait(until: .distantFuture) {}
            run.hand(frame, to: consumer)
        }
        runner.stop()
        #expect(consumer.ledger.droppedByReason == [.captureStopped: 1])
        #expect(consumer.takeLatest()?.frame.timestamp == nil)
    }
}

/// What happened, in order.
private final class Log: Sendable {
    private let text = Mutex<[String]>([])
    var lines: [String] { text.withLock { $0 } }
    func note(_ line: String) { text.withLock { $0.append(line) } }
    func clear() { text.withLock { $0 = [] } }
}

/// A call on a thread of its own: one that blocks must not take one of Swift's own few.
private final class BlockingCall: Sendable {
    private let result = Mutex<Result<Void, any Error>?>(nil)

    init(_ body: @escaping @Sendable () throws -> Void) throws(CaptureError) {
        try MediaThread().start { [self] _ in
            let outcome = Result { try body() }
            result.withLock { $0 = outcome }
        }
    }

    /// What it came to, once it has returned.
    var outcome: Result<Void, any Error>? { result.withLock { $0 } }
}

/// Holds who waits until it is opened.
private final class Gate: Sendable {
    private let isOpen = Monitor(false)

    func wait() {
        _ = isOpen.wait(until: .distantFuture) { $0 ? true : nil }
    }

    func open() {
        isOpen.withLock { $0 = true }
        isOpen.notifyAll()
    }
}
