/// What happens to a microphone while it captures. Told on the capturer's thread; must not block.
public enum MicrophoneEvent: Hashable, Sendable {
    /// The device was opened, or opened anew: how it really records.
    case opened(device: String, sampleRate: Int, channels: Int)
    /// So much sound is missing: the device's buffer ran over, or it was away. Timestamps have jumped accordingly.
    case soundLost(Duration, MicrophoneLoss)
    /// No sound comes; the device is taken up again as soon as it is back.
    case interruptionBegan(MicrophoneInterruption)
    /// The device's sound is back.
    case interruptionEnded(after: Duration)
}

/// Why sound is missing.
public enum MicrophoneLoss: String, Hashable, Sendable {
    /// Sound was not fetched in time, and the device's buffer ran over (xrun).
    case overrun
    /// The device was away or stood still, see ``MicrophoneEvent/interruptionBegan(_:)``.
    case interruption
    /// The device's times have jumped, without a word of its driver.
    case discontinuity
}

/// Why sound stopped.
public enum MicrophoneInterruption: Hashable, Sendable {
    case unplugged
    /// The machine slept.
    case suspended
    /// No sound for a second.
    case stalled
    case failed(MicrophoneError)
}

extension MicrophoneInterruption: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unplugged: "The microphone was unplugged."
        case .suspended: "The microphone was suspended."
        case .stalled: "The microphone gives no sound any more."
        case .failed(let error): "The microphone failed: \(error)."
        }
    }
}

/// Counts of a microphone since its last start.
public struct MicrophoneStatistics: Hashable, Sendable {
    /// How often the device's buffer ran over.
    public internal(set) var overruns = 0
    /// How often sound stopped for another reason.
    public internal(set) var interruptions = 0
    /// How much sound is missing, from all causes.
    public internal(set) var lost = Duration.zero
    /// How much faster the device's clock runs than the monotonic one, in millionths, as measured so far. Corrected in
    /// the frames.
    public internal(set) var driftPartsPerMillion = 0.0

    public init() {}
}
