import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraProcessing
import EmisoraVideo
import Synchronization

/// The encoder thread of a publisher: newest frame out of the mailbox, converted only if it must be, encoded once for
/// all subscribers, into the queue to the network thread.
final class VideoPipeline: Sendable {
    /// About half a second; a network thread that is further behind has lost the beat.
    private static let queueCapacity = 16

    /// What the application may change while the encoder runs.
    struct Settings {
        var targetBitrate: DataRate
        var maximumFramesPerSecond: Double
        var contentHint: VideoContentHint
    }

    struct Counters {
        var framesEncoded: UInt64 = 0
        var keyFramesEncoded: UInt64 = 0
        var bytesEncoded: UInt64 = 0
        var totalEncodeTime: Duration = .zero
        var frameWidth = 0
        var frameHeight = 0
        var firstFrameEncodedAt: Instant?
        var lastError: String?
    }

    let consumer: VideoCaptureConsumer
    let queue: EncodedQueue<EncodedVideoFrame>
    private let thread: MediaThread
    private let settings: Mutex<Settings>
    private let counters = Mutex(Counters())
    private let isKeyFrameWanted = Mutex(false)
    private let didEncode: @Sendable () -> Void

    /// - Parameters:
    ///   - onDrop: told of drops that the capturer reports.
    ///   - didEncode: called on the encoder thread when the queue holds something new.
    init(
        settings: Settings, onDrop: @escaping @Sendable (DropReason, Int) -> Void,
        didEncode: @escaping @Sendable () -> Void
    ) {
        let thread = MediaThread()
        self.thread = thread
        self.settings = Mutex(settings)
        self.didEncode = didEncode
        queue = EncodedQueue(capacity: Self.queueCapacity)
        consumer = VideoCaptureConsumer(wakeUp: { thread.wake() }, onDrop: onDrop)
    }

    func start() -> Bool {
        thread.start { [self] in run($0) }
    }

    func stop() {
        consumer.setMode(.stopped)
        thread.stop()
    }

    func update(_ change: (inout Settings) -> Void) {
        settings.withLock { change(&$0) }
    }

    /// The next picture is encoded as a key frame.
    func requestKeyFrame() {
        isKeyFrameWanted.withLock { $0 = true }
    }

    var statistics: Counters { counters.withLock { $0 } }

    // MARK: On the encoder thread

    private func run(_ thread: MediaThread) {
        let converter = VideoConverter()
        var encoder: VP8Encoder?
        while thread.waitForWork() {
            while let frame = consumer.takeLatest() {
                do {
                    let picture = try converter.encodable(frame)
                    let settings = settings.withLock { $0 }
                    if encoder == nil || encoder?.configuration.contentHint != settings.contentHint {
                        encoder = try makeEncoder(for: picture, settings)
                    }
                    guard let encoder else { break }
                    try encode(picture, with: encoder, settings)
                } catch {
                    counters.withLock { $0.lastError = "\(error)" }
                    // An encoder that failed is made anew; a frame that cannot be converted is the capturer's fault.
                    if error is CodecError { encoder = nil }
                    consumer.didNotEncode(error is CodecError ? .encoderError : .invalid)
                }
            }
        }
    }

    private func makeEncoder(for picture: VideoFrame, _ settings: Settings) throws(CodecError) -> VP8Encoder {
        try VP8Encoder(
            VP8Encoder.Configuration(
                width: picture.width, height: picture.height, targetBitrate: settings.targetBitrate,
                maximumFramesPerSecond: settings.maximumFramesPerSecond, contentHint: settings.contentHint))
    }

    private func encode(_ picture: VideoFrame, with encoder: VP8Encoder, _ settings: Settings) throws(CodecError) {
        try encoder.setTargetBitrate(settings.targetBitrate)
        encoder.setMaximumFramesPerSecond(settings.maximumFramesPerSecond)
        let forceKeyFrame = isKeyFrameWanted.withLock { isWanted in
            defer { isWanted = false }
            return isWanted
        }
        let start = MonotonicTime.now()
        guard let encoded = try encoder.encode(picture, forceKeyFrame: forceKeyFrame) else {
            if forceKeyFrame { requestKeyFrame() }
            consumer.didNotEncode(.encoderRateControl)
            return
        }
        let elapsed = MonotonicTime.now() - start
        consumer.didEncode()
        counters.withLock { counters in
            counters.framesEncoded += 1
            counters.keyFramesEncoded += encoded.isKeyFrame ? 1 : 0
            counters.bytesEncoded += UInt64(encoded.payload.count)
            counters.totalEncodeTime += elapsed
            counters.firstFrameEncodedAt = counters.firstFrameEncodedAt ?? start + elapsed
            counters.frameWidth = encoded.width
            counters.frameHeight = encoded.height
        }
        if case .overflowed = queue.push(encoded) { requestKeyFrame() }
        didEncode()
    }
}
