import Emisora
import Glibc

/// Timing is not judged under sanitizers.
let isTimingJudged = getenv("EMISORA_NO_TIMING") == nil

/// A consumer that lets frames in.
func makeOpenConsumer() -> VideoCaptureConsumer {
    let consumer = VideoCaptureConsumer()
    consumer.open()
    consumer.setHasSubscribers(true)
    return consumer
}

/// Takes frames as an encoder would, until one is as wanted; `nil` if none is within twenty seconds.
func nextFrame(
    from consumer: VideoCaptureConsumer, where isWanted: (VideoFrame) throws -> Bool = { _ in true }
) throws -> VideoFrame? {
    let deadline = MonotonicClock.now + .seconds(20)
    while let taken = consumer.waitForLatest(until: deadline) {
        let frame = taken.frame
        taken.encoded()
        if try isWanted(frame) { return frame }
    }
    return nil
}

/// Whether a frame comes within that time; it is taken.
func hasFrame(_ consumer: VideoCaptureConsumer, within limit: Duration) -> Bool {
    guard let taken = consumer.waitForLatest(until: MonotonicClock.now + limit) else { return false }
    taken.encoded()
    return true
}

/// Waits until a condition holds; false if it does not within twenty seconds.
func eventually(_ condition: () -> Bool) async -> Bool {
    let deadline = MonotonicClock.now + .seconds(20)
    while !condition() {
        if MonotonicClock.now > deadline { return false }
        await Task.yield()
    }
    return true
}

/// The processor time that this process has taken.
func processorTime() -> Duration {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(.zero) {
        $0 + .seconds($1.tv_sec) + .microseconds($1.tv_usec)
    }
}
