import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import Glibc

/// What a microphone's thread does: reads the device, corrects its clock, hands frames over, and takes the device up
/// again when it was away. Lives on its thread.
struct MicrophoneLoop {
    /// What others see of it.
    struct Observers {
        var isStopped: () -> Bool
        var onEvent: (MicrophoneEvent) -> Void
        var onStatistics: (MicrophoneStatistics) -> Void
    }

    private let system: any PCMSystem
    private let device: String
    private let format: AudioFormat
    private let consumer: AudioCaptureConsumer
    private let observers: Observers
    private var intake: MicrophoneIntake?
    private var corrector: DriftCorrector
    private var recovery: CaptureRecovery
    private var statistics = MicrophoneStatistics()
    /// Why sound is missing before what comes next.
    private var cause = MicrophoneLoss.discontinuity
    /// Whether nothing was read since the device was started anew.
    private var isFresh = false

    /// So often a waiting thread looks whether it is to end.
    private static let longestWait = Duration.milliseconds(20)
    /// How long a device that slept may need.
    private static let resumeTime = Duration.seconds(5)

    /// Opens the device.
    init(
        _ device: String, format: AudioFormat, system: any PCMSystem, consumer: AudioCaptureConsumer,
        observers: Observers
    ) throws(MicrophoneError) {
        self.system = system
        self.device = device
        self.format = format
        self.consumer = consumer
        self.observers = observers
        let intake = MicrophoneIntake(try system.open(device, channels: format.channels), format.channels, system)
        corrector = DriftCorrector(channels: format.channels, inputRate: intake.configuration.sampleRate)
        recovery = CaptureRecovery(interval: nil, now: system.now)
        self.intake = intake
        tellOpened(intake.configuration)
    }

    mutating func run() {
        while !observers.isStopped() { turn() }
    }

    /// Waits for sound, or for the moment to do something about its absence, and does what is due.
    mutating func turn() {
        if intake == nil {
            guard system.wait(until: recovery.deadline) else { return }
        } else {
            do throws(PCMFault) {
                try takeIn()
            } catch {
                handle(error)
            }
        }
        guard !observers.isStopped(), let action = recovery.due(system.now) else { return }
        perform(action)
    }

    // MARK: Sound

    private mutating func takeIn() throws(PCMFault) {
        let system = system
        guard let chunks = try intake?.next(within: Self.longestWait, system) else { return }
        for chunk in chunks {
            isFresh = false
            corrector.append(chunk.samples, at: chunk.time)
            while let frame = corrector.takeFrame() {
                guard !observers.isStopped() else { return }
                deliver(frame)
            }
        }
        if !chunks.isEmpty, let gap = recovery.frameCame(system.now, isMedia: true) {
            observers.onEvent(.interruptionEnded(after: gap))
        }
    }

    private mutating func deliver(_ frame: DriftCorrector.Frame) {
        if frame.lost > .zero {
            let count = (frame.lost.inSeconds / DriftCorrector.frameDuration.inSeconds).rounded()
            consumer.didLoseInDriver(count: max(1, Int(min(count, 1e9))))
            statistics.lost += frame.lost
            observers.onEvent(.soundLost(frame.lost, cause))
        }
        cause = .discontinuity
        statistics.driftPartsPerMillion = corrector.partsPerMillion
        observers.onStatistics(statistics)
        if let sound = try? AudioFrame(frame.samples, format: format, timestamp: frame.timestamp) {
            consumer.consume(sound)
        } else {
            consumer.didDrop(.invalid)
        }
    }

    // MARK: Faults

    private mutating func handle(_ fault: PCMFault) {
        switch fault {
        case .overrun where !isFresh:
            statistics.overruns += 1
            cause = .overrun
            // The card did its part: it is not what stood still.
            _ = recovery.frameCame(system.now, isMedia: false)
            restart()
        case .overrun:
            // It runs over at once, again and again: only opening it anew may help.
            interrupt(.failed(.driver(device: device, operation: "keep up with it", code: EPIPE)))
        case .suspended:
            resume()
        case .unplugged:
            interrupt(.unplugged)
        case .failed(let operation, let code):
            interrupt(.failed(.driver(device: device, operation: operation, code: code)))
        }
    }

    private mutating func restart() {
        corrector.interrupt()
        isFresh = true
        let system = system
        do throws(PCMFault) {
            try intake?.restart(system)
        } catch {
            switch error {
            case .unplugged: interrupt(.unplugged)
            case .failed(let operation, let code):
                interrupt(.failed(.driver(device: device, operation: operation, code: code)))
            case .overrun, .suspended:
                interrupt(.failed(.driver(device: device, operation: "start it", code: EIO)))
            }
        }
    }

    private mutating func resume() {
        begin(.suspended)
        let system = system
        let deadline = system.now + Self.resumeTime
        while !observers.isStopped() {
            do throws(PCMFault) {
                if try intake?.resume(system) ?? true {
                    corrector.interrupt()
                    isFresh = true
                    // The pause is over: no reason to start it anew.
                    _ = recovery.frameCame(system.now, isMedia: false)
                    return
                }
            } catch {
                break
            }
            guard system.now < deadline else { break }
            guard system.wait(until: system.now + .milliseconds(100)) else { return }
        }
        if !observers.isStopped() { restart() }
    }

    private mutating func perform(_ action: CaptureRecovery.Action) {
        switch action {
        case .restart:
            // The recovery has noted the interruption already.
            announce(.stalled)
            restart()
        case .close:
            close()
        case .attempt:
            reopen()
        }
    }

    private mutating func reopen() {
        do throws(MicrophoneError) {
            let stream = try system.open(device, channels: format.channels)
            let intake = MicrophoneIntake(stream, format.channels, system)
            corrector = corrector.following(inputRate: intake.configuration.sampleRate)
            recovery.attemptSucceeded(system.now, interval: nil)
            isFresh = true
            self.intake = intake
            tellOpened(intake.configuration)
        } catch {
            // Who is in use or forbidden is there, and may soon be free.
            var exists = true
            if case .notFound = error { exists = false }
            recovery.attemptFailed(system.now, nodeExists: exists)
        }
    }

    private mutating func interrupt(_ reason: MicrophoneInterruption) {
        begin(reason)
        _ = recovery.failed(system.now)
        close()
    }

    private mutating func close() {
        corrector.interrupt()
        intake = nil
    }

    private mutating func begin(_ reason: MicrophoneInterruption) {
        guard recovery.interruptedSince == nil else { return }
        recovery.interruptionBegan(system.now)
        announce(reason)
    }

    private mutating func announce(_ reason: MicrophoneInterruption) {
        cause = .interruption
        statistics.interruptions += 1
        observers.onStatistics(statistics)
        observers.onEvent(.interruptionBegan(reason))
    }

    private func tellOpened(_ configuration: PCMConfiguration) {
        observers.onEvent(
            .opened(device: device, sampleRate: configuration.sampleRate, channels: configuration.channels))
    }
}
