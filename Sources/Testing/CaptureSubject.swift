import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo

/// What is the same about capturers of pictures and of sound.
protocol CaptureSubject: Sendable {
    associatedtype Consumer: AnyObject & Sendable

    var isCapturing: Bool { get }
    /// From one frame to the next, if it is known before there is one.
    var expectedInterval: Duration? { get }
    func start(into consumer: Consumer) throws(CaptureError)
    func stop()

    /// A consumer that lets frames in and shows each to `tap`.
    ///
    /// - Parameter onFirstFrame: Called once on the capturer's thread, from within its call to the consumer.
    static func makeConsumer(_ tap: FrameTap, onFirstFrame: (@Sendable () -> Void)?) -> Consumer
    static func ledger(of consumer: Consumer) -> CaptureLedger
}

struct VideoSubject: CaptureSubject {
    let capturer: any VideoCapture

    init(_ capturer: any VideoCapture) {
        self.capturer = capturer
    }

    var isCapturing: Bool { capturer.isCapturing }
    var expectedInterval: Duration? { capturer.format.frameRate?.interval }
    func start(into consumer: VideoCaptureConsumer) throws(CaptureError) { try capturer.start(into: consumer) }
    func stop() { capturer.stop() }

    static func makeConsumer(_ tap: FrameTap, onFirstFrame: (@Sendable () -> Void)?) -> VideoCaptureConsumer {
        let consumer = makeConsumer(tap, poolFill: 0)
        if let onFirstFrame {
            // A lender's code runs where its frame is replaced: that is how an application's code comes to be called
            // from within `consume`.
            consumer.consume(Bait.frame(onRelease: onFirstFrame))
        }
        return consumer
    }

    static func makeConsumer(_ tap: FrameTap, poolFill: UInt8) -> VideoCaptureConsumer {
        let consumer = VideoCaptureConsumer(poolFill: poolFill, onConsume: { [weak tap] in tap?.receive($0) })
        consumer.open()
        consumer.setHasSubscribers(true)
        return consumer
    }

    static func ledger(of consumer: VideoCaptureConsumer) -> CaptureLedger { consumer.ledger }
}

struct AudioSubject: CaptureSubject {
    let capturer: any AudioCapture

    init(_ capturer: any AudioCapture) {
        self.capturer = capturer
    }

    var isCapturing: Bool { capturer.isCapturing }
    var expectedInterval: Duration? { nil }
    func start(into consumer: AudioCaptureConsumer) throws(CaptureError) { try capturer.start(into: consumer) }
    func stop() { capturer.stop() }

    static func makeConsumer(_ tap: FrameTap, onFirstFrame: (@Sendable () -> Void)?) -> AudioCaptureConsumer {
        let first = Monitor(onFirstFrame)
        let consumer = AudioCaptureConsumer(onConsume: { [weak tap] frame in
            tap?.receive(frame)
            first.withLock { $0.take() }?()
        })
        consumer.open()
        consumer.setHasSubscribers(true)
        return consumer
    }

    static func ledger(of consumer: AudioCaptureConsumer) -> CaptureLedger { consumer.ledger }
}

/// A picture that tells when it is replaced.
private final class Bait: @unchecked Sendable {
    // Invariant: the memory is written before it is lent, and freed with the last frame that refers to it.

    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 6, alignment: 1)

    private init() {
        memory.initializeMemory(as: UInt8.self, repeating: 128)
    }

    deinit {
        memory.deallocate()
    }

    /// Older than anything a capturer hands over.
    static func frame(onRelease: @escaping @Sendable () -> Void) -> VideoFrame {
        let bait = Bait()
        let buffer = BorrowedBuffer(UnsafeRawBufferPointer(bait.memory)) {
            withExtendedLifetime(bait) { onRelease() }
        }
        do throws(VideoFrameError) {
            return try VideoFrame(
                borrowing: buffer, format: VideoFormat(.i420, width: 2, height: 2),
                timestamp: Instant(nanoseconds: .min))
        } catch {
            preconditionFailure("a picture of 2x2 pixels fits 6 bytes: \(error)")
        }
    }
}

/// Whether an object is still there, without keeping it.
struct WeakReference: Sendable {
    private let box: Monitor<Weak>

    private struct Weak: Sendable {
        weak var object: (any AnyObject & Sendable)?
    }

    init(_ object: any AnyObject & Sendable) {
        box = Monitor(Weak(object: object))
    }

    var isAlive: Bool { box.withLock { $0.object != nil } }
}
