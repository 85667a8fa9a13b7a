import EmisoraAudio
import EmisoraCapture
import EmisoraCore

/// Decodes a film's sound and hands it over, 20 ms at a time, when it is due. Lives on its thread.
final class SoundOutput {
    private let playback: Playback
    private let turn: Int
    private let source: FrameSource
    private let consumer: AudioCaptureConsumer
    private let run: CaptureRun
    private let format: AudioFormat
    private let resampler: Resampler
    private var assembler: SoundAssembler?

    /// As much is made up for; sound that is later is left out.
    private static let longestDelay = Duration.milliseconds(200)

    init(
        _ playback: Playback, turn: Int, decoder: Decoder, format: AudioFormat, consumer: AudioCaptureConsumer,
        run: CaptureRun
    ) {
        self.playback = playback
        self.turn = turn
        self.consumer = consumer
        self.run = run
        self.format = format
        resampler = Resampler(channels: format.channels)
        source = FrameSource(playback, decoder: decoder, turn: turn) { fate in
            consumer.didDrop(fate == .damaged ? .invalid : .captureLate)
        }
    }

    /// - Returns: How the film ended; `nil` if the capturer was stopped before.
    func play() -> FileEnd? {
        var passStart: Int64? = 0
        while true {
            switch source.next() {
            case .left: return nil
            case .frame(let sound, let time, _):
                guard accept(sound, at: time, passStart: passStart) else { return nil }
                passStart = nil
            case .passEnded(let offset):
                append(resampler.drain(), at: nil)
                guard deliver() else { return nil }
                passStart = offset
            case .ended(let failure):
                append(resampler.drain(), at: nil)
                assembler?.pad()
                guard deliver() else { return nil }
                if let end = assembler?.end, let origin = playback.origin(readyFor: .audio, turn: turn) {
                    guard run.wait(until: origin + .nanoseconds(end)) else { return nil }
                }
                return FileEnd(failure: failure)
            }
        }
    }

    /// Adds a frame and hands over what that completes; `false` when told to stop.
    private func accept(_ sound: DecodedFrame, at time: Int64?, passStart: Int64?) -> Bool {
        // Sound that waits in the resampler comes first.
        let start = time.map { $0 - resampler.delay }
        guard let samples = resampler.convert(sound) else {
            consumer.didDrop(.invalid)
            return true
        }
        if assembler == nil {
            // Who joins on the way begins with what there is; else sound that sets in later is preceded by silence.
            let position = playback.position
            let first = source.hasJoinedLate ? start ?? position : 0
            guard first - position <= MediaTimeline.longestGap else {
                consumer.didDrop(.invalid)
                return true
            }
            assembler = SoundAssembler(channels: format.channels, start: max(0, first))
        }
        if let start, let end = assembler?.end {
            guard start - max(end, passStart ?? 0) <= MediaTimeline.longestGap else {
                consumer.didDrop(.invalid)
                return true
            }
            let tolerance = passStart == nil ? SoundAssembler.tolerance : SoundAssembler.toleranceAtStart
            if let gap = assembler?.gap(before: start, tolerance: tolerance), gap > 0 {
                while let end = assembler?.end, SoundAssembler.isBefore(end, start) {
                    assembler?.appendSilence(until: start)
                    guard deliver() else { return false }
                }
            }
        }
        append(samples, at: start)
        return deliver()
    }

    private func append(_ samples: [Int16], at time: Int64?) {
        assembler?.append(samples, at: time, notBefore: source.passOffset)
    }

    /// Hands over the chunks that are whole, each when it is due; `false` when told to stop.
    private func deliver() -> Bool {
        while let chunk = assembler?.takeChunk() {
            guard let origin = playback.origin(readyFor: .audio, turn: turn) else { return false }
            let due = origin + .nanoseconds(chunk.time)
            if MonotonicClock.now - due > Self.longestDelay {
                consumer.didDrop(.captureLate)
                continue
            }
            guard run.wait(until: due) else { return false }
            if let frame = try? AudioFrame(chunk.samples, format: format, timestamp: due) {
                consumer.consume(frame)
            } else {
                consumer.didDrop(.invalid)
            }
        }
        return true
    }
}
