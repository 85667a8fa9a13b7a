import EmisoraAudio
import EmisoraCapture
import Synchronization

/// One run of a microphone, from its start to its stop. All talk with ALSA is on the run's own thread.
final class MicrophoneRun: Sendable {
    private let thread = MediaThread()
    private let outcome = Monitor<Result<Void, MicrophoneError>?>(nil)
    private let latest = Mutex(MicrophoneStatistics())

    var isRunning: Bool { thread.isRunning }
    var statistics: MicrophoneStatistics { latest.withLock { $0 } }

    /// Returns when the device is open, or cannot be opened.
    func start(
        _ device: String, _ format: AudioFormat, into consumer: AudioCaptureConsumer,
        onEvent: @escaping @Sendable (MicrophoneEvent) -> Void
    ) throws(CaptureError) {
        try thread.start { [self] _ in main(device, format, consumer, onEvent) }
        let result = outcome.wait(until: .distantFuture) { $0 }
        guard case .failure(let error) = result else { return }
        thread.stop()
        throw .custom(error)
    }

    func stop() {
        thread.stop()
    }

    func requestStop() {
        thread.requestStop()
    }

    private func main(
        _ device: String, _ format: AudioFormat, _ consumer: AudioCaptureConsumer,
        _ onEvent: @escaping @Sendable (MicrophoneEvent) -> Void
    ) {
        let observers = MicrophoneLoop.Observers(
            isStopped: { self.thread.isStopRequested }, onEvent: onEvent,
            onStatistics: { statistics in self.latest.withLock { $0 = statistics } })
        do throws(MicrophoneError) {
            var loop = try MicrophoneLoop(
                device, format: format, system: ALSASystem(thread: thread), consumer: consumer, observers: observers)
            settle(thread.isStopRequested ? .failure(.stopped) : .success(()))
            loop.run()
        } catch {
            settle(.failure(error))
        }
    }

    private func settle(_ result: Result<Void, MicrophoneError>) {
        outcome.withLock { $0 = result }
        outcome.notifyAll()
    }
}
