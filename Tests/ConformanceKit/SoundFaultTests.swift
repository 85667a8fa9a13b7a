import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraTesting
import EmisoraVideo
import Synchronization
import Testing

/// What a capturer of sound can do wrong.
enum SoundFault: String, CaseIterable, Sendable {
    case none
    case neverDelivers
    case startsTwice
    case stopWaitsForItself
    case stopDoesNotWait
    case keepsConsumer
    case otherFormat
    case gaps, fewerSamples, stampedAtZero
    case twoThreads
    case spins

    var check: ConformanceCheck? {
        switch self {
        case .none: nil
        case .neverDelivers: .startAndStop
        case .startsTwice: .doubleStart
        case .stopWaitsForItself: .stopFromConsumer
        case .stopDoesNotWait: .framesAfterStop
        case .keepsConsumer: .resources
        case .otherFormat: .format
        case .gaps, .fewerSamples, .stampedAtZero: .timestamps
        case .twoThreads: .threading
        case .spins: .cost
        }
    }
}

@Suite struct SoundFaultTests {
    @Test(arguments: SoundFault.judged)
    func faultOfACapturerOfSoundIsFoundByItsCheckAlone(_ fault: SoundFault) async throws {
        let options = ConformanceOptions(
            checks: judgedChecks, cycles: 12, watchDuration: .milliseconds(900), patience: .milliseconds(1500))
        let report = try await Gate.shared.pass {
            try await reportOnAMachineWithRoom(finding: Set([fault.check].compactMap { $0 })) {
                try await CaptureConformance.check(audio: { FaultySound(fault) }, options: options)
            }
        }
        #expect(Set(report.findings.map(\.check)) == Set([fault.check].compactMap { $0 }), "\(fault): \(report)")
        if fault.check != .startAndStop { #expect(report.skipped.isEmpty, "\(fault): \(report)") }
    }
}

/// A capturer of sound by hand, with one fault.
private final class FaultySound: AudioCapture {
    let fault: SoundFault
    let format = AudioFormat.mono
    private let state = Mutex(State())

    private struct State: Sendable {
        var run: SoundRun?
        var consumer: AudioCaptureConsumer?
    }

    init(_ fault: SoundFault) {
        self.fault = fault
    }

    deinit {
        state.withLock { $0.run }?.requestStop()
    }

    var isCapturing: Bool { state.withLock { $0.run != nil } }

    func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        let former = try state.withLock { state throws(CaptureError) -> SoundRun? in
            guard state.run == nil || fault == .startsTwice else { throw .alreadyCapturing }
            let run = SoundRun(fault, consumer)
            try run.start()
            defer { state.run = run }
            if fault == .keepsConsumer { state.consumer = consumer }
            return state.run
        }
        former?.requestStop()
    }

    func stop() {
        let run = state.withLock { $0.run.take() }
        guard let run else { return }
        switch fault {
        case .stopDoesNotWait: run.requestStop()
        case .stopWaitsForItself: run.stopAndWait()
        default: run.stop()
        }
    }
}

private final class SoundRun: Sendable {
    private let fault: SoundFault
    private let consumer: AudioCaptureConsumer
    private let threads: [MediaThread]
    private let hasEnded = Monitor(false)
    private let isAsked = Atomic<Bool>(false)

    init(_ fault: SoundFault, _ consumer: AudioCaptureConsumer) {
        self.fault = fault
        self.consumer = consumer
        threads = (0..<(fault == .twoThreads ? 2 : 1)).map { _ in MediaThread() }
    }

    func start() throws(CaptureError) {
        let start = MonotonicClock.now
        for (number, thread) in threads.enumerated() {
            try thread.start { [self] thread in
                main(thread, number, start)
                hasEnded.withLock { $0 = true }
                hasEnded.notifyAll()
            }
        }
    }

    func requestStop() {
        isAsked.store(true, ordering: .releasing)
        for thread in threads { thread.requestStop() }
    }

    func stop() {
        requestStop()
        for thread in threads { thread.stop() }
    }

    func stopAndWait() {
        requestStop()
        _ = hasEnded.wait(until: MonotonicClock.now + .seconds(8)) { $0 ? true : nil }
    }

    private func main(_ thread: MediaThread, _ number: Int, _ start: Instant) {
        let rate: FrameRate = 50
        var index = number
        while true {
            let due = start + rate.time(ofFrame: index)
            if fault == .spins {
                while MonotonicClock.now < due, !isAsked.load(ordering: .acquiring) {}
                if isAsked.load(ordering: .acquiring) { return }
            } else {
                guard thread.wait(until: due) else { return }
            }
            defer { index += threads.count }
            if fault == .neverDelivers { continue }
            let time =
                switch fault {
                // A tenth of the frames is left out and nobody told.
                case .gaps: due + .milliseconds(20 * (index / 10))
                case .stampedAtZero: Instant.zero + rate.time(ofFrame: index)
                default: due
                }
            let format = fault == .otherFormat ? AudioFormat.stereo : .mono
            let count = fault == .fewerSamples ? 700 : 960 * format.channels
            guard let frame = try? AudioFrame([Int16](repeating: 0, count: count), format: format, timestamp: time)
            else { continue }
            consumer.consume(frame)
        }
    }
}
