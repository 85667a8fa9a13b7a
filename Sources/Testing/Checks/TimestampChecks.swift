import EmisoraCapture
import EmisoraCore

extension Watch {
    /// ``ConformanceCheck/timestamps``.
    func checkTimestamps(interval: Duration, _ options: ConformanceOptions) throws(Verdict) {
        for (index, pair) in zip(arrivals, arrivals.dropFirst()).enumerated() {
            guard pair.1.timestamp > pair.0.timestamp else {
                let step = pair.0.timestamp - pair.1.timestamp
                throw .failed(
                    "the timestamp of frame \(index + 1) is \(step == .zero ? "that" : "\(step.text) before that") of the "
                        + "frame before: timestamps must rise, such a frame is dropped as invalid")
            }
        }
        try checkThatTheyAreOnTheClock(options)
        try checkThatTheyGoAsFast(interval: interval)
        try checkThatSoundHasNoGaps()
    }

    /// The least distance counts: late arrivals are the machine's doing.
    private func checkThatTheyAreOnTheClock(_ options: ConformanceOptions) throws(Verdict) {
        guard let age = arrivals.map({ $0.time - $0.timestamp }).min() else { return }
        let clock = "stamp frames with the instant they were taken at, on MonotonicClock"
        guard age >= .milliseconds(-100) else {
            throw .failed("timestamps lie \((.zero - age).text) in the future: \(clock)")
        }
        guard age <= options.longestDelay else {
            throw .failed("frames arrive \(age.text) after the time of their timestamps: \(clock)")
        }
    }

    /// By the frames that were least late in the first third and in the last.
    private func checkThatTheyGoAsFast(interval: Duration) throws(Verdict) {
        let third = arrivals.count / 3
        func leastLate(_ part: ArraySlice<Arrival>) -> Arrival? {
            part.min { $0.time - $0.timestamp < $1.time - $1.timestamp }
        }
        guard third >= 2, let first = leastLate(arrivals.prefix(third)), let last = leastLate(arrivals.suffix(third))
        else { return }
        let elapsed = (last.time - first.time).inSeconds
        let advanced = (last.timestamp - first.timestamp).inSeconds
        guard elapsed > 0 else { return }
        let allowed = elapsed * 0.05 + 2 * interval.inSeconds + 2 * machine.worstLateness.inSeconds
        guard abs(advanced - elapsed) <= allowed else {
            throw .failed(
                "timestamps advance by \((last.timestamp - first.timestamp).text) in \((last.time - first.time).text): they "
                    + "must go as fast as the clock, in nanoseconds")
        }
    }

    /// Sound: each frame begins where the one before ended, except where some were reported as dropped or lost.
    private func checkThatSoundHasNoGaps() throws(Verdict) {
        var gaps = 0
        var worst = Duration.zero
        // The sum of all that was handed over must not leave the timestamps either.
        for (earlier, later) in zip(arrivals, arrivals.dropFirst()) {
            guard case .sound(_, let duration) = earlier.content else { return }
            let gap = later.timestamp - (earlier.timestamp + duration)
            if gap > .milliseconds(3) || gap < .milliseconds(-3) {
                gaps += 1
                if Self.magnitude(gap) > Self.magnitude(worst) { worst = gap }
            }
        }
        guard gaps <= reportedMissing else {
            throw .failed(
                "\(gaps) of \(arrivals.count) frames of sound do not begin where the one before ended (\(worst.text) off at "
                    + "worst): timestamps must advance by the number of samples divided by their rate, and gaps be "
                    + "reported with didDrop or didLoseInDriver")
        }
    }

    private static func magnitude(_ duration: Duration) -> Duration { max(duration, .zero - duration) }
}
