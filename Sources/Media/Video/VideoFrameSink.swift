/// Where decoded pictures go.
///
/// Called on a media thread, one frame at a time, in order. Return soon: while this runs no further picture is decoded.
public protocol VideoFrameSink: Sendable {
    func receive(_ frame: VideoFrame)
}
