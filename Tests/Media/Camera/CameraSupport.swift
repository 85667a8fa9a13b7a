import EmisoraCore
import EmisoraVideo
import Synchronization

@testable import EmisoraCapture

/// What a capturer told, in order.
final class EventLog: Sendable {
    private let events = Mutex<[CameraEvent]>([])

    func record(_ event: CameraEvent) {
        events.withLock { $0.append(event) }
    }

    var all: [CameraEvent] { events.withLock { $0 } }

    var modes: [CameraMode] {
        all.compactMap { if case .modeChosen(let mode, _, _) = $0 { mode } else { nil } }
    }
    var interruptions: [CameraInterruption] {
        all.compactMap { if case .interruptionBegan(let reason) = $0 { reason } else { nil } }
    }
    var recoveries: [Duration] {
        all.compactMap { if case .interruptionEnded(let duration) = $0 { duration } else { nil } }
    }
    var lostByDriver: Int {
        all.reduce(0) { if case .framesLostByDriver(let count) = $1 { $0 + count } else { $0 } }
    }
    var missedRates: [(FrameRate, Double)] {
        all.compactMap { if case .rateMissed(let rate, let measured) = $0 { (rate, measured) } else { nil } }
    }
    func dropped(_ reason: DropReason) -> Int {
        all.reduce(0) { if case .framesDropped(reason, let count) = $1 { $0 + count } else { $0 } }
    }
}

/// A scripted camera that captures.
struct CameraBench {
    let system: ScriptedV4L2
    let consumer = makeOpenConsumer()
    let log = EventLog()
    let capture: CameraCapture

    init(
        _ camera: ScriptedCamera = ScriptedCamera(), device: String? = nil, wish: CameraWish = CameraWish(),
        options: CameraOptions = CameraOptions()
    ) throws {
        self.init(ScriptedV4L2(["/dev/video0": camera]), device: device, wish: wish, options: options)
        try capture.start(into: consumer)
    }

    init(
        _ system: ScriptedV4L2, device: String? = nil, wish: CameraWish = CameraWish(),
        options: CameraOptions = CameraOptions(), recorder: V4L2Recorder? = nil
    ) {
        self.system = system
        let log = log
        capture = CameraCapture(device: device, wish: wish, options: options, system: recorder ?? system) {
            log.record($0)
        }
    }

    /// The frames of `count` frame times, each taken as an encoder would.
    func frames(_ count: Int, interval: Duration = .nanoseconds(33_333_333)) -> [VideoFrame] {
        var frames: [VideoFrame] = []
        for _ in 0..<count {
            system.run(for: interval)
            guard let taken = consumer.takeLatest() else { continue }
            frames.append(taken.frame)
            taken.encoded()
        }
        return frames
    }

    /// Lets time go by with an encoder that takes what there is and keeps nothing.
    func pass(_ duration: Duration, step: Duration = .milliseconds(10)) -> Int {
        var count = 0
        for _ in 0..<Int(duration.nanoseconds / step.nanoseconds) {
            system.run(for: step)
            guard let taken = consumer.takeLatest() else { continue }
            taken.encoded()
            count += 1
        }
        return count
    }
}

func firstByte(_ frame: VideoFrame, plane: Int = 0) -> UInt8 {
    frame.withUnsafePlanes { $0[plane][0] }
}
