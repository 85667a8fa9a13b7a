import EmisoraCore
import EmisoraVideo
import Glibc
import Synchronization
import Testing

@testable import EmisoraCapture

/// A camera that does not behave, in virtual time.
@Suite struct CameraFaultTests {
    @Test func aThousandShortFramesAreCountedAndTheirBuffersGoBack() throws {
        var camera = ScriptedCamera()
        camera.onFrame = { number, buffer in
            if number < 1000 { buffer.planes[0].bytesUsed = number % 2 == 0 ? 0 : 100 }
            return true
        }
        let bench = try CameraBench(camera)
        _ = bench.pass(.seconds(36))
        #expect(bench.consumer.ledger.dropped(.invalid) == 1000)
        #expect(bench.log.dropped(.invalid) == 1000)
        #expect(bench.consumer.ledger.lostByDriver == 0)
        #expect(bench.consumer.ledger.encoded > 60)
        #expect(bench.consumer.ledger.isBalanced)
        #expect(bench.system.books.opened == 1)
        bench.capture.stop()
    }

    @Test func buffersFlaggedAsDamagedAreCountedAndGoBack() throws {
        var camera = ScriptedCamera()
        camera.onFrame = { number, buffer in
            if number % 3 == 0 { buffer.flags |= 0x40 }
            return true
        }
        let bench = try CameraBench(camera)
        _ = bench.pass(.seconds(10))
        let ledger = bench.consumer.ledger
        #expect(abs(ledger.dropped(.invalid) - 100) <= 1)
        #expect(abs(ledger.encoded - 200) <= 2)
        #expect(ledger.lostByDriver == 0)
        bench.capture.stop()
    }

    @Test func whatTheDriverLosesIsToldToTheFrameAndTheLedgerBalances() throws {
        let lost = Mutex(0)
        let seed = Mutex(TestRandom(state: 7))
        var camera = ScriptedCamera()
        camera.onFrame = { number, buffer in
            // Also past the end of the numbers.
            buffer.sequence = UInt32(truncatingIfNeeded: number) &- 50
            let isLost = number > 0 && seed.withLock { $0.next() % 10 < 3 }
            if isLost { lost.withLock { $0 += 1 } }
            return !isLost
        }
        let bench = try CameraBench(camera)
        _ = bench.pass(.seconds(20))
        // Those at the end are known when the next frame comes.
        bench.system.change { camera in
            camera.onFrame = { number, buffer in
                buffer.sequence = UInt32(truncatingIfNeeded: number) &- 50
                return true
            }
        }
        _ = bench.pass(.milliseconds(100))
        let expected = lost.withLock { $0 }
        #expect(expected > 100)
        #expect(bench.consumer.ledger.lostByDriver == expected)
        #expect(bench.log.lostByDriver == expected)
        #expect(bench.consumer.ledger.isBalanced)
        bench.capture.stop()
    }

    @Test func aDriverThatCallsForNothingIsNotAskedWithoutEnd() throws {
        var camera = ScriptedCamera()
        camera.isStorming = true
        let bench = try CameraBench(camera)
        #expect(bench.pass(.seconds(3)) >= 85)
        #expect((bench.system.books.requests["VIDIOC_DQBUF"] ?? 0) < 1500)
        bench.capture.stop()
    }

    @Test func aDriverThatCallsForAnEventAndHasNoneIsNotAskedWithoutEnd() throws {
        var camera = ScriptedCamera()
        camera.isStormingWithEvents = true
        let bench = try CameraBench(camera)
        #expect(bench.pass(.seconds(3)) >= 85)
        #expect((bench.system.books.requests["VIDIOC_DQEVENT"] ?? 0) < 3000)
        // An event that comes meanwhile is still seen.
        bench.system.change { $0.events = [V4L2Event(kind: V4L2Event.sourceChange, changes: 1)] }
        _ = bench.pass(.seconds(1))
        #expect(bench.log.interruptions == [.sourceChanged])
        bench.capture.stop()
    }

