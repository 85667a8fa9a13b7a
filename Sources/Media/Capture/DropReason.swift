/// Why a captured frame was not encoded. Raw values are the names in statistics.
public enum DropReason: String, CaseIterable, Hashable, Sendable {
    /// Nobody watches, so nothing is encoded.
    case noSubscribers
    /// The publisher is paused or muted.
    case paused
    /// The frame came when capturing was not running, or waited for the encoder when it was stopped.
    case captureStopped
    /// Pictures: a newer one came before the encoder took this one.
    case mailboxReplaced
    /// Sound: the queue was full, so its oldest frame went.
    case queueFull
    /// The encoder's rate control left it out.
    case encoderRateControl
    /// The encoder refused or failed.
    case encoderFailed
    /// Left out to hold the wanted rate or size.
    case adaptation
    /// It could not be used: damaged, or not later than the frame before it.
    case invalid
    /// No memory was free to take it into.
    case noBuffer
    /// It was due while the capturer was late and would have come too late.
    case captureLate

    /// The position in a table of counts.
    var index: Int {
        switch self {
        case .noSubscribers: 0
        case .paused: 1
        case .captureStopped: 2
        case .mailboxReplaced: 3
        case .queueFull: 4
        case .encoderRateControl: 5
        case .encoderFailed: 6
        case .adaptation: 7
        case .invalid: 8
        case .noBuffer: 9
        case .captureLate: 10
        }
    }
}

/// What became of a frame handed to a consumer.
public enum ConsumeResult: Hashable, Sendable {
    /// It waits for the encoder; it may still be replaced by a newer one.
    case accepted
    case dropped(DropReason)
}
