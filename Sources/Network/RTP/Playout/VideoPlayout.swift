import EmisoraCore

/// Complete frames that wait for their time.
///
/// With `isTimed` a frame goes out a little before it is to be shown, in which time it is decoded; else it goes at once, and
/// only bears its time.
package struct VideoPlayout: Sendable {
    /// The decoder has a frame this long before it is to be shown, besides what decoding takes, and need not hurry.
    private static let lead: Duration = .milliseconds(40)
    /// More frames, or more bytes of them, are not kept: the first goes early.
    private static let frameLimit = 256
    private static let byteLimit = 16 << 20

    package var timeline: PlayoutTimeline
    package var isTimed = false
    /// What went out last.
    package private(set) var playing: PlayingMedia?
    /// Summed up over the frames that went out, in seconds.
    package private(set) var totalTargetDelay = 0.0
    package private(set) var totalNetworkDelay = 0.0

    private var frames: [ReceivedFrame] = []
    private var byteCount = 0
    private var lastTimeoutAt: Instant = .zero

    package init(clockRate: Int) {
        timeline = PlayoutTimeline(clockRate: clockRate)
    }

    package var frameCount: Int { frames.count }

    /// Takes a complete frame, in order.
    package mutating func add(_ frame: ReceivedFrame) {
        var frame = frame
        frame.playAt = timeline.schedule(timestamp: frame.rtpTimestamp, completedAt: frame.receivedAt)
        frames.append(frame)
        byteCount += frame.payload.count
    }

    /// The next frame, once it is due.
    package mutating func poll(now: Instant) -> ReceivedFrame? {
        guard let first = frames.first, now >= handoverTime(of: first) else { return nil }
        frames.removeFirst()
        byteCount -= first.payload.count
        playing = PlayingMedia(timestamp: first.rtpTimestamp, at: first.playAt)
        totalTargetDelay += timeline.targetDelay.inSeconds
        totalNetworkDelay += timeline.networkDelay.inSeconds
        return first
    }

    /// When the next frame is due. What is past is not waited for: who does not fetch frames is not reminded for ever.
    package var nextDeadline: Instant? {
        frames.first.map(handoverTime).flatMap { $0 > lastTimeoutAt ? $0 : nil }
    }

    package mutating func handleTimeout(now: Instant) { lastTimeoutAt = now }

    /// Throws away what waits, and answers how many frames that were.
    package mutating func removeAll() -> Int {
        defer {
            frames.removeAll()
            byteCount = 0
        }
        return frames.count
    }

    /// Begins anew, for a source that restarted; what was asked for stays.
    package mutating func reset() {
        _ = removeAll()
        timeline.reset()
        playing = nil
    }

    private func handoverTime(of frame: ReceivedFrame) -> Instant {
        guard isTimed, frames.count <= Self.frameLimit, byteCount <= Self.byteLimit else { return .zero }
        return frame.playAt - Self.lead - timeline.processingDelay
    }
}
