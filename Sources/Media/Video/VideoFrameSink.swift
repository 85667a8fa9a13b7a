/// Where decoded pictures go.
public protocol VideoFrameSink: Sendable {
    /// Called on a media thread, one picture at a time. Must not block for long: the next picture waits.
    func receive(_ frame: VideoFrame)
}
