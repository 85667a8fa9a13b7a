import EmisoraCapture
import EmisoraCore
import EmisoraVideo

/// Decodes a film's pictures and hands them over when they are due. Lives on its thread.
struct PictureOutput {
    let playback: Playback
    let turn: Int
    let decoder: Decoder
    let consumer: VideoCaptureConsumer

    /// A film that cannot be decoded as fast as it plays still shows a picture as often as this.
    private static let longestWithoutPicture = Duration.milliseconds(250)
    /// So far behind, everything up to a later key frame is left out.
    private static let longestDelay = Duration.seconds(1)
    private static let shortestPatience = Duration.milliseconds(20)

    func run(on thread: MediaThread) {
        let source = FrameSource(playback, decoder: decoder, turn: turn) { [consumer] fate in
            consumer.didDrop(fate == .damaged ? .invalid : .captureLate)
        }
        let converter = PictureConverter()
        var timeline = MediaTimeline()
        var thinner = FrameThinner()
        var lastShown: Instant?
        while true {
            switch source.next() {
            case .left: return
            case .passEnded(let offset): timeline.beginPass(at: offset)
            case .ended(let failure):
                // The last picture is seen as long as the others.
                if let origin = playback.origin(readyFor: .video, turn: turn) {
                    guard thread.wait(until: origin + .nanoseconds(timeline.end)) else { return }
                }
                playback.finish(.video, turn: turn, failure: failure)
                consumer.didEnd(failure.map { .custom($0) })
                return
            case .frame(let picture, let time, let duration):
                if lastShown == nil, source.hasJoinedLate { timeline.beginPass(at: playback.position) }
                guard let time = timeline.place(time, duration: duration) else {
                    consumer.didDrop(.invalid)
                    continue
                }
                guard let origin = playback.origin(readyFor: .video, turn: turn) else { return }
                let due = origin + .nanoseconds(time)
                guard thinner.keep(due, rate: consumer.wants.highestFrameRate) else {
                    guard thread.wait(until: due) else { return }
                    continue
                }
                let delay = MonotonicClock.now - due
                if delay > max(.nanoseconds(duration), Self.shortestPatience), let lastShown,
                    due - lastShown < Self.longestWithoutPicture
                {
                    consumer.didDrop(.captureLate)
                    if delay > Self.longestDelay { source.catchUp() }
                    continue
                }
                guard let frame = makeFrame(picture, due, converter) else { continue }
                guard thread.wait(until: due) else { return }
                consumer.consume(frame)
                lastShown = due
            }
        }
    }

    private func makeFrame(_ picture: DecodedFrame, _ due: Instant, _ converter: PictureConverter) -> VideoFrame? {
        do throws(VideoFrameError) {
            return try converter.frame(picture, of: decoder.stream, timestamp: due)
        } catch {
            if case .poolExhausted = error { consumer.didDrop(.noBuffer) } else { consumer.didDrop(.invalid) }
            return nil
        }
    }
}
