/// Tells a receiver the bounds of its playout delay: in every packet until a report shows that one of them came
/// through, as the extension's description has it, and in key frames from then on, for whoever joins behind an SFU.
struct PlayoutDelayAnnouncement: Sendable {
    let bounds: HeaderExtensionValues.PlayoutDelay
    /// Of the first packet that carried them.
    private var first: UInt16?
    private var isAcknowledged = false

    init(_ bounds: HeaderExtensionValues.PlayoutDelay) {
        self.bounds = bounds
    }

    /// What the packet of that number carries.
    mutating func value(for number: UInt16, isKeyFrame: Bool) -> HeaderExtensionValues.PlayoutDelay? {
        guard !isAcknowledged else { return isKeyFrame ? bounds : nil }
        first = first ?? number
        return bounds
    }

    /// The receiver has had this packet: every one since the first carried the bounds.
    mutating func handleReport(highest number: UInt16) {
        guard let first, !isAcknowledged else { return }
        isAcknowledged = Int16(bitPattern: number &- first) >= 0
    }

    /// The numbers begin anew.
    mutating func restart() {
        self = PlayoutDelayAnnouncement(bounds)
    }
}
