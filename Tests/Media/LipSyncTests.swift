import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Synchronization
import Testing

/// The pattern's flashes and the tone's clicks, each by its own capturer's timestamps.
@Suite struct LipSyncTests {
    @Test(arguments: [30, 25] as [FrameRate])
    func `Flash and click are never further apart than 20 ms`(rate: FrameRate) throws {
        let clicks = ClickTrack.every(.milliseconds(130))
        let video = PatternCapture(width: 320, height: 240, frameRate: rate, clicks: clicks)
        let audio = ToneCapture(level: 0.05, clicks: clicks)
        let (pictures, sound) = (makeOpenConsumer(), makeOpenAudioConsumer(queueLimit: 200))
        try video.start(into: pictures)
        try audio.start(into: sound)
        let frames = take(60, from: pictures)
        video.stop()
        // The sound of the last pictures is there when it has passed them.
        var samples: [AudioFrame] = []
        while let last = frames.last, samples.last.map({ $0.timestamp < last.timestamp + .milliseconds(60) }) ?? true {
            samples += take(1, from: sound)
        }
        audio.stop()

        let flashes = frames.filter(isFlashing).map(\.timestamp)
        let heard = onsets(samples)
        let inside = flashes.filter { flash in
            flash > samples[0].timestamp + .milliseconds(40) && flash > frames[0].timestamp + .milliseconds(40)
        }
        #expect(inside.count >= 8)
        for flash in inside {
            let distance = heard.map { abs(($0 - flash).nanoseconds) }.min() ?? .max
            #expect(distance <= 20_000_000, "\(distance / 1_000) µs")
        }
    }

    private func isFlashing(_ frame: VideoFrame) -> Bool {
        Luma(frame).samples[24 * 8 * 320 + 6 * 8] > 200
    }

    private func onsets(_ frames: [AudioFrame]) -> [Instant] {
        var onsets: [Instant] = []
        var quietSince = 1_000
        for frame in frames {
            for (index, sample) in int16Samples(frame).enumerated() {
                if abs(Int(sample)) > 5_000 {
                    // A click's own swings pass through zero.
                    if quietSince >= 480 {
                        onsets.append(frame.timestamp + .nanoseconds(Int64(index) * 1_000_000_000 / 48_000))
                    }
                    quietSince = 0
                } else {
                    quietSince += 1
                }
            }
        }
        return onsets
    }
}
