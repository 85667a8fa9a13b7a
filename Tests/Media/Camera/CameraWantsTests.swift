import EmisoraCore
import EmisoraVideo
import Testing

@testable import EmisoraCapture

/// What a camera does when less is wanted.
@Suite struct CameraWantsTests {
    @Test func picturesBeyondTheWantedRateAreLeftOutByTheCameraAndCounted() throws {
        let bench = try CameraBench()
        #expect(bench.pass(.seconds(2)) >= 59)
        for (wanted, expected) in [(FrameRate(10), 30), (FrameRate(20), 60), (FrameRate(7), 21)] {
            let before = bench.consumer.ledger
            bench.consumer.setWants(VideoWants(highestFrameRate: wanted))
            #expect(abs(bench.pass(.seconds(3)) - expected) <= 2)
            let left = bench.consumer.ledger.dropped(.adaptation) - before.dropped(.adaptation)
            #expect(abs(left - (90 - expected)) <= 3)
        }
        // All by the camera, none by the consumer that would have had to be handed them.
        #expect(bench.log.dropped(.adaptation) == bench.consumer.ledger.dropped(.adaptation))
        bench.consumer.setWants(VideoWants())
        #expect(bench.pass(.seconds(2)) >= 59)
        #expect(bench.consumer.ledger.isBalanced)
        #expect(bench.consumer.ledger.lostByDriver == 0)
        bench.capture.stop()
    }

    @Test func theDeviceIsNotOpenedAnewForAWish() throws {
        var camera = ScriptedCamera()
        camera.modes = [(.nv12, 64, 48, V4L2Fraction(1, 30)), (.nv12, 32, 24, V4L2Fraction(1, 10))]
        let bench = try CameraBench(camera, wish: CameraWish(width: 64, height: 48))
        bench.consumer.setWants(VideoWants(largestSize: VideoSize(width: 32, height: 24), highestFrameRate: 10))
        #expect(bench.pass(.seconds(2)) >= 19)
        #expect(bench.system.books.opened == 1)
        #expect(bench.system.books.requests["VIDIOC_STREAMON"] == 1)
        #expect(bench.capture.format.width == 64)
        bench.capture.stop()
    }

    @Test func whatIsLeftOutIsNotDecoded() throws {
        var camera = ScriptedCamera()
        camera.modes = [(.mjpeg, 64, 48, V4L2Fraction(1, 30))]
        // Each one that is decoded counts as damaged.
        camera.payload = { _ in [0xFF, 0xD8, 0, 0] }
        let bench = try CameraBench(camera)
        bench.consumer.setWants(VideoWants(highestFrameRate: 10))
        _ = bench.pass(.seconds(3))
        let ledger = bench.consumer.ledger
        #expect(abs(ledger.dropped(.invalid) - 30) <= 2)
        #expect(abs(ledger.dropped(.adaptation) - 60) <= 3)
        bench.capture.stop()
    }
}
