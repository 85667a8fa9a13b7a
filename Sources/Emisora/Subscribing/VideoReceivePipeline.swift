import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraRTP
import EmisoraVideo
import Synchronization

/// The decoder thread of a subscriber: complete frames in, pictures to the application's sink.
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
    }

    private struct Input: Sendable {
        let frame: ReceivedFrame
        let timestamp: Instant
    }

    private let thread: MediaThread
    private let queue = EncodedQueue<Input>(capacity: queueCapacity)
    private let counters = Mutex(Counters())
    private let sink: (any VideoFrameSink)?
    private let needsKeyFrame: @Sendable () -> Void

    /// - Parameter needsKeyFrame: called on the decoder thread when it cannot go on.
    init(sink: (any VideoFrameSink)?, needsKeyFrame: @escaping @Sendable () -> Void) {
        thread = MediaThread()
        self.sink = sink
        self.needsKeyFrame = needsKeyFrame
    }

    func start() -> Bool {
        (try? thread.start { [self] in run($0) }) == true
    }

    func stop() {
        thread.stop()
    }

    /// Hands over a frame from the network thread; never blocks.
    func push(_ frame: ReceivedFrame, timestamp: Instant) {
        if case .overflowed(let dropped) = queue.push(Input(frame: frame, timestamp: timestamp)) {
            counters.withLock { $0.framesDropped += UInt64(dropped) }
            needsKeyFrame()
        }
        thread.wake()
    }

    var statistics: Counters { counters.withLock { $0 } }

    private func run(_ thread: MediaThread) {
        var decoder: VP8Decoder?
        while thread.waitForWork() {
            for input in queue.takeAll() {
                let start = MonotonicClock.now
                do throws(CodecError) {
                    if decoder == nil { decoder = try VP8Decoder() }
                    guard let decoder else { continue }
                    var picture = try decoder.decode(input.frame.payload, timestamp: input.timestamp)
                    picture.rotation = VideoRotation(quarterTurns: Int(input.frame.orientation.quarterTurns))
                    let end = MonotonicClock.now
                    counters.withLock { counters in
                        counters.framesDecoded += 1
                        counters.keyFramesDecoded += input.frame.isKeyFrame ? 1 : 0
                        counters.totalDecodeTime += end - start
                        counters.frameWidth = picture.width
                        counters.frameHeight = picture.height
                        counters.firstFrameDecodedAt = counters.firstFrameDecodedAt ?? end
                        counters.lastFrameDecodedAt = end
                    }
                    sink?.receive(picture)
                } catch .hiddenPicture {
                    // It was decoded, and is only referred to.
                } catch {
                    counters.withLock { $0.framesDropped += 1 }
                    // A picture that there was no memory to show was decoded all the same; the next one follows on it.
                    if case .picturesExhausted = error { continue }
                    needsKeyFrame()
                }
            }
        }
    }
}
