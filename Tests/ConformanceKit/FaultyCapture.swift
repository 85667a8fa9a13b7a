import EmisoraCapture
import EmisoraCore
import EmisoraTesting
import EmisoraVideo
import Glibc
import Synchronization

/// What a capturer can do wrong, each against exactly one rule.
enum CaptureFault: String, CaseIterable, Sendable {
    case none
    case neverDelivers, staysCapturing, startsOnlyOnce
    case startsTwice, endsWhenStartedTwice
    case acknowledgesOneStop
    case startIgnoresStop
    case stopWaitsForItself
    case stopDoesNotWait
    case leaksDescriptors, keepsConsumer
    case threadHoldsCapturer
    case otherSize, overlappingPlanes, invalidDeclaration
    case forgetsChroma, ignoresStride
    case reusesMemory, stallsWithoutBuffers
    case wallClock, microseconds, constantTimestamp, halfSpeed
    case halfRate, doubleRate
    case twoThreads
    case thinsTooMuch, neverRecovers
    case spins, slowRelease

    /// The check that finds it; `nil` for the capturer without fault.
    var check: ConformanceCheck? {
        switch self {
        case .none: nil
        case .neverDelivers, .staysCapturing, .startsOnlyOnce: .startAndStop
        case .startsTwice, .endsWhenStartedTwice: .doubleStart
        case .acknowledgesOneStop: .repeatedStop
        case .startIgnoresStop: .stopDuringStart
        case .stopWaitsForItself: .stopFromConsumer
        case .stopDoesNotWait: .framesAfterStop
        case .leaksDescriptors, .keepsConsumer: .resources
        case .threadHoldsCapturer: .abandonment
        case .otherSize, .overlappingPlanes, .invalidDeclaration: .format
        case .forgetsChroma, .ignoresStride: .pixels
        case .reusesMemory, .stallsWithoutBuffers: .heldFrames
        case .wallClock, .microseconds, .constantTimestamp, .halfSpeed: .timestamps
        case .halfRate, .doubleRate: .frameRate
        case .twoThreads: .threading
        case .thinsTooMuch, .neverRecovers: .wants
        case .spins, .slowRelease: .cost
        }
    }
}

/// A capturer by hand, as a user might write it, with one fault. What hangs in it ends after some seconds.
final class FaultyCapture: VideoCapture {
    static let rate: FrameRate = 50
    private static let longestHang = Duration.seconds(8)

    /// Runs keep the consumer, so they are kept by their threads alone once they are over.
    private struct WeakRun: Sendable {
        weak var run: FaultyRun?
    }

    private struct State: Sendable {
        var run: FaultyRun?
        var isCapturing = false
        var isOpening = false
        var starts = 0
        var all: [WeakRun] = []
        var descriptors: [Int32] = []
        var consumer: VideoCaptureConsumer?
    }

    let fault: CaptureFault
    private let state = Monitor(State())

    init(_ fault: CaptureFault) {
        self.fault = fault
    }

    deinit {
        let (runs, descriptors) = state.withLock { ($0.all, $0.descriptors) }
        for run in runs { run.run?.requestStop() }
        for descriptor in descriptors { close(descriptor) }
    }

    var format: VideoFormat {
        switch fault {
        case .otherSize: VideoFormat(.i420, width: 320, height: 240, frameRate: Self.rate)
        case .invalidDeclaration:
            VideoFormat(.i420, width: 160, height: 120, strides: [160, 8, 80], frameRate: Self.rate)
        default: FaultyRun.format(fault)
        }
    }

    var isCapturing: Bool {
        state.withLock { fault == .staysCapturing ? $0.starts > 0 : $0.isCapturing }
    }

    func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        let run = FaultyRun(fault, consumer, holding: fault == .threadHoldsCapturer ? self : nil)
        let former = try state.withLock { state throws(CaptureError) -> FaultyRun? in
            if state.isCapturing || state.isOpening, fault != .startsTwice {
                if fault == .endsWhenStartedTwice { state.isCapturing = false }
                if fault == .endsWhenStartedTwice { state.run?.requestStop() }
                throw .alreadyCapturing
            }
            if fault == .startsOnlyOnce, state.starts > 0 {
                throw .system(operation: "open the device", code: EBUSY)
            }
            defer { state.run = run }
            state.starts += 1
            state.isOpening = true
            state.all.append(WeakRun(run: run))
            if fault == .leaksDescriptors { state.descriptors.append(open("/dev/null", O_RDONLY)) }
            if fault == .keepsConsumer { state.consumer = consumer }
            return state.run
        }
        former?.requestStop()
        if fault == .startIgnoresStop {
            // A device that takes its time.
            let nobody = Monitor(false)
            _ = nobody.wait(until: MonotonicClock.now + .milliseconds(60)) { _ -> Bool? in nil }
            try run.start()
            state.withLock {
                $0.isCapturing = $0.isOpening
                $0.isOpening = false
            }
            return
        }
        try state.withLock { state throws(CaptureError) in
            guard state.isOpening else { return }
            state.isOpening = false
            try run.start()
            state.isCapturing = true
        }
    }

    func stop() {
        let run = state.withLock { state -> FaultyRun? in
            state.isCapturing = false
            state.isOpening = false
            defer { if fault != .acknowledgesOneStop { state.run = nil } }
            return state.run
        }
        guard let run else { return }
        switch fault {
        case .stopDoesNotWait: run.requestStop()
        case .stopWaitsForItself, .acknowledgesOneStop:
            run.stopAndWaitForWord(limit: Self.longestHang, takesIt: fault == .acknowledgesOneStop)
            state.withLock { if $0.run === run { $0.run = nil } }
        default: run.stop()
        }
    }
}
