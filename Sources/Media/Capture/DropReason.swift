/// Why a captured picture was not encoded. Each captured picture ends either encoded or dropped for one of these.
public enum DropReason: String, Hashable, Sendable, CaseIterable {
    /// Nobody watches; encoding would be for nothing.
    case noSubscribers
    /// A newer picture came before the encoder was free.
    case mailboxReplaced
    /// The encoder left it out to hold its bitrate.
    case encoderRateControl
    /// The encoder failed on it.
    case encoderError
    /// Left out to lower the rate on purpose.
    case adaptation
    /// The publisher's video is muted.
    case paused
    /// Its format cannot be used.
    case invalid
    /// The capturer had been stopped or replaced.
    case captureStopped
    /// The capturer came too late for it (its own pace).
    case capturerOverrun
}
