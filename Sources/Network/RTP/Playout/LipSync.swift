import EmisoraCore

/// Lines sound up with pictures: whichever is played too early for the other is delayed more.
///
/// Both are compared by when they were captured, on the sender's one clock, and when they are played, on ours. Small
/// differences are left alone, of sound that comes late more than of sound that comes early, as nobody notices them
/// (ATSC IS-191 allows 15 ms and 45 ms) and each delay costs. The delays themselves move slowly, in ``PlayoutTimeline``
/// and ``AudioJitterBuffer``; here only their goals are set, from what they are, so that nothing winds up.
package struct LipSync: Equatable, Sendable {
    /// What plays now: when it was captured and when it is seen or heard, and its delay.
    package struct Playing: Equatable, Sendable {
        package var capturedAt: NTPTimestamp
        package var playedAt: Instant
        /// What the delay that can be changed is at present …
        package var delay: Duration
        /// … and what it is brought to without lining up: for the network and for whoever else asks.
        package var ownDelay: Duration

        package init(capturedAt: NTPTimestamp, playedAt: Instant, delay: Duration, ownDelay: Duration) {
            self.capturedAt = capturedAt
            self.playedAt = playedAt
            self.delay = delay
            self.ownDelay = ownDelay
        }
    }

    /// Sound may be so much behind the pictures …
    private static let soundLate: Duration = .milliseconds(30)
    /// … or ahead of them; beyond, it is brought to where it is as good as simultaneous.
    private static let soundEarly: Duration = .milliseconds(-15)
    private static let goalWhenLate: Duration = .milliseconds(10)
    private static let soundWaitedFor: Duration = .milliseconds(100)
    /// More is a sender's wrong clock and not a delay: sound and pictures then play as they come.
    private static let believable: Duration = .seconds(1)

    /// What pictures and sound are to be delayed by at the least.
    package private(set) var videoDelay: Duration = .zero
    package private(set) var audioDelay: Duration = .zero
    /// By how much sound is behind the pictures, before it is corrected; `nil`: not known, or not believed.
    package private(set) var offset: Duration?

    package init() {}

    /// To be called some times a second.
    package mutating func update(video: Playing, audio: Playing) {
        let capturedApart = audio.capturedAt.duration(since: video.capturedAt)
        let offset = (audio.playedAt - video.playedAt) - capturedApart
        guard max(offset, .zero - offset) < Self.believable else {
            reset()
            return
        }
        self.offset = offset
        if offset > Self.soundLate {
            // Sound that waits far above its goal comes down a packet a second: pictures go to meet it.
            if audio.delay - audioDelay > Self.soundWaitedFor { audioDelay = .zero }
            move(by: offset - Self.goalWhenLate, &audioDelay, of: audio, &videoDelay, of: video)
        } else if offset < Self.soundEarly {
            move(by: .zero - offset, &videoDelay, of: video, &audioDelay, of: audio)
        }
    }

    /// Nothing is known any more: both are played as they come.
    package mutating func reset() {
        self = LipSync()
    }

    /// Takes delay away from what was delayed, as far as that goes, before it adds any to the other. Each goal is set from
    /// the delay that there is: from the goal before, which a delay takes seconds to reach, it would run away.
    private func move(
        by distance: Duration, _ lateGoal: inout Duration, of late: Playing, _ earlyGoal: inout Duration,
        of early: Playing
    ) {
        let goal = late.delay - distance
        if lateGoal > .zero, goal >= late.ownDelay {
            lateGoal = min(lateGoal, goal)
        } else if lateGoal > .zero {
            lateGoal = .zero
        } else {
            earlyGoal = max(.zero, early.delay) + distance
        }
    }
}
