import EmisoraCapture
import EmisoraCore
import EmisoraVideo

/// Makes the checks that are the same for pictures and sound, and keeps the report.
struct ConformanceRun<Subject: CaptureSubject> {
    let options: ConformanceOptions
    /// All checks share one capturer, so one that hangs ends them.
    let isShared: Bool
    let make: @Sendable () throws -> Subject
    private(set) var report = ConformanceReport()
    private var record: LifeCycleRecord?
    private let calls = CallsUnderWay()

    init(options: ConformanceOptions, isShared: Bool, make: @escaping @Sendable () throws -> Subject) {
        self.options = options
        self.isShared = isShared
        self.make = make
    }

    /// Whether the checks that build on starting can be made.
    private var canGoOn: Bool {
        record != nil && !(isShared && !calls.isEmpty)
    }

    mutating func note(_ check: ConformanceCheck, _ sentence: String?) {
        guard let sentence else { return }
        report.notes.append(ConformanceReport.Finding(check: check, sentence: sentence))
    }

    /// Makes a check with a capturer of its own.
    mutating func check(
        _ check: ConformanceCheck, _ body: (Bench<Subject>) throws(Verdict) -> String?
    ) throws(CaptureError) {
        guard options.checks.contains(check) else { return }
        guard check == .startAndStop || canGoOn else {
            report.add(
                check, .impossible("\(ConformanceCheck.startAndStop.rawValue) or another check before it failed"))
            return
        }
        let bench = try makeBench()
        judge(check) { () throws(Verdict) in try body(bench) }
    }

    mutating func judge(_ check: ConformanceCheck, _ body: () throws(Verdict) -> String?) {
        guard options.checks.contains(check) else { return }
        do throws(Verdict) {
            note(check, try body())
            report.passed.append(check)
        } catch {
            report.add(check, error)
        }
    }

    func makeBench() throws(CaptureError) -> Bench<Subject> {
        do {
            return Bench(options: options, subject: try make(), calls: calls)
        } catch let error as CaptureError {
            throw error
        } catch {
            throw .custom(error)
        }
    }

    /// Starting, stopping and letting go.
    mutating func checkLifeCycle() throws(CaptureError) {
        var found: LifeCycleRecord?
        let first = try makeBench()
        judge(.startAndStop) { () throws(Verdict) in
            found = try first.checkStartAndStop()
            return nil
        }
        record = found
        let record = found ?? LifeCycleRecord()
        try check(.resources) { bench throws(Verdict) in
            // The capturer that was started so often, which is what must have let go.
            try first.checkResources(record)
            return nil
        }
        try check(.doubleStart) { bench throws(Verdict) in
            try bench.checkDoubleStart()
            return nil
        }
        try check(.repeatedStop) { bench throws(Verdict) in
            try bench.checkRepeatedStop()
            return nil
        }
        try check(.framesAfterStop) { bench throws(Verdict) in
            try bench.checkFramesAfterStop()
            return nil
        }
        try check(.stopDuringStart) { bench throws(Verdict) in
            try bench.checkStopDuringStart(startDuration: record.startDuration)
            return nil
        }
        try check(.stopFromConsumer) { bench throws(Verdict) in
            try bench.checkStopFromConsumer()
            return nil
        }
        try check(.threading) { bench throws(Verdict) in
            try bench.checkThreading()
            return nil
        }
        try checkAbandonment()
    }

    private mutating func checkAbandonment() throws(CaptureError) {
        guard options.checks.contains(.abandonment) else { return }
        guard !isShared, canGoOn else {
            report.add(
                .abandonment,
                .impossible(isShared ? "it needs a capturer that nobody else refers to" : "startAndStop failed"))
            return
        }
        let bench = try makeBench()
        // Handed on without a reference kept here.
        judgeAbandonment(consume bench)
    }

    private mutating func judgeAbandonment(_ bench: consuming Bench<Subject>) {
        do throws(Verdict) {
            try Bench.checkAbandonment(bench)
            report.passed.append(.abandonment)
        } catch {
            report.add(.abandonment, error)
        }
    }

