import EmisoraCapture
import EmisoraCore

extension Bench {
    /// ``ConformanceCheck/threading``: a few calls are held for longer than a frame lasts, so that a second thread that
    /// comes meanwhile is met.
    func checkThreading() throws(Verdict) {
        let limit = min(max(interval * 2, .milliseconds(40)), .milliseconds(500))
        let (consumer, tap) = makeConsumer(hold: .forCompany(calls: 3, limit: limit))
        try start(into: consumer)
        do throws(Verdict) {
            try waitForFrames(options.isSourceStatic ? 1 : 4, tap)
        } catch {
            try? stop()
            throw error
        }
        try stop()
        guard tap.mostThreads <= 1 else { throw .failed(Watch.severalThreads(tap.mostThreads)) }
    }
}
