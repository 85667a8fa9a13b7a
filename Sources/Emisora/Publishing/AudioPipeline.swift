import EmisoraAudio
import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import Synchronization

/// An Opus packet with the instant at which its sound was captured.
struct EncodedAudioFrame: Sendable {
    let payload: [UInt8]
    let captureTime: Instant
}

/// The sound thread of a publisher: captured samples cut into stretches of 20 ms, encoded once for all subscribers.
final class AudioPipeline: Sendable {
    private static let queueCapacity = 50

    struct Counters {
        var framesEncoded: UInt64 = 0
        var bytesEncoded: UInt64 = 0
        var framesInvalid: UInt64 = 0
        var audioLevel: Double = 0
        var lastError: String?
    }

    let consumer: AudioCaptureConsumer
    let queue: EncodedQueue<EncodedAudioFrame>
    private let thread: MediaThread
    private let bitrate: DataRate
    private let counters = Mutex(Counters())
    private let isMuted = Mutex(false)
    private let didEncode: @Sendable () -> Void

    init(bitrate: DataRate, didEncode: @escaping @Sendable () -> Void) {
        let thread = MediaThread()
        self.thread = thread
        self.bitrate = bitrate
        self.didEncode = didEncode
        queue = EncodedQueue(capacity: Self.queueCapacity)
        consumer = AudioCaptureConsumer { thread.wake() }
    }

    func start() -> Bool {
        thread.start { [self] in run($0) }
    }

    func stop() {
        consumer.setRunning(false)
        thread.stop()
    }

    /// While muted, silence is sent: the receiver's clock and path stay as they are.
    func setMuted(_ muted: Bool) {
        isMuted.withLock { $0 = muted }
    }

    var statistics: Counters { counters.withLock { $0 } }

    // MARK: On the sound thread

    private func run(_ thread: MediaThread) {
        var encoder: OpusEncoder?
        var pending: [Int16] = []
        var pendingSince = Instant.zero
        while thread.waitForWork() {
            while let frame = consumer.take() {
                guard frame.format.sampleRate == 48_000 else {
                    counters.withLock { counters in
                        counters.framesInvalid += 1
                        counters.lastError =
                            "Sound at \(frame.format.sampleRate) Hz cannot be encoded; capture at 48000 Hz."
                    }
                    continue
                }
                let channels = frame.format.channels
                if encoder?.configuration.channels != channels {
                    encoder = try? OpusEncoder(.init(channels: channels, bitrate: bitrate))
                    pending.removeAll()
                }
                let pendingDuration = Duration.nanoseconds(Int64(pending.count / channels) * 1_000_000_000 / 48_000)
                // What is pending goes on seamlessly unless the capturer's time tells of a gap.
                let expected = pendingSince + pendingDuration
                let gap = frame.timestamp - expected
                if pending.isEmpty || gap > .milliseconds(40) || gap < .milliseconds(-40) {
                    pending.removeAll(keepingCapacity: true)
                    pendingSince = frame.timestamp
                }
                pending += frame.samples
                let count = OpusEncoder.frameSampleCount * channels
                while pending.count >= count, let encoder {
                    encode(Array(pending[..<count]), at: pendingSince, with: encoder)
                    pending.removeFirst(count)
                    pendingSince = pendingSince + .milliseconds(20)
                }
            }
        }
    }

    private func encode(_ samples: [Int16], at captureTime: Instant, with encoder: OpusEncoder) {
        let muted = isMuted.withLock { $0 }
        let input = muted ? [Int16](repeating: 0, count: samples.count) : samples
        let level = muted ? 0 : AudioFrame(format: .mono48k, samples: samples, timestamp: captureTime)?.level ?? 0
        do throws(CodecError) {
            guard let payload = try encoder.encode(input) else { return }
            counters.withLock { counters in
                counters.framesEncoded += 1
                counters.bytesEncoded += UInt64(payload.count)
                counters.audioLevel = level
            }
            // Sound that nobody fetched for a second is worth nothing; the queue starts over.
            _ = queue.push(EncodedAudioFrame(payload: payload, captureTime: captureTime))
            didEncode()
        } catch {
            counters.withLock { $0.lastError = error.description }
        }
    }
}
