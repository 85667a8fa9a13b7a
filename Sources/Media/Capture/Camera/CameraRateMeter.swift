import EmisoraCore
import EmisoraVideo

/// Holds the rate at which frames come against the negotiated one.
struct CameraRateMeter: Sendable {
    /// How long a rate must be missed.
    static let window = Duration.seconds(2)

    private let negotiated: FrameRate
    private var start: Instant?
    private var intervals = 0
    private var isMissed = false

    init(negotiated: FrameRate) {
        self.negotiated = negotiated
    }

    /// The measured rate, when it has missed the negotiated one by more than a tenth for two seconds and did not
    /// before.
    mutating func record(_ now: Instant) -> Double? {
        guard let start else {
            start = now
            return nil
        }
        intervals += 1
        let span = now - start
        guard span >= Self.window else { return nil }
        let measured = Double(intervals) / span.inSeconds
        self.start = now
        intervals = 0
        let wasMissed = isMissed
        isMissed = (measured - negotiated.framesPerSecond).magnitude > negotiated.framesPerSecond / 10
        return isMissed && !wasMissed ? measured : nil
    }
}
