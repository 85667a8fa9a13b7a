import EmisoraCore
import EmisoraEventLoop
import Glibc
import Synchronization
import Testing

/// An actor on a loop of its own.
private actor Counter {
    private let loop: EventLoop
    private(set) var value = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: EventLoop) { self.loop = loop }

    func add(_ number: Int) -> Bool {
        value += number
        return loop.isCurrent
    }
}

/// Writes down its turns, and asks for the deadlines it was given.
private final class Timer: EventLoopClient {
    var deadlines: [Instant]
    var lateness: [Duration] = []
    var turns = 0
    private let done: () -> Void
    private let freed: () -> Void

    init(deadlines: [Instant], done: @escaping () -> Void, freed: @escaping () -> Void = {}) {
        self.deadlines = deadlines
        self.done = done
        self.freed = freed
    }

    deinit { freed() }

    var nextDeadline: Instant? { deadlines.first }

    func turnDidEnd(now: Instant) {
        turns += 1
        guard let first = deadlines.first, first <= now else { return }
        deadlines.removeFirst()
        lateness.append(now - first)
        if deadlines.isEmpty { done() }
    }
}

@Suite struct EventLoopTests {
    @Test func workRunsOnTheLoopsThreadInTheOrderOfTheCalls() async throws {
        try await withLoop { loop in
            let seen = Confined<[Int]>([])
            for number in 0..<1_000 { loop.execute { seen.value.append(loop.isCurrent ? number : -1) } }
            let result = try await loop.run { seen.value }
            #expect(result == Array(0..<1_000))
            #expect(!loop.isCurrent)
        }
    }

    @Test func anActorRunsOnTheLoop() async throws {
        try await withLoop { loop in
            let counter = Counter(loop: loop)
            for number in 1...500 { #expect(await counter.add(number)) }
            #expect(await counter.value == 125_250)
            // The synchronous door for the loop's own callbacks.
            let value = try await loop.run {
                counter.assumeIsolated { counter in
                    _ = counter.add(1)
                    return counter.value
                }
            }
            #expect(value == 125_251)
        }
    }

    @Test func manyThreadsWakeTheLoopAndNothingIsLost() async throws {
        try await withLoop { loop in
            let count = Confined(0)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for step in 0..<2_000 {
                            loop.execute { count.value += 1 }
                            if step % 50 == 0 { await Task.yield() }
                        }
                    }
                }
            }
            let total = try await loop.run { count.value }
            #expect(total == 16_000)
        }
    }

    @Test func workThatPostsWorkRunsInALaterTurn() async throws {
        try await withLoop { loop in
            let turns = try await loop.run {
                let timer = Timer(deadlines: [], done: {})
                loop.setClient(timer)
                return Confined(timer)
            }
            let before = try await loop.run { turns.value.turns }
            let after = try await loop.run { turns.value.turns }
            #expect(after > before)
        }
    }

    @Test func deadlinesAreNeverEarlyAndSeldomLate() async throws {
        try await withLoop { loop in
            let lateness = try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<[Duration], any Error>) in
                loop.execute {
                    let start = SystemClock.now()
                    let timer = Confined<Timer?>(nil)
                    timer.value = Timer(deadlines: (1...50).map { start + .microseconds($0 * 1_700) }) {
                        continuation.resume(returning: timer.value?.lateness ?? [])
                        timer.value = nil
                    }
                    loop.setClient(timer.value)
                }
            }
            #expect(lateness.count == 50)
            #expect(lateness.allSatisfy { $0 >= .zero })
            if getenv("EMISORA_NO_TIMING") == nil {
                #expect(lateness.sorted()[25] < .milliseconds(2))
            }
        }
    }

    @Test func aDeadlineInThePastEndsTheWaitAtOnce() async throws {
        try await withLoop { loop in
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                loop.execute {
                    loop.setClient(Timer(deadlines: [.zero]) { continuation.resume() })
                }
            }
        }
    }

    @Test func shutdownRunsWhatIsQueuedAndWhatThatQueues() async throws {
        let loop = try EventLoop(name: "loop-test")
        let recorder = Recorder()
        loop.execute {
            recorder.note(1)
            loop.execute {
                recorder.note(2)
                loop.execute { recorder.note(3) }
            }
        }
        loop.shutdown()
        #expect(recorder.numbers == [1, 2, 3])
    }

    @Test func anActorOfAnEndedLoopStillAnswers() async throws {
        let loop = try EventLoop(name: "loop-test")
        let counter = Counter(loop: loop)
        loop.shutdown()
        for _ in 0..<20 { #expect(await counter.add(1)) }
        #expect(await counter.value == 20)
        #expect(!loop.isCurrent)
    }

    @Test func stopOnTheLoopsOwnThreadLetsTheClientGo() async throws {
        let loop = try EventLoop(name: "loop-test")
        let (isFreed, freed) = AsyncStream.makeStream(of: Void.self)
        try await loop.run {
            loop.setClient(Timer(deadlines: [], done: {}, freed: { freed.finish() }))
            loop.stop()
        }
        for await _ in isFreed {}
        // What comes in late runs all the same.
        try await loop.run { #expect(loop.isCurrent) }
    }

    @Test func anEndedLoopIsFreedWithItsThreadAndSockets() async throws {
        weak var observed: EventLoop?
        var address = loopback
        for _ in 0..<20 {
            let loop = try EventLoop(name: "loop-freed")
            observed = loop
            address = try await loop.run {
                try UDPSocket(binding: loopback, on: loop) { _, _, _ in }.localAddress
            }
            loop.shutdown()
        }
        #expect(observed == nil)
        #expect(!threadNames().contains("loop-freed"))
        // Its port is free again, so its descriptor is closed.
        let reused = address
        try await withLoop { loop in
            try await loop.run { _ = try UDPSocket(binding: reused, on: loop) { _, _, _ in } }
        }
    }

    @Test func theApplicationsSignalsStayOffTheLoopsThread() async throws {
        try await withLoop { loop in
            let blocked = try await loop.run {
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                return [SIGINT, SIGTERM, SIGUSR1, SIGSEGV].map { sigismember(&mask, $0) == 1 }
            }
            #expect(blocked == [true, true, true, false])
        }
    }
}

private final class Recorder: Sendable {
    private let state = Mutex<[Int]>([])
    var numbers: [Int] { state.withLock { $0 } }
    func note(_ number: Int) { state.withLock { $0.append(number) } }
}
