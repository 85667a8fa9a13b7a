import EmisoraCore

/// How much is sent against losses before they happen, decided by what the peer reports of the last ones.
///
/// Sound has no retransmissions: it carries its last packets once more as soon as something is lost, which costs next to
/// nothing. Pictures are asked for again, which mends everything as long as the round trip is short; parity packets are
/// worth their share of the rate only where it is long.
struct RepairPolicy: Sendable {
    private static let notableLoss = 0.01
    private static let heavyLoss = 0.1
    private static let heavyFor: Duration = .seconds(10)
    private static let notableFor: Duration = .seconds(30)
    private static let longRoundTrip: Duration = .milliseconds(80)
    /// What has begun goes on a little below the limits at which it begins, so that it does not come and go.
    private static let persistence = 0.5
    private static let roundTripPersistence: Duration = .milliseconds(60)
    /// Over which losses are averaged.
    private static let window = 3.0
    /// Four parity packets for each lost one: single losses of a group are what they mend.
    private static let protectionPerLoss = 4.0
    private static let protectionLimit = 0.25
    /// In steps, since the encoder's rate follows each change.
    private static let protectionStep = 0.05

    /// How many packets before it each packet of sound carries.
    private(set) var soundDepth = 0
    /// Parity packets for each packet of pictures, 0…0.25.
    private(set) var pictureProtection = 0.0

    private var notableLossAt: Instant?
    private var heavyLossAt: Instant?
    private var pictureLoss = 0.0
    private var lastReportAt: Instant?

    /// Takes what a report says of the interval since the one before.
    mutating func handle(
        fractionLost: Double, of stream: SendControl.Stream, roundTripTime: Duration?, now: Instant
    ) {
        if fractionLost >= Self.notableLoss { notableLossAt = now }
        if fractionLost >= Self.heavyLoss { heavyLossAt = now }
        func lies(_ instant: Instant?, within duration: Duration) -> Bool {
            instant.map { now - $0 < duration } ?? false
        }
        soundDepth =
            lies(heavyLossAt, within: Self.heavyFor) ? 2 : lies(notableLossAt, within: Self.notableFor) ? 1 : 0
        guard stream == .video else { return }
        // Whatever the interval of reports is, three seconds count most.
        let elapsed = min(10, lastReportAt.map { max(0, (now - $0).inSeconds) } ?? 1)
        lastReportAt = now
        pictureLoss += (min(1, max(0, fractionLost)) - pictureLoss) * elapsed / (elapsed + Self.window)
        pictureProtection = protection(roundTripTime: roundTripTime)
    }

    private func protection(roundTripTime: Duration?) -> Double {
        let isOn = pictureProtection > 0
        guard let roundTripTime, roundTripTime > (isOn ? Self.roundTripPersistence : Self.longRoundTrip),
            pictureLoss > Self.notableLoss * (isOn ? Self.persistence : 1)
        else { return 0 }
        let steps = (pictureLoss * Self.protectionPerLoss / Self.protectionStep).rounded(.up)
        return min(Self.protectionLimit, steps * Self.protectionStep)
    }
}
