import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraProcessing
import EmisoraVideo
import Synchronization

/// How pictures come from their source.
struct VideoShape: Equatable, Sendable {
    var size: VideoSize
    /// How they must be turned.
    var rotation: VideoRotation
}

/// A value behind a lock, for closures that are made before their owner is.
private final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }
}

/// The encoder thread of a publisher: newest frame out of the mailbox, converted only if it must be, encoded once for
/// all subscribers, into the queue to the network thread.
final class VideoPipeline: Sendable {
    /// About half a second; a network thread that is further behind has lost the beat.
    private static let queueCapacity = 16

    /// What the application may change while the encoder runs.
    struct Settings {
        /// What the application wants.
        var targetBitrate: DataRate
        var maximumFramesPerSecond: Double
        var contentHint: VideoContentHint
        /// How receivers have to turn pictures, beside what these say themselves.
        var rotation = VideoRotation.none
        /// Of the pictures that the capturer would make.
        var sourceSize: VideoSize?
        /// What the paths to the subscribers carry; `nil`: nothing is known.
        var networkBitrate: DataRate?
        /// The most that all of them can decode.
        var limits = VideoLimits()
        /// They turn pictures themselves, all of them.
        var signalsOrientation = false
        /// Somebody takes the encoding in full size; of a simulcast it may be only smaller ones.
        var isTaken = true

        /// What the encoder aims at.
        var encoderBitrate: DataRate { min(targetBitrate, networkBitrate ?? targetBitrate) }

        var framesPerSecond: Double { min(maximumFramesPerSecond, limits.frameRate.map(Double.init) ?? .infinity) }

        /// Whether receivers can decode less than the source makes.
        var isLimited: Bool {
            framesPerSecond < maximumFramesPerSecond || sourceSize.map { !limits.allows($0) } ?? false
        }

        /// What a capturer need not make in the first place. The size goes by the source's own, not by the last
        /// picture's, which is smaller already and of slightly another shape: it would shrink step by step.
        var wants: VideoWants {
            var wants = VideoWants(highestFrameRate: limits.frameRate.flatMap { FrameRate($0) })
            if let sourceSize, !limits.allows(sourceSize) { wants.largestSize = limits.size(for: sourceSize) }
            return wants
        }
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
    /// The smaller encodings for peers with simulcast; `nil`: there are none.
    let layers: SimulcastLayers?
    private let thread = MediaThread()
    private let settings: Mutex<Settings>
    private let counters = Mutex(Counters())
    private let isKeyFrameWanted = Mutex(false)
    private let isHeld = Mutex(false)
    private let lastShape: Shared<VideoShape?>
    private let didEncode: @Sendable () -> Void

    /// - Parameters:
    ///   - encodings: for peers with simulcast; empty: there is one for all.
    ///   - onReport: told what the capturer reports.
    ///   - onShape: called on the capturer's thread when pictures come in another size, or turned otherwise.
    ///   - didEncode: called on the encoder thread when the queue holds something new.
    init(
        settings: Settings, encodings: [VideoEncoding] = [], onReport: @escaping @Sendable (CaptureReport) -> Void,
        onShape: @escaping @Sendable () -> Void = {},
        didEncode: @escaping @Sendable () -> Void
    ) {
        self.settings = Mutex(settings)
        self.didEncode = didEncode
        queue = EncodedQueue(capacity: Self.queueCapacity)
        layers =
            encodings.count > 1
            ? SimulcastLayers(encodings, main: VideoEncoding.main(of: encodings), capacity: Self.queueCapacity) : nil
        let lastShape = Shared(VideoShape?.none)
        self.lastShape = lastShape
        // At the capturer, since pictures that nobody watches go no further.
        consumer = VideoCaptureConsumer(
            onReport: onReport,
            onConsume: { frame in
                let shape = VideoShape(size: frame.size, rotation: frame.rotation)
                let changes = lastShape.value.withLock { last in
                    defer { last = shape }
                    return last != shape
                }
                if changes { onShape() }
            })
    }

    /// Of the pictures that come; `nil`: none has come yet.
    var shape: VideoShape? { lastShape.value.withLock { $0 } }

    func start() -> Bool {
        (try? thread.start { [self] in run($0) }) == true
    }

    /// Lets no frame in any more and waits for the thread: no frame is left without a fate.
    func stop() {
        consumer.close()
        thread.requestStop()
        consumer.wake()
        thread.stop()
    }

    func update(_ change: (inout Settings) -> Void) {
        settings.withLock { settings in
            let wants = settings.wants
            change(&settings)
            if settings.wants != wants { consumer.setWants(settings.wants) }
        }
    }

