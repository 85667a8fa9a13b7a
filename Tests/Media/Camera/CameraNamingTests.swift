import EmisoraCore
import Glibc
import Testing

@testable import EmisoraCapture

/// Which camera is meant: by a name that fits several nodes, by no name, and after it was away.
@Suite struct CameraNamingTests {
    private static func infrared(_ bus: String) throws -> ScriptedCamera {
        var camera = ScriptedCamera()
        camera.busInfo = bus
        camera.modes = [(try #require(FourCC("GREY")), 64, 48, V4L2Fraction(1, 30))]
        return camera
    }

    private static func color(_ bus: String, width: UInt32 = 64) -> ScriptedCamera {
        var camera = ScriptedCamera()
        camera.busInfo = bus
        camera.modes = [(.nv12, width, 48, V4L2Fraction(1, 30))]
        return camera
    }

    @Test func withoutANameAllMeanTheFirstCameraThatHasPicturesToDecode() throws {
        let system = ScriptedV4L2([
            "/dev/video0": try Self.infrared("usb-0"), "/dev/video2": Self.color("usb-2"),
            "/dev/video4": Self.color("usb-4", width: 128),
        ])
        let bench = CameraBench(system)
        #expect(try bench.capture.controls().found.identity.path == "/dev/video2")
        #expect(try CameraControls(device: nil, system: system).found.identity.path == "/dev/video2")
        #expect(try CameraDiscovery.camera(nil, in: system).identity.path == "/dev/video2")
        try bench.capture.start(into: bench.consumer)
        #expect(bench.frames(3).last?.width == 64)
        try bench.capture.switchCamera(to: "usb-4")
        #expect(bench.frames(3).last?.width == 128)
        try bench.capture.switchCamera(to: nil)
        #expect(bench.frames(3).last?.width == 64)
        #expect(bench.log.interruptions.isEmpty)
        bench.capture.stop()
        #expect(system.books.openDevices == 0)
    }

    @Test func aCameraInUseIsPassedOverBySwitchesAsByStarts() throws {
        var busy = Self.color("usb-0")
        busy.faults = ["VIDIOC_S_FMT": [EBUSY, EBUSY]]
        let system = ScriptedV4L2([
            "/dev/video0": busy, "/dev/video2": Self.color("usb-2", width: 128), "/dev/video4": Self.color("usb-4"),
        ])
        let bench = CameraBench(system)
        try bench.capture.start(into: bench.consumer)
        #expect(bench.frames(3).last?.width == 128)
        try bench.capture.switchCamera(to: "usb-4")
        try bench.capture.switchCamera(to: nil)
        #expect(bench.frames(3).last?.width == 128)
        // Nothing can be had: why the first could not.
        for path in ["/dev/video0", "/dev/video2", "/dev/video4"] {
            system.change(path) { $0.faults = ["VIDIOC_S_FMT": [EBUSY]] }
        }
        #expect {
            try bench.capture.switchCamera(to: nil)
        } throws: { error in
            guard case CaptureError.custom(let inner) = error else { return false }
            return inner as? CameraError == .busy(path: "/dev/video0", holders: [])
        }
        // Where it was tried anew, too, it is taken up again.
        #expect(bench.pass(.seconds(1)) >= 10)
        bench.capture.stop()
        #expect(system.books.openDevices == 0)
    }

    @Test func aNameThatFitsSeveralNodesMeansTheFirstThatCanBeHad() throws {
        let system = ScriptedV4L2(["/dev/video0": try Self.infrared("usb-7"), "/dev/video1": Self.color("usb-7")])
        let bench = CameraBench(system, device: "usb-7")
        try bench.capture.start(into: bench.consumer)
        #expect(bench.frames(3).count >= 2)
        bench.capture.stop()
        #expect(system.books.openDevices == 0)
    }

    @Test func aCameraThatHasNothingToDecodeIsStillShown() throws {
        let system = ScriptedV4L2([
            "/dev/video0": try Self.infrared("usb-0"), "/dev/video1": try Self.infrared("usb-1"),
        ])
        #expect(try CameraDiscovery.camera(nil, in: system).identity.path == "/dev/video0")
        #expect(try CameraDiscovery.camera("usb-1", in: system).identity.path == "/dev/video1")
        #expect(try CameraControls(device: "usb-1", system: system).found.identity.path == "/dev/video1")
        #expect(throws: CameraError.self) { try CameraControls(device: nil, system: system) }
        #expect(system.books.openDevices == 0)
    }

    @Test func aCameraThatComesBackWithSeveralNodesIsTheOneThatHasPictures() throws {
        let system = ScriptedV4L2(["/dev/video0": Self.color("usb-3")])
        let bench = CameraBench(system)
        try bench.capture.start(into: bench.consumer)
        _ = bench.pass(.seconds(1))
        system.unplug()
        _ = bench.pass(.seconds(1))
        system.plug(try Self.infrared("usb-3"), as: "/dev/video4")
        system.plug(Self.color("usb-3"), as: "/dev/video5")
        #expect(bench.pass(.seconds(1)) >= 15)
        #expect(bench.log.recoveries.count == 1)
        #expect(try bench.capture.controls().found.identity.path == "/dev/video5")
        bench.capture.stop()
        #expect(system.books.openDevices == 0)
    }

    @Test func aCameraThatComesBackAsAnotherThanItWasIsNegotiatedAnew() throws {
        let system = ScriptedV4L2(["/dev/video0": Self.color("usb-3")])
        let bench = CameraBench(system)
        try bench.capture.start(into: bench.consumer)
        _ = bench.pass(.seconds(1))
        system.unplug()
        _ = bench.pass(.seconds(1))
        // Its first format is one that it now answers every wish with, and nobody can decode.
        var other = Self.color("usb-3")
        other.modes = [
            (try #require(FourCC("GREY")), 64, 48, V4L2Fraction(1, 30)), (.yuyv, 64, 48, V4L2Fraction(1, 30)),
        ]
        system.plug(other)
        #expect(bench.pass(.seconds(2)) >= 15)
        #expect(bench.log.modes.map(\.fourcc) == [.nv12, .yuyv])
        bench.capture.stop()
    }

    @Test func theControlsAreThoseOfTheCameraThatWasSwitchedToWhileNothingRan() throws {
        let system = ScriptedV4L2(["/dev/video0": Self.color("usb-0"), "/dev/video1": Self.color("usb-1")])
        let bench = CameraBench(system)
        try bench.capture.start(into: bench.consumer)
        system.run(for: .milliseconds(50))
        bench.capture.stop()
        #expect(try bench.capture.controls().found.identity.path == "/dev/video0")
        try bench.capture.switchCamera(to: "usb-1")
        #expect(try bench.capture.controls().found.identity.path == "/dev/video1")
    }

    @Test func aSwitchThatFailsLeavesTheLastPicture() throws {
        let bench = try CameraBench()
        let last = try #require(bench.frames(9).last.map { firstByte($0) })
        bench.system.change { $0.faults = ["VIDIOC_STREAMON": [EIO]] }
        #expect(throws: CaptureError.self) {
            try bench.capture.switchCamera(to: "/dev/video0", wish: CameraWish(width: 64, height: 48))
        }
        #expect(bench.frames(1, interval: .milliseconds(1)).first.map { firstByte($0) } == last)
        #expect(bench.pass(.seconds(1)) >= 25)
        bench.capture.stop()
    }
}
