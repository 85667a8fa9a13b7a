import EmisoraCapture
import EmisoraCore

/// Where one check works with one capturer: its calls are guarded and fail with a sentence.
struct Bench<Subject: CaptureSubject>: Sendable {
    let options: ConformanceOptions
    let subject: Subject
    /// Of all benches that share the capturer.
    var calls = CallsUnderWay()
    var patience: Patience { Patience(options.patience) }

    /// From one frame to the next, as far as can be known beforehand.
    var interval: Duration { min(max(subject.expectedInterval ?? .milliseconds(33), .milliseconds(1)), .seconds(5)) }

    /// A consumer with its tap.
    func makeConsumer(
        hold: FrameTap.Hold = .none, onFirstFrame: (@Sendable () -> Void)? = nil
    ) -> (consumer: Subject.Consumer, tap: FrameTap) {
        let tap = FrameTap(clock: options.clock, hold: hold)
        return (Subject.makeConsumer(tap, onFirstFrame: onFirstFrame), tap)
    }

    /// A call on a thread of its own.
    func call<Success: Sendable>(
        _ body: @escaping @Sendable (Subject) -> Success
    ) throws(Verdict) -> GuardedCall<Success> {
        let (subject, calls) = (subject, calls)
        do throws(CaptureError) {
            return try GuardedCall { calls.perform { body(subject) } }
        } catch {
            throw .impossible("no thread for the call: \(error)")
        }
    }

    func callStart(_ consumer: Subject.Consumer) throws(Verdict) -> GuardedCall<StartOutcome> {
        try call { subject in
            do throws(CaptureError) {
                try subject.start(into: consumer)
                return .started
            } catch {
                return .threw(error)
            }
        }
    }

    /// Starts; fails with `verdict` of a sentence if that does not work.
    func start(
        into consumer: Subject.Consumer, orElse verdict: (String) -> Verdict = Verdict.impossible
    ) throws(Verdict) {
        switch try callStart(consumer).result(within: patience) {
        case .started: return
        case .threw(let error): throw verdict("start(into:) threw: \(error)")
        case nil: throw verdict("start(into:) does not return within \(patience.limit)")
        }
    }

    func stop(orElse verdict: (String) -> Verdict = Verdict.impossible) throws(Verdict) {
        guard try call({ $0.stop() }).result(within: patience) != nil else {
            throw verdict("stop() does not return within \(patience.limit)")
        }
    }

    func waitForFrames(
        _ count: Int, _ tap: FrameTap, orElse verdict: (String) -> Verdict = Verdict.impossible
    ) throws(Verdict) {
        guard tap.waitForFrames(count, within: patience) else {
            let found = tap.count
            throw verdict(
                found == 0
                    ? "no frame was handed over within \(patience.limit) of the start"
                    : "after \(found) frames none came for \(patience.limit)")
        }
    }

    /// Whether frames come although none should, within a few frame times.
    func framesComeAfter(_ count: Int, _ tap: FrameTap) -> Bool {
        let time = min(max(interval * 4, .milliseconds(100)), .seconds(1))
        return tap.waitForFrames(count + 1, within: Patience(time))
    }
}

enum StartOutcome: Sendable {
    case started
    case threw(CaptureError)

    var isRefusedAsCapturing: Bool {
        if case .threw(.alreadyCapturing) = self { true } else { false }
    }
}
