import CEmisoraLinux
import EmisoraCore
import EmisoraVideo
import Synchronization

/// One run of a camera, from its start to its stop: the thread and what other threads may ask of it.
final class CameraRun: Sendable {
    let opener: CameraOpener
    private let wish: Mutex<CameraWish>
    private let poller: any V4L2Poller
    /// On its way to the thread, so that it goes with the loop: a run that is over is kept by its capturer.
    private let consumer: Mutex<VideoCaptureConsumer?>
    private let onEvent: @Sendable (CameraEvent) -> Void
    private let onFormat: @Sendable (VideoFormat) -> Void
    private let thread = MediaThread()
    private let threadID = Atomic<Int32>(0)
    /// The camera on its way to the thread. Not captured by the thread's body, which lives a little longer than the run:
    /// what the driver lent must be free when `stop` returns.
    private let opened = Mutex<(CameraStream, CameraOpener.Plan)?>(nil)
    private let switches = Monitor(Switches())
    /// What `stop` and a `start` that is under way know of each other.
    private let startup = Monitor(Startup())
    private let cancellation: Cancellation

    private struct Startup: Sendable {
        var isOver = false
    }

    /// Asked by what opens cameras, which must not hold the run.
    private final class Cancellation: Sendable {
        let isWanted = Atomic(false)
    }

    /// At most one request for another camera, and its outcome.
    private struct Switches: Sendable {
        enum Phase: Sendable {
            case idle
            case asked(String?, CameraWish)
            case answered(Result<Void, CameraError>)
        }

        var phase = Phase.idle
        /// The thread has ended and answers nothing more.
        var isOver = false
    }

    init(
        system: any V4L2System, options: CameraOptions, wish: CameraWish, consumer: VideoCaptureConsumer,
        onEvent: @escaping @Sendable (CameraEvent) -> Void, onFormat: @escaping @Sendable (VideoFormat) -> Void
    ) throws(CaptureError) {
        do throws(V4L2Error) {
            let poller = try system.makePoller()
            let cancellation = Cancellation()
            self.poller = poller
            self.cancellation = cancellation
            opener = CameraOpener(
                system: system, options: options,
                isCancelled: { cancellation.isWanted.load(ordering: .sequentiallyConsistent) },
                wake: { poller.wake() })
        } catch {
            throw .system(operation: error.operation, code: error.code)
        }
        self.wish = Mutex(wish)
        self.consumer = Mutex(consumer)
        self.onEvent = onEvent
        self.onFormat = onFormat
    }

    var isRunning: Bool { thread.isRunning }

    private var isStopped: Bool { cancellation.isWanted.load(ordering: .sequentiallyConsistent) }

    /// Opens the camera and starts the thread. A ``stop()`` meanwhile ends it at its next step.
    func start(_ name: String?) throws(CaptureError) {
        defer {
            startup.withLock { $0.isOver = true }
            startup.notifyAll()
        }
        let (stream, plan): (CameraStream, CameraOpener.Plan)
        do throws(CameraError) {
            (stream, plan) = try opener.open(name, wish: wish.withLock { $0 })
        } catch {
            // Whatever failed first: who stopped it is not told of a camera in trouble.
            throw .custom(isStopped ? CameraError.stopped : error)
        }
        onFormat(stream.picture.format)
        do throws(CaptureError) {
            opened.withLock { $0 = (stream, plan) }
            // The stop that comes after this look finds the thread.
            guard !isStopped else { throw .custom(CameraError.stopped) }
            try thread.start { [self] _ in main() }
        } catch {
            opened.withLock { $0 = nil }
            stream.close()
            throw error
        }
        guard isStopped else { return }
        thread.stop()
        throw .custom(CameraError.stopped)
    }

    /// Ends the run; waits for that, unless called on its own thread. A driver that is in the midst of a request is
    /// waited for: what it opens must be let go.
    func stop() {
        requestStop()
        guard emisora_thread_id() != threadID.load(ordering: .acquiring) else { return }
        _ = startup.wait(until: .distantFuture) { $0.isOver ? true : nil }
        thread.stop()
    }

    func requestStop() {
        cancellation.isWanted.store(true, ordering: .sequentiallyConsistent)
        thread.requestStop()
        poller.wake()
    }

    /// Goes over to another camera; waits until that is done or has failed.
    func switchCamera(to name: String?, wish: CameraWish) throws(CaptureError) {
        guard emisora_thread_id() != threadID.load(ordering: .acquiring) else {
            throw .invalidOption("switchCamera was called from onEvent: call it from another thread")
        }
        let isFree = switches.withLock { switches in
            guard case .idle = switches.phase, !switches.isOver else { return false }
            switches.phase = .asked(name, wish)
            return true
        }
        guard isFree else {
            throw .invalidOption("switchCamera while another switch or a stop is going on: wait for it")
        }
        poller.wake()
        let outcome = switches.wait(until: .distantFuture) { switches -> Result<Void, CameraError>?? in
            switch switches.phase {
            case .idle, .asked: return switches.isOver ? .some(nil) : nil
            case .answered(let outcome):
                switches.phase = .idle
                return outcome
            }
        }
        switch outcome {
        case .some(.some(.success)): return
        case .some(.some(.failure(let error))): throw .custom(error)
        default: throw .invalidOption("switchCamera: capturing was stopped meanwhile")
        }
    }

    // MARK: The thread

    private func main() {
        threadID.store(emisora_thread_id(), ordering: .releasing)
        defer {
            switches.withLock { $0.isOver = true }
            switches.notifyAll()
        }
        guard var loop = makeLoop() else { return }
        if !isStopped { loop.begin() }
        while !isStopped {
            if case .asked(let name, let next) = switches.withLock({ $0.phase }) {
                let outcome = loop.switchCamera(to: name, wish: next, former: wish.withLock { $0 })
                if case .success = outcome { wish.withLock { $0 = next } }
                switches.withLock { $0.phase = .answered(outcome) }
                switches.notifyAll()
            }
            loop.turn(wish: wish.withLock { $0 }) { isStopped }
        }
        loop.end()
    }

    /// The loop alone has the camera: it must be able to let go of it.
    private func makeLoop() -> CameraLoop? {
        guard let (stream, plan) = opened.withLock({ $0.take() }), let consumer = consumer.withLock({ $0.take() })
        else { return nil }
        return CameraLoop(
            stream, plan, opener: opener, poller: poller, consumer: consumer, onEvent: onEvent, onFormat: onFormat)
    }
}