    @Test func stampsThatGoBackOrWrapDoNotStopTheStream() throws {
        var camera = ScriptedCamera()
        camera.onFrame = { number, buffer in
            switch number {
            case 30..<60: buffer.seconds -= 3600
            case 60..<90: buffer.seconds = Int64.max - Int64(90 - number)
            case 90..<120: buffer.microseconds = -1
            case 120..<150: buffer.flags = 0  // another clock
            case 150..<155: (buffer.seconds, buffer.microseconds) = (0, 0)
            default: break
            }
            return true
        }
        let bench = try CameraBench(camera)
        // Not the frames themselves: who holds so many gets no more.
        let stamps = (0..<180).flatMap { _ in bench.frames(1).map(\.timestamp) }
        #expect(stamps.count >= 178)
        #expect(bench.consumer.ledger.dropped == 0)
        for (earlier, later) in zip(stamps, stamps.dropFirst()) { #expect(later > earlier) }
        // In the end the stamps are the driver's again.
        let last = try #require(stamps.last)
        #expect((last - bench.system.now).nanoseconds.magnitude < 50_000_000)
        bench.capture.stop()
    }

    @Test(arguments: ["VIDIOC_REQBUFS", "VIDIOC_QUERYBUF", "VIDIOC_STREAMON", "VIDIOC_S_FMT"])
    func aRefusedStartThrowsAndHoldsNothing(_ request: String) throws {
        var camera = ScriptedCamera()
        camera.faults = [request: [EIO]]
        let bench = CameraBench(ScriptedV4L2(["/dev/video0": camera]))
        #expect {
            try bench.capture.start(into: bench.consumer)
        } throws: { error in
            guard case CaptureError.custom(let inner) = error else { return false }
            return inner as? CameraError == .driver(path: "/dev/video0", operation: request, code: EIO)
        }
        #expect(bench.system.books.openDevices == 0)
        #expect(bench.system.books.mappings == 0)
        try bench.capture.start(into: bench.consumer)
        #expect(bench.pass(.milliseconds(200)) >= 5)
        bench.capture.stop()
    }

    @Test func refusedBuffersAreOfferedAgain() throws {
        var camera = ScriptedCamera()
        // Two at the start, more while it runs.
        camera.faults = ["VIDIOC_QBUF": [EIO, 0, EIO, 0, 0, 0, 0, 0, EIO, EIO, EIO]]
        let bench = try CameraBench(camera)
        _ = bench.pass(.seconds(1))
        let copies = bench.consumer.poolAllocations
        let held = bench.frames(3)
        #expect(held.count == 3)
        // All six are back in the round: with three frames held there are still two for the driver.
        #expect(bench.consumer.poolAllocations == copies)
        #expect(bench.system.books.opened == 1)
        bench.capture.stop()
    }

    @Test func busyAndForbiddenCamerasAreExplained() throws {
        let system = ScriptedV4L2()
        system.state.withLock {
            $0.permissions["/dev/video0"] = V4L2Access(isPermitted: false, group: "video", holders: [42, 77])
        }
        let bench = CameraBench(system)
        system.change { $0.faults = ["VIDIOC_S_FMT": [EBUSY]] }
        #expect { try bench.capture.start(into: bench.consumer) } throws: { "\($0)".contains("process 42, 77") }
        system.change { $0.openError = EACCES }
        #expect { try bench.capture.start(into: bench.consumer) } throws: { "\($0)".contains("group video") }
        system.unplug()
        #expect { try bench.capture.start(into: bench.consumer) } throws: { "\($0)".contains("no camera found") }
        let named = CameraBench(ScriptedV4L2(), device: "/dev/video7")
        #expect { try named.capture.start(into: named.consumer) } throws: { "\($0)".contains("/dev/video7") }
    }

