import EmisoraCapture
import EmisoraCore

extension Bench {
    /// ``ConformanceCheck/repeatedStop``.
    func checkRepeatedStop() throws(Verdict) {
        try stop { .failed("\($0) when it was called before any start: it is to do nothing then") }
        guard !subject.isCapturing else { throw .failed("isCapturing is true after a stop() before any start") }
        let (consumer, tap) = makeConsumer()
        try start(into: consumer) { .failed("\($0), after a stop() that came before any start") }
        try waitForFrames(1, tap) { .failed("\($0), after a stop() that came before any start") }
        try stop()
        try stop { .failed("\($0) when it was called a second time: it may be called any number of times") }
        try start(into: consumer) { .failed("\($0), after two stops") }
        let calls = try [call { $0.stop() }, call { $0.stop() }, call { $0.stop() }]
        for call in calls where call.result(within: patience) == nil {
            throw .failed("stop() does not return when several threads call it at once")
        }
        guard !subject.isCapturing else {
            throw .failed("isCapturing is true after several threads called stop() at once")
        }
    }

    /// ``ConformanceCheck/stopDuringStart``. The stop comes at several places within the time that a start takes.
    func checkStopDuringStart(startDuration: Duration) throws(Verdict) {
        let nobody = Monitor(false)
        for tenths in [0, 2, 4, 6, 8, 10, 12] {
            let (consumer, tap) = makeConsumer()
            let starting = try callStart(consumer)
            if tenths > 0 {
                let moment = MonotonicClock.now + min(startDuration, .seconds(2)) * tenths / 10
                _ = nobody.wait(until: moment) { _ -> Bool? in nil }
            }
            let stopping = try call { $0.stop() }
            guard stopping.result(within: patience) != nil else {
                throw .failed("stop() during start(into:) does not return")
            }
            guard let outcome = starting.result(within: patience) else {
                throw .failed("start(into:) does not return when stop() is called meanwhile")
            }
            if case .started = outcome, subject.isCapturing {
                // The stop came before the start took hold, so it had nothing to stop.
                try waitForFrames(1, tap) {
                    .failed("after a stop() during start(into:) isCapturing is true, but \($0)")
                }
                try stop()
            } else if framesComeAfter(tap.count + 2, tap) {
                // Beyond such as were under way already, which another check is about.
                throw .failed("after a stop() during start(into:) isCapturing is false, but frames go on coming")
            }
        }
        let (consumer, tap) = makeConsumer()
        try start(into: consumer) { .failed("\($0), after a stop() during an earlier start(into:)") }
        try waitForFrames(1, tap) { .failed("\($0), after a stop() during an earlier start(into:)") }
        try stop()
    }

    /// ``ConformanceCheck/stopFromConsumer``.
    func checkStopFromConsumer() throws(Verdict) {
        // The count of frames when `stop` returned.
        let stopped = Monitor<Int?>(nil)
        let tap = FrameTap(clock: options.clock)
        let subject = subject
        let consumer = Subject.makeConsumer(
            tap,
            onFirstFrame: {
                subject.stop()
                stopped.withLock { $0 = tap.count }
                stopped.notifyAll()
            })
        try start(into: consumer)
        try waitForFrames(1, tap)
        guard let count = patience.wait(on: stopped, poll: { $0 }) else {
            throw .failed(
                "stop() does not return when it is called from within the capturer's own call to the consumer: it waits "
                    + "for the thread that it is called on")
        }
        guard !framesComeAfter(count, tap) else {
            throw .failed("frames go on coming after a stop() from within the capturer's own call to the consumer")
        }
        guard patience.until({ !subject.isCapturing }) else {
            throw .failed("isCapturing stays true after a stop() from within the capturer's own call to the consumer")
        }
        try stop { .failed("after a stop() from within the capturer's own call to the consumer, \($0)") }
        let (next, nextTap) = makeConsumer()
        try start(into: next) { .failed("after a stop() from within a call to the consumer, \($0)") }
        try waitForFrames(1, nextTap) { .failed("after a stop() from within a call to the consumer, \($0)") }
        try stop()
    }

    /// ``ConformanceCheck/framesAfterStop``. A thread is held on its way into the consumer: a `stop` that returns
    /// meanwhile lets that frame arrive afterwards.
    func checkFramesAfterStop() throws(Verdict) {
        let (consumer, tap) = makeConsumer(hold: .untilReleased)
        let starting = try callStart(consumer)
        guard tap.waitForFrames(1, within: patience) else {
            tap.release()
            try? stop()
            throw .impossible("no frame was handed over within \(patience.limit) of the start")
        }
        // Who hands over the first frame within `start` cannot be stopped while that is held.
        let comesWithinStart = tap.arrivals.first?.thread == starting.thread
        let isThreaded = !comesWithinStart && starting.result(within: patience) != nil
        if !isThreaded { tap.release() }
        let stopping = try call { $0.stop() }
        let returnsTooSoon =
            isThreaded && stopping.result(within: Patience(max(interval * 2, .milliseconds(60)))) != nil
        tap.release()
        guard stopping.result(within: patience) != nil else { throw .impossible("stop() does not return") }
        guard !returnsTooSoon else {
            throw .failed(
                "stop() returns while a frame is still being handed over: let it wait until the capturer's thread has "
                    + "ended, or has left consume(_:)")
        }
        guard !framesComeAfter(tap.count, tap) else {
            throw .failed("frames are handed over after stop() has returned")
        }
    }
}
