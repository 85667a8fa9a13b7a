import EmisoraCore

/// Turns a driver's timestamps into instants of the monotonic clock that only grow.
///
/// A frame's instant is the start of its exposure: stamps of the end of a frame are moved back by the time a frame
/// lasts. Stamps may lie in the future, as those that drivers reckon do. Stamps of another clock are mapped once, by
/// the first one's distance from now, and again only when that makes no sense any more.
///
/// Stamps count modulo 2⁶⁴ nanoseconds: a driver's may be anything, and those of a clock that wraps go on.
struct CameraClock: Sendable {
    /// Stamps farther from now than this are of another clock, or a clock was set.
    static let largestDistance = Duration.seconds(1)
    /// How far apart instants are kept when stamps go backwards.
    static let smallestStep = Duration.milliseconds(1)

    /// Nanoseconds to add to stamps; `nil` while they are of the monotonic clock.
    private var offset: Int64?
    private var lastStamp: Instant?
    /// The latest instant that was given out.
    private(set) var last: Instant?

    /// - Parameter interval: How long a frame lasts, if that is known.
    mutating func instant(of buffer: V4L2Buffer, interval: Duration, now: Instant) -> Instant {
        let stamp = Self.stamp(of: buffer)
        let exposure = buffer.isStampedAtStartOfExposure ? Duration.zero : interval
        let isBackwards = lastStamp.map { stamp.nanoseconds &- $0.nanoseconds <= 0 } ?? false
        lastStamp = stamp
        let isTrusted = buffer.isMonotonic && Self.isNear(stamp, now) && !isBackwards
        if isTrusted, offset == nil || last.map({ stamp > $0 }) ?? true {
            // Also after a glitch is over: the driver's own stamps are the best there are.
            offset = nil
        } else if isBackwards || offset.map({ !Self.isNear(Self.moved(stamp, $0), now) }) ?? true {
            offset = now.nanoseconds &- stamp.nanoseconds
        }
        return advance(to: Self.moved(stamp, offset ?? 0) - exposure)
    }

    /// The instant for a picture that has no stamp.
    mutating func instant(at now: Instant) -> Instant {
        advance(to: now)
    }

    /// A stream that starts anew may start its stamps anew.
    mutating func restart() {
        offset = nil
        lastStamp = nil
    }

    private mutating func advance(to instant: Instant) -> Instant {
        let result = last.map { max(instant, $0 + Self.smallestStep) } ?? instant
        last = result
        return result
    }

    private static func moved(_ stamp: Instant, _ offset: Int64) -> Instant {
        Instant(nanoseconds: stamp.nanoseconds &+ offset)
    }

    private static func isNear(_ stamp: Instant, _ now: Instant) -> Bool {
        let distance = Duration.nanoseconds(stamp.nanoseconds &- now.nanoseconds)
        return distance <= largestDistance && distance >= .zero - largestDistance
    }

    private static func stamp(of buffer: V4L2Buffer) -> Instant {
        Instant(nanoseconds: buffer.seconds &* 1_000_000_000 &+ buffer.microseconds &* 1000)
    }
}
