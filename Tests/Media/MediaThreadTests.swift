import EmisoraCapture
import EmisoraCore
import Testing

@Suite struct MediaThreadTests {
    @Test func workIsDoneForEachWakeUpUntilTheStop() async throws {
        let thread = MediaThread()
        let count = Counter()
        let hasStarted = try thread.start { thread in while thread.waitForWork() { count.increment() } }
        #expect(hasStarted)
        thread.wake()
        #expect(await eventually { count.value == 1 })
        thread.wake()
        #expect(await eventually { count.value == 2 })
        thread.stop()
        #expect(!thread.isRunning)
        thread.wake()
        #expect(count.value == 2)
    }

    @Test func oneBodyRunsAtATimeAndAnotherAfterItsEnd() throws {
        let thread = MediaThread()
        let ended = Counter()
        let body: @Sendable (MediaThread) -> Void = { thread in
            while thread.waitForWork() {}
            ended.increment()
        }
        #expect(try thread.start(body))
        #expect(try !thread.start(body))
        thread.stop()
        #expect(ended.value == 1)
        #expect(try thread.start(body))
        thread.stop()
        #expect(ended.value == 2)
    }

    @Test func aStopEndsTheWaitForAnInstant() throws {
        let thread = MediaThread()
        let told = Counter()
        let hasStarted = try thread.start { thread in
            if !thread.wait(until: .distantFuture) { told.increment() }
        }
        #expect(hasStarted)
        thread.stop()
        #expect(told.value == 1)
    }

    @Test func theBodyMayStopItsOwnThread() async throws {
        let thread = MediaThread()
        let ended = Counter()
        let hasStarted = try thread.start { thread in
            thread.stop()
            if thread.isStopRequested, !thread.waitForWork() { ended.increment() }
        }
        #expect(hasStarted)
        #expect(await eventually { ended.value == 1 })
        thread.stop()
        #expect(!thread.isRunning)
        #expect(!thread.isStopRequested)
    }
}
