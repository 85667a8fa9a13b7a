import EmisoraCapture
import EmisoraCore

/// What the many starts and stops showed, for other checks to judge.
struct LifeCycleRecord: Sendable {
    var resources: [ResourceCount] = []
    /// The median duration of a start.
    var startDuration = Duration.zero
    var consumers: [WeakReference] = []
}

extension Bench {
    /// ``ConformanceCheck/startAndStop``.
    func checkStartAndStop() throws(Verdict) -> LifeCycleRecord {
        var record = LifeCycleRecord()
        var durations: [Duration] = []
        guard !subject.isCapturing else {
            throw .failed("isCapturing is true before start(into:); it is to be true only from a start to a stop")
        }
        for cycle in 0..<options.cycles {
            func failed(_ sentence: String) -> Verdict {
                .failed(cycle == 0 ? sentence : "\(sentence), at start number \(cycle + 1) of the same capturer")
            }
            let (consumer, tap) = makeConsumer()
            record.consumers = [WeakReference(consumer)]
            let begin = MonotonicClock.now
            try start(into: consumer, orElse: failed)
            durations.append(MonotonicClock.now - begin)
            guard subject.isCapturing else {
                try? stop()
                throw failed("isCapturing is false after start(into:) returned; it is to be true until stop()")
            }
            // Frames are awaited in some cycles; in the others the stop comes right behind the start.
            if cycle.isMultiple(of: 5) || cycle == options.cycles - 1 {
                do throws(Verdict) {
                    try waitForFrames(1, tap, orElse: failed)
                } catch {
                    try? stop()
                    throw error
                }
            }
            try stop(orElse: failed)
            guard !subject.isCapturing else {
                throw failed("isCapturing is true after stop() returned; it is to be false then")
            }
            record.resources.append(.now)
        }
        record.startDuration = durations.sorted()[durations.count / 2]
        return record
    }

    /// ``ConformanceCheck/resources``, from the record of many starts.
    func checkResources(_ record: LifeCycleRecord) throws(Verdict) {
        if let leak = ResourceCount.leak(in: record.resources) {
            // Once more: who else is in this process does not grow in step twice.
            let again = try checkStartAndStop()
            if ResourceCount.leak(in: again.resources) != nil {
                throw .failed(
                    "after \(record.resources.count) starts and stops \(leak) more are in use than before: stop() is to "
                        + "close what start(into:) opened, and to let its thread end")
            }
        }
        guard patience.until({ !record.consumers.contains(where: \.isAlive) }) else {
            throw .failed(
                "the consumer is kept after stop(): let go of it there, since it holds the memory of the pictures")
        }
    }

    /// ``ConformanceCheck/doubleStart``.
    func checkDoubleStart() throws(Verdict) {
        let (consumer, tap) = makeConsumer()
        try start(into: consumer)
        try waitForFrames(1, tap)
        var (second, secondTap): (Subject.Consumer?, FrameTap)
        (second, secondTap) = makeConsumer()
        let kept = WeakReference(second!)
        let outcome = try callStart(second!).result(within: patience)
        second = nil
        guard let outcome else {
            throw .failed("start(into:) while capturing does not return; it is to throw CaptureError.alreadyCapturing")
        }
        defer { try? stop() }
        guard outcome.isRefusedAsCapturing else {
            switch outcome {
            case .started:
                throw .failed("start(into:) while capturing succeeds; it is to throw CaptureError.alreadyCapturing")
            case .threw(let error):
                throw .failed(
                    "start(into:) while capturing throws \"\(error)\" instead of CaptureError.alreadyCapturing")
            }
        }
        guard subject.isCapturing else {
            throw .failed("start(into:) while capturing throws, as it should, but ends the capturing that was going on")
        }
        let count = tap.count
        if !options.isSourceStatic {
            try waitForFrames(count + 1, tap) {
                .failed("after a second start(into:) was refused the first consumer gets no frame any more: \($0)")
            }
        }
        guard secondTap.count == 0 else {
            throw .failed("a start(into:) that was refused as a second one hands frames to its consumer all the same")
        }
        guard patience.until({ !kept.isAlive }) else {
            throw .failed("a start(into:) that was refused as a second one keeps its consumer; nothing is to be held")
        }
    }

    /// ``ConformanceCheck/abandonment``: `bench` holds the only reference to the capturer.
    static func checkAbandonment(_ bench: consuming Bench) throws(Verdict) {
        let patience = bench.patience
        var (consumer, tap): (Subject.Consumer?, FrameTap) = bench.makeConsumer()
        let kept = WeakReference(consumer!)
        try bench.start(into: consumer!)
        consumer = nil
        try bench.waitForFrames(1, tap)
        _ = consume bench
        guard patience.until({ !kept.isAlive }) else {
            let count = tap.count
            let goesOn = tap.waitForFrames(count + 1, within: patience)
            throw .failed(
                goesOn
                    ? "frames go on when the last reference to the capturer goes: its thread holds it; let the thread hold "
                        + "it weakly, and ask the thread to end in deinit"
                    : "the consumer is kept after the last reference to a capturing capturer went: end capturing in deinit"
            )
        }
    }
}
