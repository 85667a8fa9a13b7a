import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraRTP
import EmisoraVideo
import Synchronization

/// The decoder thread of a subscriber: complete frames in, pictures to the application's sink.
///
/// A frame is decoded as soon as it comes; its picture goes to the sink when it is due, or at once.
final class VideoReceivePipeline: Sendable {
    private static let queueCapacity = 32

    struct Counters {
        var framesDecoded: UInt64 = 0
        var keyFramesDecoded: UInt64 = 0
        /// Could not be decoded, or the sink was too slow for them.
        var framesDropped: UInt64 = 0
        var totalDecodeTime: Duration = .zero
        var frameWidth = 0
        var frameHeight = 0
        var firstFrameDecodedAt: Instant?
        var lastFrameDecodedAt: Instant?
        var freezes = FreezeDetector()
    }

    private let thread: MediaThread
    private let queue = EncodedQueue<ReceivedFrame>(capacity: queueCapacity)
    private let counters = Mutex(Counters())
    private let decodeTime = Mutex(DecodeTime())
    private let sink: (any VideoFrameSink)?
    private let isTimed: Bool
    private let needsKeyFrame: @Sendable () -> Void

    /// - Parameters:
    ///   - isTimed: pictures wait until they are due.
    ///   - needsKeyFrame: called on the decoder thread when it cannot go on.
    init(sink: (any VideoFrameSink)?, isTimed: Bool, needsKeyFrame: @escaping @Sendable () -> Void) {
        thread = MediaThread()
        self.sink = sink
        self.isTimed = isTimed
        self.needsKeyFrame = needsKeyFrame
    }

    func start() -> Bool {
        (try? thread.start { [self] in run($0) }) == true
    }

    func stop() {
        thread.stop()
    }

    /// Hands over a frame from the network thread; never blocks.
    func push(_ frame: ReceivedFrame) {
        if case .overflowed(let dropped) = queue.push(frame) {
            counters.withLock { $0.framesDropped += UInt64(dropped) }
            needsKeyFrame()
        }
        thread.wake()
    }

    var statistics: Counters { counters.withLock { $0 } }

    /// What a frame is to be given for decoding.
    var processingDelay: Duration { decodeTime.withLock { $0.allowance } }

    private func run(_ thread: MediaThread) {
        var decoder: VP8Decoder?
        /// Decoded and not due yet: no more than come in the lead that the network side gives.
        var pictures: [VideoFrame] = []
        while thread.waitForWork(until: pictures.first?.timestamp ?? .distantFuture) {
            showDue(&pictures)
            for frame in queue.takeAll() {
                guard let picture = decode(frame, with: &decoder) else { continue }
                pictures.append(picture)
                showDue(&pictures)
            }
        }
    }

    private func showDue(_ pictures: inout [VideoFrame]) {
        while let picture = pictures.first {
            let now = MonotonicClock.now
            guard !isTimed || picture.timestamp <= now || pictures.count > Self.queueCapacity / 2 else { return }
            pictures.removeFirst()
            counters.withLock { $0.freezes.show(now: now) }
            sink?.receive(picture)
        }
    }

    private func decode(_ frame: ReceivedFrame, with decoder: inout VP8Decoder?) -> VideoFrame? {
        let start = MonotonicClock.now
        do throws(CodecError) {
            if decoder == nil { decoder = try VP8Decoder() }
            guard let decoder else { return nil }
            var picture = try decoder.decode(frame.payload, timestamp: frame.playAt)
            picture.rotation = VideoRotation(quarterTurns: Int(frame.orientation.quarterTurns))
            let end = MonotonicClock.now
            decodeTime.withLock { $0.add(end - start) }
            counters.withLock { counters in
                counters.framesDecoded += 1
                counters.keyFramesDecoded += frame.isKeyFrame ? 1 : 0
                counters.totalDecodeTime += end - start
                counters.frameWidth = picture.width
                counters.frameHeight = picture.height
                counters.firstFrameDecodedAt = counters.firstFrameDecodedAt ?? end
                counters.lastFrameDecodedAt = end
            }
            return picture
        } catch .hiddenPicture {
            // It was decoded, and is only referred to.
        } catch {
            counters.withLock { $0.framesDropped += 1 }
            // A picture that there was no memory to show was decoded all the same; the next one follows on it.
            if case .picturesExhausted = error { return nil }
            needsKeyFrame()
        }
        return nil
    }
}
