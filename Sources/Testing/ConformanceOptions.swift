public import EmisoraCapture
public import EmisoraCore

/// How a capturer is looked at.
public struct ConformanceOptions: Sendable {
    /// Which checks are made; ``ConformanceCheck/startAndStop`` always is, since the others build on it.
    public var checks: Set<ConformanceCheck>
    /// How often it is started and stopped.
    public var cycles: Int
    /// How long frames are watched for their format, timestamps, rate and cost.
    public var watchDuration: Duration
    /// How far the measured rate may lie from the format's, as a fraction of it.
    public var rateTolerance: Double
    /// How long a call may take, and the first frame may take to come. Counted in steps of 10 ms that this process was
    /// really given, so that a machine under load does not use it up.
    public var patience: Duration
    /// Frames come only when something changes (a screen, a document camera): the format's rate is the most, and
    /// nothing is concluded from their absence after the first.
    public var isSourceStatic: Bool
    /// How much later than its timestamp a frame may arrive.
    public var longestDelay: Duration
    /// The most processor time the capturer's threads may take, as a fraction of one core. Debug builds may need more.
    public var highestLoad: Double
    /// Whether ignoring ``VideoWants`` is a finding. By their documentation it need not be obeyed, so it is a note only.
    public var mustObeyWants: Bool
    /// The clock that timestamps are compared with, for capturers whose device runs on a clock of a test's own.
    public var clock: @Sendable () -> Instant

    public init(
        checks: Set<ConformanceCheck> = Set(ConformanceCheck.allCases), cycles: Int = 50,
        watchDuration: Duration = .seconds(2), rateTolerance: Double = 0.1, patience: Duration = .seconds(5),
        isSourceStatic: Bool = false, longestDelay: Duration = .seconds(1), highestLoad: Double = 0.7,
        mustObeyWants: Bool = false, clock: @escaping @Sendable () -> Instant = { MonotonicClock.now }
    ) {
        self.checks = checks.union([.startAndStop])
        self.cycles = max(1, cycles)
        self.watchDuration = max(.milliseconds(100), watchDuration)
        self.rateTolerance = rateTolerance
        self.patience = max(.milliseconds(10), patience)
        self.isSourceStatic = isSourceStatic
        self.longestDelay = longestDelay
        self.highestLoad = highestLoad
        self.mustObeyWants = mustObeyWants
        self.clock = clock
    }
}
