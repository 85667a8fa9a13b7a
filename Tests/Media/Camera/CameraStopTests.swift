import EmisoraCore
import Synchronization
import Testing

@testable import EmisoraCapture

/// A stop that comes while a start, or a switch to another camera, is under way.
@Suite struct CameraStopTests {
    /// Runs something that blocks, and knows when it returned.
    private final class Call: Sendable {
        private let outcome = Monitor<Result<Void, CaptureError>?>(nil)
        private let thread = MediaThread()

        init(_ body: @escaping @Sendable () throws(CaptureError) -> Void) throws {
            let outcome = outcome
            try thread.start { _ in
                let result: Result<Void, CaptureError>
                do throws(CaptureError) { result = .success(try body()) } catch { result = .failure(error) }
                outcome.withLock { $0 = result }
                outcome.notifyAll()
            }
        }

        var hasReturned: Bool { outcome.withLock { $0 != nil } }

        func wait() -> Result<Void, CaptureError>? {
            outcome.wait(until: MonotonicClock.now + .seconds(60)) { $0 }
        }
    }

    private func isStopped(_ outcome: Result<Void, CaptureError>?) -> Bool {
        guard case .failure(.custom(let error)) = outcome else { return false }
        return error as? CameraError == .stopped
    }

    @Test(arguments: [nil, "/dev/video0", "usb-1.2"])
    func aStopEndsTheStartThatIsUnderWayAndNothingIsHeld(_ device: String?) throws {
        let system = ScriptedV4L2()
        let bench = CameraBench(system, device: device)
        system.state.withLock { $0.isOpeningHeld = true }
        let starting = try Call { () throws(CaptureError) in try bench.capture.start(into: bench.consumer) }
        system.await("a node is being opened") { $0.opening == 1 }
        let stopping = try Call { bench.capture.stop() }
        system.await("the stop wakes what there is to wake") { $0.isWoken }
        // What is being opened would still be open.
        #expect(!stopping.hasReturned)
        system.letOpen()
        #expect(stopping.wait() != nil)
        #expect(system.books.openDevices == 0)
        #expect(isStopped(starting.wait()))
        #expect(!bench.capture.isCapturing)
        #expect(system.books.requests["VIDIOC_STREAMON"] == nil)
        #expect(bench.consumer.ledger.captured == 0)
        #expect(bench.log.all.isEmpty)

        system.state.withLock { $0.isWoken = false }
        try bench.capture.start(into: bench.consumer)
        #expect(bench.pass(.milliseconds(200)) >= 5)
        bench.capture.stop()
        #expect(system.books.openDevices == 0)
    }

    @Test func aStopEndsAllStartsThatWait() throws {
        let system = ScriptedV4L2()
        let bench = CameraBench(system)
        system.state.withLock { $0.isOpeningHeld = true }
        let first = try Call { () throws(CaptureError) in try bench.capture.start(into: bench.consumer) }
        system.await("a node is being opened") { $0.opening == 1 }
        let stopping = try Call { bench.capture.stop() }
        system.await("the stop wakes what there is to wake") { $0.isWoken }
        system.letOpen()
        #expect(stopping.wait() != nil)
        #expect(isStopped(first.wait()))
        #expect(!bench.capture.isCapturing)
        // The stop was for those before it.
        system.state.withLock { $0.isWoken = false }
        let next = try Call { () throws(CaptureError) in try bench.capture.start(into: bench.consumer) }
        guard case .success = next.wait() else {
            Issue.record("a start after the stop does not start")
            return
        }
        #expect(bench.capture.isCapturing)
        bench.capture.stop()
    }

    @Test func aStopEndsTheSwitchThatIsUnderWay() throws {
        var second = ScriptedCamera()
        second.busInfo = "usb-9"
        let system = ScriptedV4L2(["/dev/video0": ScriptedCamera(), "/dev/video1": second])
        let bench = CameraBench(system)
        try bench.capture.start(into: bench.consumer)
        #expect(bench.frames(3).count >= 2)
        system.state.withLock { $0.isOpeningHeld = true }
        let switching = try Call { () throws(CaptureError) in try bench.capture.switchCamera(to: "usb-9") }
        system.await("a node is being opened") { $0.opening == 1 }
        system.state.withLock { $0.isWoken = false }
        let stopping = try Call { bench.capture.stop() }
        system.await("the stop wakes what there is to wake") { $0.isWoken }
        system.letOpen()
        #expect(stopping.wait() != nil)
        #expect(system.books.openDevices == 0)
        guard case .failure = switching.wait() else {
            Issue.record("the switch is said to be done although capturing was stopped")
            return
        }
        #expect(system.books.requests["VIDIOC_STREAMON"] == 1)
    }
}
