/// Where decoded sound goes.
public protocol AudioFrameSink: Sendable {
    /// Called on a media thread, one frame at a time. Must not block for long: the next frame waits.
    func receive(_ frame: AudioFrame)
}