    /// The checks that look at the same frames. Each is given the frames and the time between two.
    mutating func checkWatched(
        taking: @escaping @Sendable (Subject.Consumer, Instant) -> Duration?,
        _ checks: [(ConformanceCheck, (Watch, Bench<Subject>) throws(Verdict) -> String?)]
    ) throws(CaptureError) {
        let wanted = checks.filter { options.checks.contains($0.0) }
        guard !wanted.isEmpty else { return }
        guard canGoOn else {
            for (check, _) in wanted {
                report.add(check, .impossible("startAndStop or another check before it failed"))
            }
            return
        }
        let bench = try makeBench()
        do throws(Verdict) {
            let watch = try bench.watch(taking: taking)
            for (check, body) in wanted { judge(check) { () throws(Verdict) in try body(watch, bench) } }
        } catch {
            for (check, _) in wanted { report.add(check, error) }
        }
    }
}

/// All checks of pictures.
struct VideoConformance {
    private var checks: ConformanceRun<VideoSubject>

    init(options: ConformanceOptions, isShared: Bool, make: @escaping @Sendable () throws -> VideoSubject) {
        checks = ConformanceRun(options: options, isShared: isShared, make: make)
    }

    mutating func run() throws(CaptureError) -> ConformanceReport {
        let options = checks.options
        try checks.checkLifeCycle()
        // Each frame is let go of when the next one comes, as an encoder would that takes its time: when the capturer has
        // long let go of it.
        let encoding = Monitor<VideoFrame?>(nil)
        defer { withExtendedLifetime(encoding.withLock { $0.take() }) {} }
        try checks.checkWatched(
            taking: { consumer, deadline in
                guard let taken = consumer.waitForLatest(until: deadline) else { return nil }
                let frame = taken.frame
                taken.encoded()
                let begin = MonotonicClock.now
                // In place, so that no other reference to the frame before is left.
                encoding.withLock { $0 = frame }
                return MonotonicClock.now - begin
            },
            [
                (
                    .format,
                    { watch, bench throws(Verdict) in
                        try watch.checkFormat([bench.subject.capturer.format])
                        return nil
                    }
                ),
                (
                    .timestamps,
                    { watch, bench throws(Verdict) in
                        try watch.checkTimestamps(interval: bench.interval, options)
                        return nil
                    }
                ),
                (
                    .frameRate,
                    { watch, bench throws(Verdict) in
                        try watch.checkRate(bench.subject.capturer.format.frameRate, options)
                    }
                ),
                (
                    .cost,
                    { watch, bench throws(Verdict) in
                        try watch.checkCost(interval: bench.interval, options)
                        return "\(Int(watch.loadOfThreads * 100)) % of a core"
                    }
                ),
            ])
        try checks.check(.pixels) { bench throws(Verdict) in
            try bench.checkPixels()
            return nil
        }
        try checks.check(.heldFrames) { bench throws(Verdict) in
            try bench.checkHeldFrames()
            return nil
        }
        try checks.check(.wants) { bench throws(Verdict) in try bench.checkWants() }
        return checks.report
    }
}

/// All checks of sound.
struct AudioConformance {
    private var checks: ConformanceRun<AudioSubject>

    init(options: ConformanceOptions, isShared: Bool, make: @escaping @Sendable () throws -> AudioSubject) {
        checks = ConformanceRun(options: options, isShared: isShared, make: make)
    }

    mutating func run() throws(CaptureError) -> ConformanceReport {
        let options = checks.options
        try checks.checkLifeCycle()
        try checks.checkWatched(
            taking: { consumer, deadline in
                guard let taken = consumer.waitForNext(until: deadline) else { return nil }
                taken.encoded()
                return .zero
            },
            [
                (
                    .format,
                    { watch, bench throws(Verdict) in
                        try watch.checkFormat(bench.subject.capturer.format)
                        return nil
                    }
                ),
                (
                    .timestamps,
                    { watch, bench throws(Verdict) in
                        try watch.checkTimestamps(interval: watch.interval ?? bench.interval, options)
                        return nil
                    }
                ),
                (
                    .cost,
                    { watch, bench throws(Verdict) in
                        try watch.checkCost(interval: watch.interval ?? bench.interval, options)
                        return "\(Int(watch.loadOfThreads * 100)) % of a core"
                    }
                ),
            ])
        return checks.report
    }
}
