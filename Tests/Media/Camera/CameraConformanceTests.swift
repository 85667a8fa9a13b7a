import EmisoraCore
import EmisoraTesting
import EmisoraVideo
import Glibc
import Testing

@testable import EmisoraCapture

/// The camera keeps the rules of all capturers, on a scripted driver that is driven in real time.
@Suite struct CameraConformanceTests {
    @Test(arguments: [FourCC.nv12, .yuyv])
    func cameraCaptureConforms(_ format: FourCC) async throws {
        // Time is not judged under sanitizers.
        let options = ConformanceOptions(
            checks: Set(ConformanceCheck.allCases).subtracting(
                getenv("EMISORA_NO_TIMING") == nil ? [] : ConformanceCheck.timed))
        let report = try await CaptureConformance.check(options: options) {
            var camera = ScriptedCamera()
            camera.modes = [(format, 64, 48, V4L2Fraction(1, 30))]
            return try RealTimeCamera(camera)
        }
        #expect(report.findings.isEmpty, "\(report)")
        #expect(report.skipped.isEmpty, "\(report)")
    }
}

/// A camera on a scripted driver whose clock goes as the machine's does.
private final class RealTimeCamera: VideoCapture {
    private let camera: CameraCapture
    private let driver = MediaThread()

    init(_ scripted: ScriptedCamera) throws(CaptureError) {
        let system = ScriptedV4L2(["/dev/video0": scripted])
        system.state.withLock { state in
            state.now = MonotonicClock.now
            state.limit = state.now
        }
        camera = CameraCapture(device: nil, wish: CameraWish(), system: system)
        try driver.start { thread in
            repeat {
                system.state.withLock { state in
                    state.limit = MonotonicClock.now
                    // With no device open nobody else moves the clock.
                    if state.openDevices == 0 { state.now = max(state.now, state.limit) }
                }
                system.state.notifyAll()
            } while thread.wait(until: MonotonicClock.now + .milliseconds(2))
        }
    }

    deinit {
        driver.requestStop()
    }

    var format: VideoFormat { camera.format }
    var contentHint: VideoContentHint { camera.contentHint }
    var isCapturing: Bool { camera.isCapturing }
    func start(into consumer: VideoCaptureConsumer) throws(CaptureError) { try camera.start(into: consumer) }
    func stop() { camera.stop() }
}
