import EmisoraCore

/// When each frame is to be shown: pictures leave in the rhythm in which they were captured, as late as most of them
/// need to be complete and decoded by then, and no later.
///
///     play time = time of capture + offset        the offset glides to where the target is
///     target    = what 95 % of the frames stay below of lateness, and the time to decode one,
///                 no less than others ask for (sound, the sender, the user), no more than the bounds
///
/// On a path without jitter that adds nothing. A frame that is complete too late is shown at once, and no frame after it
/// is put off for its sake. Pure: no clock, and one for each stream.
package struct PlayoutTimeline: Sendable {
    package struct Configuration: Equatable, Sendable {
        /// Lateness above this is not provided for: what comes that late is better shown late than all the rest with it.
        package var maximumDelay: Duration = .milliseconds(250)
        /// What the user wants at least.
        package var minimumDelay: Duration = .zero

        package init() {}
    }

    /// Whatever asks for it: nothing is held for longer.
    package static let longestDelay: Duration = .seconds(2)

    /// The offset glides at this rate, in seconds a second, down the faster the farther it has to go.
    private static let rise = 0.08
    private static let fall = 0.04
    private static let fallOfExcess = 0.25
    /// At the start, when a first, large frame was all that was known.
    private static let firstFall = 0.5
    private static let start: Duration = .seconds(2)
    /// Nothing overtakes the fastest frame by that much: the sender's timestamps jumped ahead …
    private static let leapAhead: Int64 = 500_000_000
    /// … and back where for a while all come so much later.
    private static let leapBack: Int64 = 1_000_000_000
    private static let leapWindow: Duration = .milliseconds(500)
    private static let leapFrames = 5

    package var configuration: Configuration
    /// What lining up with sound takes.
    package var synchronizationDelay: Duration = .zero
    /// What the sender asks for (`playout-delay`).
    package var bounds: ClosedRange<Duration>?
    /// How long a complete frame takes to become a picture.
    package var processingDelay: Duration = .zero
    /// What is aimed at, counted from when the fastest frames are complete.
    package private(set) var targetDelay: Duration = .zero
    /// What would be aimed at without sound to line up with.
    package private(set) var ownDelay: Duration = .zero
    /// What of it the network and decoding need.
    package private(set) var networkDelay: Duration = .zero
    /// Between frames, smoothed.
    package private(set) var frameInterval: Duration = .milliseconds(33)

    private let clockRate: Int64
    private var unwrapper = TimestampUnwrapper()
    private var window = TransitWindow()
    /// From time of capture to play time, in nanoseconds on the transit's scale.
    private var offset: Int64?
    private var begunAt: Instant = .zero
    private var last: (completedAt: Instant, media: Int64, playAt: Instant)?

    package init(clockRate: Int, configuration: Configuration = Configuration()) {
        self.clockRate = Int64(max(1, clockRate))
        self.configuration = configuration
    }

    /// The delay that the next frames get, counted from when the fastest ones are complete.
    package var delay: Duration {
        guard let offset, let least = window.least else { return .zero }
        return .nanoseconds(max(0, offset &- least))
    }

    /// Takes a frame in its order and tells when it is to be shown, which may be past. Play times only rise.
    package mutating func schedule(timestamp: UInt32, completedAt: Instant) -> Instant {
        let media = mediaTime(timestamp)
        let transit = completedAt.nanoseconds &- media
        restartIfTimestampsJumped(transit, at: completedAt)
        if last == nil { begunAt = completedAt }
        window.add(transit, at: completedAt)
        noteInterval(to: media)
        let least = window.least ?? transit
        updateTarget(least: least)
        let goal = least &+ targetDelay.nanoseconds
        let elapsed = last.map { max(0, min(1, (completedAt - $0.completedAt).inSeconds)) } ?? 0
        offset = offset.map { glide(from: $0, to: goal, seconds: elapsed, now: completedAt) } ?? goal
        // However fast the sender's clock runs, nothing is held for longer.
        offset = offset.map { min($0, least &+ Self.longestDelay.nanoseconds) }
        var playAt = Instant(nanoseconds: media &+ (offset ?? goal))
        if let last { playAt = max(playAt, last.playAt + .microseconds(1)) }
        last = (completedAt, media, playAt)
        return playAt
    }

    /// Forgets everything but what was asked for, for a source that restarted.
    package mutating func reset() {
        unwrapper = TimestampUnwrapper()
        window = TransitWindow()
        offset = nil
        last = nil
        targetDelay = .zero
        ownDelay = .zero
        networkDelay = .zero
    }

    // MARK: Inside

    private mutating func mediaTime(_ timestamp: UInt32) -> Int64 {
        let (seconds, rest) = unwrapper.unwrap(timestamp).quotientAndRemainder(dividingBy: clockRate)
        return seconds &* 1_000_000_000 &+ rest &* 1_000_000_000 / clockRate
    }

    private mutating func restartIfTimestampsJumped(_ transit: Int64, at now: Instant) {
        guard let least = window.least else { return }
        let recent = window.least(since: now - Self.leapWindow)
        let areAllLate = recent.map { $0.count >= Self.leapFrames && $0.transit &- least > Self.leapBack } ?? false
        guard areAllLate || least &- transit > Self.leapAhead else { return }
        window = TransitWindow()
        offset = nil
        begunAt = now
    }

    private mutating func noteInterval(to media: Int64) {
        guard let before = last?.media, media > before, media &- before < 1_000_000_000 else { return }
        frameInterval = frameInterval * 7 / 8 + .nanoseconds(media &- before) / 8
    }

    private mutating func updateTarget(least: Int64) {
        let lateness = Duration.nanoseconds(max(0, (window.usual ?? least) &- least))
        networkDelay = min(configuration.maximumDelay, lateness) + processingDelay
        ownDelay = bounded(max(networkDelay, configuration.minimumDelay))
        targetDelay = bounded(max(networkDelay, configuration.minimumDelay, synchronizationDelay))
    }

    private func bounded(_ delay: Duration) -> Duration {
        let asked = bounds.map { max($0.lowerBound, min($0.upperBound, delay)) } ?? delay
        return max(.zero, min(Self.longestDelay, asked))
    }

    private func glide(from offset: Int64, to goal: Int64, seconds: Double, now: Instant) -> Int64 {
        let distance = goal &- offset
        let rate: Double =
            if distance > 0 {
                Self.rise
            } else if now - begunAt < Self.start {
                Self.firstFall
            } else {
                Self.fall + Self.fallOfExcess * Double(distance.magnitude) / 1e9
            }
        let step = Int64(rate * seconds * 1e9)
        return offset &+ max(-step, min(step, distance))
    }
}
