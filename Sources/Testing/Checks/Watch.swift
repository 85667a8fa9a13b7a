import EmisoraCapture
import EmisoraCore
import EmisoraVideo

/// What came of capturing for a while, for the checks that only look.
struct Watch: Sendable {
    var arrivals: [Arrival]
    /// Frames that the capturer had or knew of, with those it dropped and its driver lost.
    var accountedFor: Int
    /// The capturer's own drops and losses.
    var reportedMissing: Int
    /// How long letting go of frames took on the encoder's thread.
    var releases: [Duration]
    var machine: Yardstick.Figures

    /// From the first frame to the last, by the machine's clock.
    var span: Duration {
        guard let first = arrivals.first, let last = arrivals.last else { return .zero }
        return last.machineTime - first.machineTime
    }
}

extension Bench {
    /// Captures for as long as the options say, with an encoder that takes each frame and lets go of it.
    func watch(taking: @escaping @Sendable (Subject.Consumer, Instant) -> Duration?) throws(Verdict) -> Watch {
        let (consumer, tap) = makeConsumer()
        let releases = Monitor<[Duration]>([])
        let encoder = MediaThread()
        let yardstick: Yardstick
        do throws(CaptureError) {
            try encoder.start { thread in
                while !thread.isStopRequested {
                    guard let time = taking(consumer, MonotonicClock.now + .milliseconds(20)) else { continue }
                    releases.withLock { if $0.count < 10_000 { $0.append(time) } }
                }
            }
            yardstick = try Yardstick()
        } catch {
            encoder.stop()
            throw .impossible("no thread to watch on: \(error)")
        }
        defer { encoder.stop() }
        do throws(Verdict) {
            try start(into: consumer)
            try waitForFrames(1, tap)
        } catch {
            _ = yardstick.finish()
            try? stop()
            throw error
        }
        let nobody = Monitor(false)
        _ = nobody.wait(until: MonotonicClock.now + options.watchDuration) { _ -> Bool? in nil }
        let arrivals = tap.arrivals
        let ledger = Subject.ledger(of: consumer)
        let machine = yardstick.finish()
        let didEnd = !subject.isCapturing
        try stop()
        guard !didEnd else {
            throw .impossible("the source ended by itself while it was watched: give one that goes on, such as a loop")
        }
        let missing = max(0, ledger.captured + ledger.lostByDriver - arrivals.count)
        return Watch(
            arrivals: arrivals, accountedFor: arrivals.count + missing, reportedMissing: missing,
            releases: releases.withLock { $0 }, machine: machine)
    }
}

extension Watch {
    /// ``ConformanceCheck/cost``.
    func checkCost(interval: Duration, _ options: ConformanceOptions) throws(Verdict) {
        if releases.count >= 4 {
            let median = releases.sorted()[releases.count / 2]
            guard median < interval / 2 else {
                throw .failed(
                    "letting go of a frame takes \(median.text), of \(interval.text) from one frame to the next: the "
                        + "closure that is called on release runs on the encoder's thread and must not block")
            }
        }
        let load = loadOfThreads
        // Beside other work a thread that never waits gets as much of a core as there is.
        guard load <= options.highestLoad, load < 0.1 || waitsForEachFrame >= 0.5 else {
            throw .failed(
                "handing over frames takes \(Int(load * 100)) % of a processor core, waiting \(waitsForEachFrame.rounded()) "
                    + "times for each: if that is not the work of drawing, wait for the next picture with a timer or poll() "
                    + "instead of asking again and again")
        }
    }

    /// Processor time of the threads that brought frames, as a fraction of one core.
    var loadOfThreads: Double {
        var ends: [UInt: (first: Duration, last: Duration)] = [:]
        for arrival in arrivals {
            ends[arrival.thread] = (ends[arrival.thread]?.first ?? arrival.threadTime, arrival.threadTime)
        }
        let busy = ends.values.reduce(0.0) { $0 + max(0, ($1.last - $1.first).inSeconds) }
        return span >= .milliseconds(200) ? busy / span.inSeconds : 0
    }

    /// How often the threads that brought frames waited, for each frame.
    private var waitsForEachFrame: Double {
        var ends: [UInt: (first: Int, last: Int)] = [:]
        for arrival in arrivals { ends[arrival.thread] = (ends[arrival.thread]?.first ?? arrival.waits, arrival.waits) }
        let waits = ends.values.reduce(0) { $0 + max(0, $1.last - $1.first) }
        // A thread that brought one frame and ended has nothing to be judged by.
        let judged = arrivals.count - ends.count
        return judged > 0 ? Double(waits) / Double(judged) : .infinity
    }

    static func severalThreads(_ count: Int) -> String {
        "\(count) threads were in consume(_:) at once: it may be called by any thread, but by one at a time; hand frames over "
            + "from one thread, or under a lock"
    }

    /// The median time between two frames.
    var interval: Duration? {
        guard arrivals.count >= 2 else { return nil }
        let steps = zip(arrivals, arrivals.dropFirst()).map { $1.machineTime - $0.machineTime }.sorted()
        return steps[steps.count / 2]
    }
}

extension Duration {
    /// For people, such as `12.5 ms` or `3.2 s`.
    var text: String {
        let scaled = inSeconds.magnitude < 1 ? inMilliseconds : inSeconds
        let tenths = scaled.magnitude < 1e15 ? (scaled * 10).rounded() / 10 : scaled
        return "\(tenths) \(inSeconds.magnitude < 1 ? "ms" : "s")"
    }
}
