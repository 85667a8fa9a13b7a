import EmisoraAudio
import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraProcessing
import Synchronization

/// An Opus packet with the instant at which its sound was captured.
struct EncodedAudioFrame: Sendable {
    let payload: [UInt8]
    let captureTime: Instant
    /// Root mean square of its samples, 0…1.
    let level: Double
}

/// The sound thread of a publisher: captured samples cut into stretches of 20 ms, encoded once for all subscribers.
final class AudioPipeline: Sendable {
    private static let queueCapacity = 50

    struct Counters {
        var framesEncoded: UInt64 = 0
        var bytesEncoded: UInt64 = 0
        var audioLevel: Double = 0
        var lastError: String?
    }

    let consumer: AudioCaptureConsumer
    let queue: EncodedQueue<EncodedAudioFrame>
    private let thread = MediaThread()
    let bitrate: DataRate
    private let counters = Mutex(Counters())
    private let isMuted = Mutex(false)
    private let didEncode: @Sendable () -> Void

    /// - Parameters:
    ///   - onReport: told what the capturer reports.
    ///   - didEncode: called on the sound thread when the queue holds something new.
    init(
        bitrate: DataRate, onReport: @escaping @Sendable (CaptureReport) -> Void,
        didEncode: @escaping @Sendable () -> Void
    ) {
        self.bitrate = bitrate
        consumer = AudioCaptureConsumer(onReport: onReport)
        self.didEncode = didEncode
        queue = EncodedQueue(capacity: Self.queueCapacity)
    }

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

    /// While muted, silence is sent: the receiver's clock and path stay as they are.
    func setMuted(_ muted: Bool) {
        isMuted.withLock { $0 = muted }
    }

    var statistics: Counters { counters.withLock { $0 } }

    // MARK: On the sound thread

    /// What the sound thread keeps from one frame to the next.
    private struct Stage {
        var encoder: OpusEncoder?
        /// Samples that do not fill a packet yet, and when the first of them was captured.
        var pending: [Int16] = []
        var pendingSince = Instant.zero
    }

    private func run(_ thread: MediaThread) {
        var stage = Stage()
        while true {
            // Counted before the look at the thread, so that a stop between the two ends the wait.
            let wakeUps = consumer.wakeUps
            if thread.isStopRequested { return }
            guard let taken = consumer.waitForNext(until: .distantFuture, since: wakeUps) else { continue }
            switch encode(taken.frame, &stage) {
            case .encoded: taken.encoded()
            case .dropped(let reason): taken.dropped(reason)
            }
        }
    }

    /// Encodes what a frame completes. A frame counts as encoded when its last samples wait for the next one's.
    private func encode(_ frame: AudioFrame, _ stage: inout Stage) -> FrameFate {
        let sound: AudioFrame
        do throws(AudioConversionError) {
            sound = try AudioConverter.convert(frame, channels: min(2, frame.format.channels))
        } catch {
            note(error.description)
            return .dropped(.invalid)
        }
        let channels = sound.format.channels
        do throws(CodecError) {
            let encoder: OpusEncoder
            if let current = stage.encoder, current.configuration.channels == channels {
                encoder = current
            } else {
                stage = Stage()
                encoder = try OpusEncoder(.init(channels: channels, bitrate: bitrate))
                stage.encoder = encoder
            }
            append(sound, to: &stage)
            let count = OpusEncoder.frameSampleCount * channels
            while stage.pending.count >= count {
                let samples = Array(stage.pending[..<count])
                let captureTime = stage.pendingSince
                stage.pending.removeFirst(count)
                stage.pendingSince = captureTime + .milliseconds(20)
                try encode(samples, at: captureTime, with: encoder)
            }
            return .encoded
        } catch {
            note(error.description)
            stage = Stage()
            return .dropped(.encoderFailed)
        }
    }

    /// What is pending goes on seamlessly unless the capturer's time tells of a gap.
    private func append(_ frame: AudioFrame, to stage: inout Stage) {
        let waiting = stage.pending.count / frame.format.channels
        let expected = stage.pendingSince + .nanoseconds(Int64(waiting) * 1_000_000_000 / 48_000)
        let gap = frame.timestamp - expected
        if stage.pending.isEmpty || gap > .milliseconds(40) || gap < .milliseconds(-40) {
            stage.pending.removeAll(keepingCapacity: true)
            stage.pendingSince = frame.timestamp
        }
        stage.pending += AudioConverter.int16(frame.samples)
    }

    private func encode(_ samples: [Int16], at captureTime: Instant, with encoder: OpusEncoder) throws(CodecError) {
        let muted = isMuted.withLock { $0 }
        let input = muted ? [Int16](repeating: 0, count: samples.count) : samples
        guard let payload = try encoder.encode(input) else { return }
        let level = AudioSamples.int16(input).level
        counters.withLock { counters in
            counters.framesEncoded += 1
            counters.bytesEncoded += UInt64(payload.count)
            counters.audioLevel = level
        }
        // Sound that nobody fetched for a second is worth nothing; the queue starts over.
        _ = queue.push(EncodedAudioFrame(payload: payload, captureTime: captureTime, level: level))
        didEncode()
    }

    private func note(_ error: String) {
        counters.withLock { $0.lastError = error }
    }
}