    /// The next picture is encoded as a key frame.
    func requestKeyFrame() {
        isKeyFrameWanted.withLock { $0 = true }
    }

    /// As ``requestKeyFrame()``, in all sizes.
    func requestKeyFrames() {
        requestKeyFrame()
        layers?.requestKeyFrames()
    }

    /// While held no picture is encoded: those that are already have to leave first.
    func setHeld(_ held: Bool) {
        isHeld.withLock { $0 = held }
    }

    var currentSettings: Settings { settings.withLock { $0 } }

    var statistics: Counters { counters.withLock { $0 } }

    // MARK: On the encoder thread

    /// What the encoder thread keeps from one picture to the next.
    private struct Stage {
        let converter = VideoConverter()
        let layerEncoders = SimulcastLayers.Encoders()
        var encoder: VP8Encoder?
        /// How far the last picture was turned before it was encoded.
        var turned = VideoRotation.none
    }

    private func run(_ thread: MediaThread) {
        var stage = Stage()
        while true {
            // Counted before the look at the thread, so that a stop between the two ends the wait.
            let wakeUps = consumer.wakeUps
            if thread.isStopRequested { return }
            guard let taken = consumer.waitForLatest(until: .distantFuture, since: wakeUps) else { continue }
            if isHeld.withLock({ $0 }) {
                taken.dropped(.adaptation)
                continue
            }
            switch encode(taken.frame, &stage) {
            case .encoded: taken.encoded()
            case .dropped(let reason): taken.dropped(reason)
            }
        }
    }

    private func encode(_ frame: VideoFrame, _ stage: inout Stage) -> FrameFate {
        let settings = settings.withLock { $0 }
        var picture = frame
        picture.rotation = frame.rotation + settings.rotation
        // Other pixels than the last one's, turned: what is in them cannot be told from those.
        let turned = settings.signalsOrientation ? .none : picture.rotation
        if turned != stage.turned {
            requestKeyFrames()
        }
        stage.turned = turned
        do throws(ConversionError) {
            picture = try stage.converter.encodable(
                picture, scaledTo: settings.limits.size(for: frame.size), keepsRotation: settings.signalsOrientation)
        } catch {
            // A frame that cannot be converted is the capturer's fault; the encoder stays.
            counters.withLock { $0.lastError = error.description }
            if case .picturesExhausted = error { return .dropped(.noBuffer) }
            return .dropped(.invalid)
        }
        let fate: FrameFate = settings.isTaken ? encodeForAll(picture, &stage, settings) : .dropped(.adaptation)
        guard let layers else { return fate }
        let (hasEncoded, failure) = layers.encode(picture, settings, with: stage.layerEncoders)
        if let failure { counters.withLock { $0.lastError = failure } }
        guard hasEncoded else { return fate }
        didEncode()
        // In whichever sizes: the picture was encoded.
        return .encoded
    }

    private func encodeForAll(_ picture: VideoFrame, _ stage: inout Stage, _ settings: Settings) -> FrameFate {
        do throws(CodecError) {
            let current: VP8Encoder
            if let encoder = stage.encoder, encoder.configuration.contentHint == settings.contentHint {
                current = encoder
            } else {
                current = try makeEncoder(for: picture, settings)
                stage.encoder = current
            }
            return try encode(picture, with: current, settings)
        } catch {
            counters.withLock { $0.lastError = error.description }
            // An encoder that failed is made anew.
            stage.encoder = nil
            return .dropped(.encoderFailed)
        }
    }

    private func makeEncoder(for picture: VideoFrame, _ settings: Settings) throws(CodecError) -> VP8Encoder {
        try VP8Encoder(
            VP8Encoder.Configuration(
                width: picture.width, height: picture.height, targetBitrate: settings.encoderBitrate,
                maximumFramesPerSecond: settings.framesPerSecond, contentHint: settings.contentHint))
    }

    private func encode(
        _ picture: VideoFrame, with encoder: VP8Encoder, _ settings: Settings
    ) throws(CodecError) -> FrameFate {
        try encoder.setTargetBitrate(settings.encoderBitrate)
        encoder.setMaximumFramesPerSecond(settings.framesPerSecond)
        let forceKeyFrame = isKeyFrameWanted.withLock { isWanted in
            defer { isWanted = false }
            return isWanted
        }
        let start = MonotonicClock.now
        guard let encoded = try encoder.encode(picture, forceKeyFrame: forceKeyFrame) else {
            if forceKeyFrame { requestKeyFrame() }
            return .dropped(.encoderRateControl)
        }
        let elapsed = MonotonicClock.now - start
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
        return .encoded
    }
}
