import EmisoraCore
import EmisoraVideo
import Glibc
import Synchronization
import Testing

@testable import EmisoraCapture

/// A camera that behaves.
@Suite struct CameraCaptureTests {
    @Test func picturesAreHandedOnWithoutACopy() throws {
        let bench = try CameraBench()
        let frames = bench.frames(60)
        #expect(frames.count >= 59)
        for (index, frame) in frames.enumerated() {
            #expect(frame.format.pixelFormat == .nv12)
            if index > 0 { #expect(frame.timestamp - frames[index - 1].timestamp > .zero) }
        }
        bench.capture.stop()
        #expect(bench.system.books.openDevices == 0)
    }

    @Test func aSteadyStreamCopiesNothingAndAllocatesNoPictures() throws {
        let bench = try CameraBench()
        _ = bench.pass(.seconds(2))
        let before = bench.consumer.poolAllocations
        #expect(bench.pass(.seconds(10)) >= 299)
        #expect(bench.consumer.poolAllocations == before)
        // Nothing of the pool was ever used: every picture was borrowed.
        #expect(before == 0)
        bench.capture.stop()
    }

    @Test func whenFramesAreHeldPicturesAreCopiedOnceAndTheDriverKeepsTwoBuffers() throws {
        let bench = try CameraBench(options: CameraOptions(bufferCount: 4))
        var held = bench.frames(12)
        #expect(held.count >= 11)
        #expect(bench.consumer.ledger.dropped(.noBuffer) == 0)
        #expect(bench.log.lostByDriver == 0)
        // Held frames keep their pictures although the driver goes on.
        #expect(held.map { firstByte($0) } == (0..<held.count).map { UInt8($0) })
        held.removeAll()
        _ = bench.pass(.seconds(1))
        let settled = bench.consumer.poolAllocations
        _ = bench.pass(.seconds(5))
        #expect(bench.consumer.poolAllocations == settled)
        bench.capture.stop()
    }

    @Test func framesOutliveTheCapturerAndItsMappingsGoWithThem() throws {
        let bench = try CameraBench()
        var frames = bench.frames(3)
        bench.capture.stop()
        #expect(bench.system.books.openDevices == 0)
        #expect(bench.system.books.mappings > 0)
        #expect(firstByte(try #require(frames.first)) == 0)
        frames.removeAll()
        bench.consumer.close()
        #expect(bench.system.books.mappings == 0)
    }

    @Test(arguments: [
        FourCC.nv12, .yu12, .yuyv, .uyvy, .nv12Multiplanar,
    ])
    func rowsMayBePadded(_ format: FourCC) throws {
        var camera = ScriptedCamera()
        camera.modes = [(format, 64, 48, V4L2Fraction(1, 30))]
        camera.padding = 32
        camera.type = format == .nv12Multiplanar ? .videoCaptureMultiplanar : .videoCapture
        let bench = try CameraBench(camera)
        let frame = try #require(bench.frames(3).last)
        let isPacked = format == .yuyv || format == .uyvy
        #expect(frame.format.stride(ofPlane: 0) == (isPacked ? 160 : 96))
        if format == .yu12 { #expect(frame.format.stride(ofPlane: 1) == 48) }
        for plane in 0..<frame.planeCount { #expect(firstByte(frame, plane: plane) == 2) }
        bench.capture.stop()
    }

    @Test func formatIsWhatTheDriverReallySet() throws {
        var camera = ScriptedCamera()
        camera.realInterval = V4L2Fraction(1, 15)
        camera.colorspace = 3
        camera.quantization = 1
        let bench = try CameraBench(camera, wish: CameraWish(width: 64, height: 48, frameRate: 30))
        #expect(bench.capture.format.frameRate == 15)
        #expect(bench.capture.format.colorMatrix == .bt709)
        #expect(bench.capture.format.colorRange == .full)
        bench.system.run(for: .milliseconds(1))
        #expect(bench.log.modes.map(\.interval) == [FrameInterval(1, 15)])
        bench.capture.stop()
    }

    @Test func stopReturnsAtOnceThoughNoFrameComes() throws {
        var camera = ScriptedCamera()
        camera.isDelivering = false
        let bench = try CameraBench(camera)
        // The clock stands still: only the wake-up can end the wait.
        bench.capture.stop()
        #expect(!bench.capture.isCapturing)
        #expect(bench.system.books.openDevices == 0)
        #expect(bench.system.books.mappings == 0)
    }

    @Test func startsAndStopsFiftyTimesAndLeaksNothing() throws {
        let bench = CameraBench(ScriptedV4L2())
        for _ in 0..<50 {
            try bench.capture.start(into: bench.consumer)
            #expect(throws: CaptureError.self) { try bench.capture.start(into: bench.consumer) }
            #expect(bench.pass(.milliseconds(100)) > 0)
            bench.capture.stop()
            #expect(!bench.capture.isCapturing)
        }
        bench.consumer.close()
        #expect(bench.system.books.openDevices == 0)
        #expect(bench.system.books.mappings == 0)
        #expect(bench.consumer.ledger.isBalanced)
    }

    @Test func aCapturerCanBeStoppedFromItsOwnEvents() throws {
        let system = ScriptedV4L2()
        let box = Mutex<CameraCapture?>(nil)
        let consumer = makeOpenConsumer()
        let capture = CameraCapture(device: nil, wish: CameraWish(), system: system) { event in
            if case .modeChosen = event { box.withLock { $0 }?.stop() }
        }
        box.withLock { $0 = capture }
        // The mode may be told before `start` has returned, which then says so.
        do throws(CaptureError) {
            try capture.start(into: consumer)
        } catch {
            #expect("\(error)".hasPrefix("stopped"))
        }
        capture.stop()
        #expect(!capture.isCapturing)
        #expect(system.books.openDevices == 0)
        box.withLock { $0 = nil }
    }

    @Test func lateFramesAreDiscardedOrKeptAsTheOptionSays() throws {
        for policy in [CameraOptions.LateFramePolicy.discard, .keep] {
            let bench = try CameraBench(options: CameraOptions(lateFramePolicy: policy))
            bench.system.run(for: .milliseconds(1))
            // Four frames come while the thread sleeps: it finds them all at once.
            bench.system.state.withLock { $0.now = $0.now + .nanoseconds(4 * 33_333_334) }
            bench.system.run(for: .milliseconds(200))
            let late = bench.consumer.ledger.dropped(.captureLate)
            #expect(policy == .discard ? late >= 2 : late == 0)
            #expect(bench.log.dropped(.captureLate) == late)
            #expect(bench.consumer.ledger.isBalanced)
            bench.capture.stop()
        }
    }

    @Test func aRateThatIsMissedIsToldOnceWithBothFigures() throws {
        var camera = ScriptedCamera()
        camera.onFrame = { number, _ in number % 4 != 0 }
        let bench = try CameraBench(camera)
        _ = bench.pass(.seconds(7))
        let missed = bench.log.missedRates
        #expect(missed.count == 1)
        #expect(missed.first?.0 == 30)
        #expect(abs((missed.first?.1 ?? 0) - 22.5) < 1)
        bench.capture.stop()
    }

    @Test func cameraIsFoundByPathBusAndName() throws {
        var second = ScriptedCamera()
        second.busInfo = "usb-9"
        second.card = "Second"
        for name in ["/dev/video1", "usb-9", "Second"] {
            let system = ScriptedV4L2(["/dev/video0": ScriptedCamera(), "/dev/video1": second])
            let bench = CameraBench(system, device: name)
            try bench.capture.start(into: bench.consumer)
            system.run(for: .milliseconds(40))
            #expect(
                bench.log.all.contains {
                    if case .modeChosen(_, let camera, _) = $0 { camera.busInfo == "usb-9" } else { false }
                })
            bench.capture.stop()
            #expect(system.books.openDevices == 0)
        }
    }
}