    @Test func aCameraWithNothingDecodableIsRefusedWithItsReason() throws {
        var camera = ScriptedCamera()
        camera.modes = [(try #require(FourCC("H264")), 64, 48, V4L2Fraction(1, 30))]
        let bench = CameraBench(ScriptedV4L2(["/dev/video0": camera]))
        #expect { try bench.capture.start(into: bench.consumer) } throws: { "\($0)".contains("H264") }
        #expect(bench.system.books.openDevices == 0)
    }

    @Test func withoutANameTheFirstCameraThatCanBeHadIsTaken() throws {
        var infrared = ScriptedCamera()
        infrared.modes = [(try #require(FourCC("GREY")), 64, 48, V4L2Fraction(1, 30))]
        infrared.busInfo = "usb-0"
        let system = ScriptedV4L2(["/dev/video0": infrared, "/dev/video2": ScriptedCamera()])
        let bench = CameraBench(system)
        try bench.capture.start(into: bench.consumer)
        #expect(bench.frames(3).last?.format.pixelFormat == .nv12)
        bench.capture.stop()
        system.unplug("/dev/video2")
        #expect { try bench.capture.start(into: bench.consumer) } throws: { "\($0)".contains("GREY") }
        #expect(system.books.openDevices == 0)
    }

    @Test(arguments: [EIO, ENODEV, EINVAL])
    func aFatalErrorIsSurvivedByOpeningAnew(_ code: Int32) throws {
        let bench = try CameraBench()
        for _ in 0..<20 {
            #expect(bench.pass(.seconds(1)) >= 25)
            bench.system.change { $0.fatal = code }
            bench.system.run(for: .milliseconds(50))
        }
        _ = bench.pass(.seconds(1))
        #expect(bench.log.recoveries.count == 20)
        #expect(bench.log.recoveries.allSatisfy { $0 < .seconds(1) })
        #expect(bench.system.books.openDevices == 1)
        bench.capture.stop()
        bench.consumer.close()
        #expect(bench.system.books.mappings == 0)
    }

    @Test func aStallIsEndedByRestartingThenByOpeningAnew() throws {
        let bench = try CameraBench()
        _ = bench.pass(.seconds(1))
        bench.system.change { $0.isDelivering = false }
        _ = bench.pass(.milliseconds(1100))
        #expect(bench.log.interruptions == [.stalled])
        #expect(bench.system.books.opened == 1)
        #expect(bench.system.books.requests["VIDIOC_STREAMON"] == 2)
        // The stream goes on with the last picture.
        #expect(bench.pass(.milliseconds(1800)) >= 3)
        #expect(bench.system.books.opened >= 2)
        bench.system.change { $0.isDelivering = true }
        #expect(bench.pass(.seconds(2)) >= 25)
        #expect(bench.log.recoveries.count == 1)
        bench.capture.stop()
    }

    @Test func aCameraThatIsUnpluggedIsTakenUpAgainWhereverItsNodeIs() throws {
        let bench = try CameraBench()
        let camera = ScriptedCamera()
        var path = "/dev/video0"
        var other = ScriptedCamera()
        other.busInfo = "usb-3"
        for turn in 0..<20 {
            #expect(bench.pass(.seconds(1)) >= 25)
            let mappings = bench.system.books.mappings
            bench.system.unplug(path)
            bench.system.run(for: .milliseconds(50))
            #expect(bench.log.interruptions.count == turn + 1)
            // Another camera in its place is not taken for it.
            if turn % 3 == 0 { bench.system.plug(other, as: path) }
            let before = bench.system.books.requestCount
            let away = 2 + turn % 5
            let pictures = bench.pass(.seconds(away))
            #expect(pictures >= 2 * away - 1 && pictures <= 2 * away + 1)
            #expect(bench.system.books.requestCount - before <= 100 * away)
            #expect(bench.system.books.openDevices == 0)
            if turn % 3 == 0 { bench.system.unplug(path) }
            path = turn % 2 == 0 ? "/dev/video5" : "/dev/video0"
            bench.system.plug(camera, as: path)
            #expect(bench.pass(.seconds(1)) >= 15)
            #expect(bench.log.recoveries.count == turn + 1)
            #expect(bench.system.books.openDevices == 1)
            #expect(bench.system.books.mappings == mappings, "turn \(turn)")
        }
        #expect(bench.consumer.ledger.dropped(.invalid) == 0)
        #expect(bench.consumer.ledger.isBalanced)
        bench.capture.stop()
    }

    @Test func aSlateIsShownIfThatIsWanted() throws {
        let pool = VideoFramePool()
        let slate = try makeFrame(pool, at: 0, filled: 99)
        let bench = try CameraBench(options: CameraOptions(whileAway: .slate(slate), awayFrameRate: 5))
        let shot = try #require(bench.frames(3).last)
        bench.system.unplug()
        var shown: [VideoFrame] = []
        for _ in 0..<100 {
            bench.system.run(for: .milliseconds(10))
            guard let taken = bench.consumer.takeLatest() else { continue }
            shown.append(taken.frame)
            taken.encoded()
        }
        #expect(shown.count >= 5 && shown.count <= 6)
        #expect(shown.allSatisfy { firstByte($0) == 99 && $0.timestamp > shot.timestamp })
        bench.capture.stop()
    }

    @Test func aChangedSourceIsNegotiatedAnew() throws {
        let bench = try CameraBench()
        _ = bench.pass(.seconds(1))
        bench.system.change {
            $0.modes = [(.nv12, 128, 96, V4L2Fraction(1, 25))]
            $0.events = [V4L2Event(kind: V4L2Event.control), V4L2Event(kind: V4L2Event.sourceChange, changes: 1)]
        }
        #expect(bench.pass(.seconds(1)) >= 20)
        #expect(bench.capture.format.width == 128)
        #expect(bench.log.modes.map(\.width) == [64, 128])
        #expect(bench.log.interruptions == [.sourceChanged])
        bench.capture.stop()
    }

    @Test func camerasAreSwitchedWhileTheStreamGoesOn() async throws {
        var second = ScriptedCamera()
        second.busInfo = "usb-9"
        second.modes = [(.nv12, 128, 96, V4L2Fraction(1, 30))]
        let system = ScriptedV4L2(["/dev/video0": ScriptedCamera(), "/dev/video1": second])
        let bench = CameraBench(system)
        try bench.capture.start(into: bench.consumer)
        let before = bench.frames(5)
        try bench.capture.switchCamera(to: "/dev/video1")
        let after = bench.frames(5)
        #expect(before.allSatisfy { $0.width == 64 })
        #expect(after.count >= 4 && after.allSatisfy { $0.width == 128 })
        #expect(try #require(after.first).timestamp > (try #require(before.last)).timestamp)
        #expect(system.books.openDevices == 1)
        // One that is not there changes nothing.
        #expect(throws: CaptureError.self) { try bench.capture.switchCamera(to: "/dev/video7") }
        #expect(bench.frames(5).count >= 4)
        // The same camera with another wish.
        system.change("/dev/video1") { $0.modes.append((.nv12, 64, 48, V4L2Fraction(1, 30))) }
        try bench.capture.switchCamera(to: "usb-9", wish: CameraWish(width: 64, height: 48))
        #expect(bench.frames(3).last?.width == 64)
        // One that refuses to stream: the former goes on.
        system.change("/dev/video0") { $0.faults = ["VIDIOC_STREAMON": [EIO]] }
        #expect(throws: CaptureError.self) { try bench.capture.switchCamera(to: "/dev/video0") }
        #expect(bench.frames(5).count >= 4)
        #expect(bench.log.interruptions.isEmpty)
        bench.capture.stop()
        #expect(system.books.openDevices == 0)
    }
}
