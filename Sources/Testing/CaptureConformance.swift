public import EmisoraCapture

/// Finds out whether a capturer keeps the rules of ``VideoCapture`` and ``AudioCapture``, by capturing with it.
///
/// ```swift
/// let report = try await CaptureConformance.check { MyCapture() }
/// #expect(report.findings.isEmpty, "\(report)")     // in a test; a program prints the report
/// ```
///
/// A run takes about ten seconds of real time for a source of 30 pictures a second. Each check says in one sentence
/// what is wrong. All calls to the capturer are made on threads made for that, and each is waited for only as long as
/// ``ConformanceOptions/patience`` says; a thread that a capturer never lets return is left behind.
///
/// Prefer the variants that are given a closure: they make a capturer for each check, so that one that hangs in one
/// check can still be judged by the others.
public enum CaptureConformance {
    /// Checks capturers of pictures that `make` makes, one for each check. None is capturing when this returns, except
    /// one that would not stop.
    ///
    /// - Parameter make: Called once a check; each call must give a capturer that nobody else uses.
    /// - Throws: What `make` threw, as ``CaptureError/custom(_:)``; ``CaptureError/system(operation:code:)`` if the
    ///   system gives no thread. What is wrong with the capturer is never thrown.
    public static func check(
        options: ConformanceOptions = ConformanceOptions(),
        _ make: @escaping @Sendable () throws -> any VideoCapture
    ) async throws(CaptureError) -> ConformanceReport {
        try await onOwnThread { () throws(CaptureError) in
            var checks = VideoConformance(options: options, isShared: false) { VideoSubject(try make()) }
            return try checks.run()
        }
    }

    /// Checks one capturer of pictures, which must not be capturing. What needs a second one is left out and listed in
    /// ``ConformanceReport/skipped``, as is all that follows a hang.
    public static func check(
        _ capturer: any VideoCapture, options: ConformanceOptions = ConformanceOptions()
    ) async throws(CaptureError) -> ConformanceReport {
        try await onOwnThread { () throws(CaptureError) in
            var checks = VideoConformance(options: options, isShared: true) { VideoSubject(capturer) }
            return try checks.run()
        }
    }

    /// Checks capturers of sound that `make` makes, one for each check.
    ///
    /// ```swift
    /// let report = try await CaptureConformance.check(audio: { ToneCapture() })
    /// ```
    public static func check(
        audio make: @escaping @Sendable () throws -> any AudioCapture,
        options: ConformanceOptions = ConformanceOptions()
    ) async throws(CaptureError) -> ConformanceReport {
        try await onOwnThread { () throws(CaptureError) in
            var checks = AudioConformance(options: options, isShared: false) { AudioSubject(try make()) }
            return try checks.run()
        }
    }

    /// Checks one capturer of sound, which must not be capturing.
    public static func check(
        audio capturer: any AudioCapture, options: ConformanceOptions = ConformanceOptions()
    ) async throws(CaptureError) -> ConformanceReport {
        try await onOwnThread { () throws(CaptureError) in
            var checks = AudioConformance(options: options, isShared: true) { AudioSubject(capturer) }
            return try checks.run()
        }
    }

    /// The checks block, which a thread of Swift's own few must not.
    private static func onOwnThread(
        _ body: @escaping @Sendable () throws(CaptureError) -> ConformanceReport
    ) async throws(CaptureError) -> ConformanceReport {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<ConformanceReport, CaptureError>, Never>) in
            do throws(CaptureError) {
                try MediaThread().start { _ in
                    continuation.resume(returning: Result { () throws(CaptureError) in try body() })
                }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }
}
