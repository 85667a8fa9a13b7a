import EmisoraCapture

/// What the probe prints in the end, as one JSON object. Times are seconds on the machine's monotonic clock, which is
/// that of `/proc/uptime`.
struct ProbeReport: Encodable {
    struct Mode: Encodable {
        var fourcc: String
        var width: Int
        var height: Int
        /// Frames a second that the driver agreed to.
        var rate: Double?
    }

    struct Ledger: Encodable {
        var captured: Int
        var encoded: Int
        var inFlight: Int
        var lostByDriver: Int
        var dropped: [String: Int]
        var isBalanced: Bool
    }

    struct Interruption: Encodable {
        var reason: String
        var beganAt: Double
        var endedAt: Double?
    }

    /// How much the driver had been asked at a time.
    struct Sample: Encodable {
        var at: Double
        var requests: Int
    }

    /// The frames that arrived where the encoder would be.
    struct Frames: Encodable {
        var count = 0
        /// When there was a picture that differs from the one before: those come from the camera.
        var changes: [Double] = []
        var firstAt: Double?
        var lastAt: Double?
        /// Times without a frame, of half a second and more: from one frame to the next.
        var silences: [[Double]] = []
        var timestampsIncrease = true
        /// Frames a second that the capturer got from the driver, from the first that arrived to the last.
        var capturedRate: Double?
    }

    /// Each mode that was opened, in order.
    var modes: [Mode] = []
    var pixelFormat = ""
    var frames = Frames()
    var interruptions: [Interruption] = []
    var ratesMissed: [Double] = []
    /// Sums of what the capturer's events told.
    var lossesReported = 0
    var dropsReported: [String: Int] = [:]
    var ledger: Ledger?
    var stopBeganAt = 0.0
    var stopSeconds = 0.0
    var devicesOpenAfterStop = 0
    /// When the capturer is gone.
    var system: WatchedV4L2.Counts?
    var requestsOverTime: [Sample] = []
    var descriptorsLeft = 0

    mutating func take(_ ledger: CaptureLedger) {
        let dropped = ledger.droppedByReason.map { ($0.key.rawValue, $0.value) }
        self.ledger = Ledger(
            captured: ledger.captured, encoded: ledger.encoded, inFlight: ledger.inFlight,
            lostByDriver: ledger.lostByDriver, dropped: Dictionary(uniqueKeysWithValues: dropped),
            isBalanced: ledger.isBalanced)
    }
}
