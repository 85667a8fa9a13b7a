import EmisoraCapture
import EmisoraCore
import EmisoraVideo

extension Bench where Subject == VideoSubject {
    private static var watched: Duration { .milliseconds(700) }
    private static var settling: Duration { .milliseconds(200) }
    /// What a busy machine takes from a capturer, or from what it shows, it takes from one of these. On one with room the first
    /// counts.
    private static var attempts: Int { 3 }
    private static var room: Double { 0.98 }
    /// Of the rate that is wanted, at least.
    private static var kept: Double { 0.6 }

    /// ``ConformanceCheck/wants``: less is wanted for a while, in size and rate, and then all again.
    ///
    /// - Returns: A note, if the wants are ignored or could not be judged.
    func checkWants() throws(Verdict) -> String? {
        let (consumer, tap) = makeConsumer()
        try start(into: consumer)
        try waitForFrames(1, tap)
        let before = try phase(consumer, tap)
        let declared = subject.capturer.format
        let (rate, size) = (declared.frameRate, before.sizes.last ?? declared.size)
        let wants = VideoWants(
            largestSize: VideoSize(width: max(2, size.width / 2), height: max(2, size.height / 2)),
            highestFrameRate: rate.flatMap {
                FrameRate($0.numerator, $0.denominator.multipliedReportingOverflow(by: 3).partialValue)
            })
        // Measured by what it gave before: whether that is the format's rate is another check's concern.
        func share(_ phase: Phase, of rate: FrameRate) -> Double {
            phase.perSecond / (min(rate.framesPerSecond, before.perSecond) * phase.machine.share)
        }
        func measure() throws(Verdict) -> (less: Phase, all: Phase) {
            consumer.setWants(wants)
            let less = try phase(consumer, tap)
            consumer.setWants(VideoWants())
            return (less, try phase(consumer, tap))
        }
        var (less, all) = try measure()
        if let rate, let lower = wants.highestFrameRate, !options.isSourceStatic, rate.framesPerSecond >= 6 {
            for _ in 1..<Self.attempts {
                let isKept = share(less, of: lower) >= Self.kept && share(all, of: rate) >= Self.kept
                if isKept || min(less.machine.share, all.machine.share) >= Self.room { break }
                (less, all) = try measure()
            }
        }
        try stop()

        for frame in less.sizes where frame != size {
            let tall = Double(frame.width * size.height)
            guard abs(tall / Double(max(1, frame.height * size.width)) - 1) < 0.05 || frame.width < 32 else {
                throw .failed("asked for at most \(wants.largestSize!) it gives \(frame), which distorts \(size)")
            }
        }
        if all.sizes.contains(where: { $0.width * 4 < size.width * 3 }), !all.sizes.contains(size) {
            throw .failed("pictures stay \(all.sizes[0]) when larger ones than \(wants.largestSize!) are wanted again")
        }
        let ignoresSize = less.sizes.contains {
            $0.width > wants.largestSize!.width || $0.height > wants.largestSize!.height
        }
        guard let rate, let lower = wants.highestFrameRate, !options.isSourceStatic, rate.framesPerSecond >= 6 else {
            let size = try judgeIgnored(size: ignoresSize ? wants.largestSize : nil, rate: nil)
            let reason = options.isSourceStatic ? "the source may stand still" : "the format has no rate of 6 or more"
            return "whether fewer pictures come when fewer are wanted was not judged, since \(reason)"
                + (size.map { "; \($0)" } ?? "")
        }
        guard share(less, of: lower) >= Self.kept else {
            throw .failed(
                "asked for at most \(lower) pictures a second it gives \(less.perSecond.rounded()): give as many as are wanted"
            )
        }
        guard share(all, of: rate) >= Self.kept else {
            throw .failed(
                "after fewer pictures were wanted for a while it gives \(all.perSecond.rounded()) a second where \(rate) are "
                    + "wanted again: look at consumer.wants for each picture")
        }
        let ignoresRate = less.handedOver > lower.framesPerSecond * 1.5
        return try judgeIgnored(size: ignoresSize ? wants.largestSize : nil, rate: ignoresRate ? lower : nil)
    }

    private func judgeIgnored(size: VideoSize?, rate: FrameRate?) throws(Verdict) -> String? {
        // Size is scaled by whoever can do it best, so it is never asked of a capturer that cannot.
        if let rate {
            let sentence =
                "more pictures are handed over than the \(rate) a second that consumer.wants asks for: leaving "
                + "them out before they are made saves their work"
            guard !options.mustObeyWants else { throw .failed(sentence) }
            return sentence
        }
        return size.map { "pictures are larger than the \($0) that consumer.wants asks for, and are scaled down later" }
    }

    private struct Phase {
        /// Without those that were left out for the rate.
        var perSecond: Double
        var handedOver: Double
        var sizes: [VideoSize]
        var machine: Yardstick.Figures
    }

    /// What comes in a while, after some time to settle.
    private func phase(_ consumer: VideoCaptureConsumer, _ tap: FrameTap) throws(Verdict) -> Phase {
        let nobody = Monitor(false)
        _ = nobody.wait(until: MonotonicClock.now + Self.settling) { _ -> Bool? in nil }
        let yardstick: Yardstick
        do throws(CaptureError) {
            yardstick = try Yardstick()
        } catch {
            throw .impossible("no thread to watch on: \(error)")
        }
        let (count, ledger, begin) = (tap.count, consumer.ledger, MonotonicClock.now)
        _ = nobody.wait(until: begin + max(Self.watched, interval * 12)) { _ -> Bool? in nil }
        let time = (MonotonicClock.now - begin).inSeconds
        let arrivals = tap.arrivals.dropFirst(count)
        let now = consumer.ledger
        // Handed over, and what the capturer itself left out because it was late or had no memory; what it left out
        // for the sake of the wants is not wanted.
        let late = now.dropped(.captureLate) + now.dropped(.noBuffer) + now.lostByDriver
        let lateBefore = ledger.dropped(.captureLate) + ledger.dropped(.noBuffer) + ledger.lostByDriver
        var sizes: [VideoSize] = []
        for case .picture(let format, _) in arrivals.map(\.content) where !sizes.contains(format.size) {
            sizes.append(format.size)
        }
        return Phase(
            perSecond: Double(arrivals.count + late - lateBefore) / time, handedOver: Double(arrivals.count) / time,
            sizes: sizes, machine: yardstick.finish())
    }
}
