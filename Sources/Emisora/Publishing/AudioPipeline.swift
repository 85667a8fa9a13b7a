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
    /// Silence before it was not sent.
    let startsTalkspurt: Bool
}

/// The sound thread of a publisher: captured samples cut into stretches of one packet, encoded once for all subscribers.
final class AudioPipeline: Sendable {
    private static let queueCapacity = 50
    /// What loss Opus is told at least where there is any: below it libopus 1.3.1 writes no redundancy at 32 kbit/s
    /// (measured), however much the receivers lose.
    private static let leastLossPercent = 10
    /// Loss that is worth mending.
    private static let notableLoss = 0.005

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
    private let wishes = Mutex(SoundWishes())
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

    /// What the receivers ask for, from the next packet on.
    func update(_ wishes: SoundWishes) {
        self.wishes.withLock { $0 = wishes }
    }

    /// While muted, silence is sent, a packet every 400 ms: the receiver's clock and path stay as they are.
    func setMuted(_ muted: Bool) {
        isMuted.withLock { $0 = muted }
    }

    var statistics: Counters { counters.withLock { $0 } }

    // MARK: On the sound thread

    /// What the sound thread keeps from one frame to the next.
    private struct Stage {
        var encoder: OpusEncoder?
        /// Samples that do not fill a packet yet, in as many channels as they were captured in, and when the first of
        /// them was captured.
        var pending: [Int16] = []
        var pendingSince = Instant.zero
        var channels = 1
        /// The last packet was silence that need not be sent.
        var isSilent = false
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
        do throws(CodecError) {
            append(sound, to: &stage)
            let channels = stage.channels
            let encoder = try encoder(for: channels, &stage)
            let count = encoder.configuration.samplesPerPacket * channels
            while stage.pending.count >= count {
                let samples = Array(stage.pending[..<count])
                let captureTime = stage.pendingSince
                stage.pending.removeFirst(count)
                stage.pendingSince =
                    captureTime + .milliseconds(Int64(encoder.configuration.packetMilliseconds))
                let isDownmixed = encoder.configuration.channels < channels
                try encode(isDownmixed ? AudioConverter.mono(samples) : samples, at: captureTime, with: encoder, &stage)
            }
            return .encoded
        } catch {
            note(error.description)
            stage = Stage()
            return .dropped(.encoderFailed)
        }
    }

    /// The encoder as the receivers want it; the one there is, where it can be.
    private func encoder(for captured: Int, _ stage: inout Stage) throws(CodecError) -> OpusEncoder {
        var wanted = Self.configuration(for: wishes.withLock { $0 }, captured: captured, bitrate: bitrate)
        if isMuted.withLock({ $0 }) { wanted.usesDTX = true }
        if let current = stage.encoder, current.configuration.channels == wanted.channels {
            try current.update(wanted)
            return current
        }
        let encoder = try OpusEncoder(wanted)
        stage.encoder = encoder
        return encoder
    }

    static func configuration(
        for wishes: SoundWishes, captured channels: Int, bitrate: DataRate
    ) -> OpusEncoder.Configuration {
        let isLossy = wishes.useInbandFEC && wishes.fractionLost >= notableLoss
        let percent = Int((min(1, wishes.fractionLost) * 100).rounded())
        return OpusEncoder.Configuration(
            channels: min(channels, wishes.channels), bitrate: min(bitrate, wishes.maximumBitrate ?? bitrate),
            usesInbandFEC: isLossy, expectedLossPercent: isLossy ? max(leastLossPercent, percent) : 0,
            usesDTX: wishes.useDTX, packetMilliseconds: wishes.packetTime,
            maximumPlaybackRate: wishes.maximumPlaybackRate ?? 48_000)
    }

    /// What is pending goes on seamlessly unless the capturer's time tells of a gap.
    private func append(_ frame: AudioFrame, to stage: inout Stage) {
        let waiting = stage.pending.count / stage.channels
        let expected = stage.pendingSince + .nanoseconds(Int64(waiting) * 1_000_000_000 / 48_000)
        let gap = frame.timestamp - expected
        if stage.pending.isEmpty || stage.channels != frame.format.channels || gap > .milliseconds(40)
            || gap < .milliseconds(-40)
        {
            stage.pending.removeAll(keepingCapacity: true)
            stage.pendingSince = frame.timestamp
            stage.channels = frame.format.channels
        }
        stage.pending += AudioConverter.int16(frame.samples)
    }

    private func encode(
        _ samples: [Int16], at captureTime: Instant, with encoder: OpusEncoder, _ stage: inout Stage
    ) throws(CodecError) {
        let muted = isMuted.withLock { $0 }
        let input = muted ? [Int16](repeating: 0, count: samples.count) : samples
        guard let payload = try encoder.encode(input) else {
            stage.isSilent = true
            return
        }
        let startsTalkspurt = stage.isSilent
        stage.isSilent = false
        let level = AudioSamples.int16(input).level
        counters.withLock { counters in
            counters.framesEncoded += 1
            counters.bytesEncoded += UInt64(payload.count)
            counters.audioLevel = level
        }
        // Sound that nobody fetched for a second is worth nothing; the queue starts over.
        _ = queue.push(
            EncodedAudioFrame(
                payload: payload, captureTime: captureTime, level: level, startsTalkspurt: startsTalkspurt))
        didEncode()
    }

    private func note(_ error: String) {
        counters.withLock { $0.lastError = error }
    }
}
