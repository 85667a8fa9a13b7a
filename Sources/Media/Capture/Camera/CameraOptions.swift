import EmisoraVideo

/// How ``CameraCapture`` treats pictures.
public struct CameraOptions: Sendable {
    /// What happens to pictures that wait when a newer one is there already.
    public enum LateFramePolicy: Hashable, Sendable {
        /// Only the newest goes on, the others count as ``DropReason/captureLate``; AVCapture's
        /// `alwaysDiscardsLateVideoFrames`.
        case discard
        /// All go on, oldest first.
        case keep
    }

    /// What the stream shows while the camera is away.
    public enum WhileAway: Sendable {
        /// The last picture; a dark one if there was none.
        case lastPicture
        /// This picture, or a dark one of the camera's size.
        case slate(VideoFrame?)
    }

    public var lateFramePolicy: LateFramePolicy
    public var whileAway: WhileAway
    /// Pictures per second while the camera is away, 1…5.
    public var awayFrameRate: Int
    /// How many buffers the driver is asked for, 3…32. Pictures are handed on without a copy for as long as two are
    /// left with the driver.
    public var bufferCount: Int

    public init(
        lateFramePolicy: LateFramePolicy = .discard, whileAway: WhileAway = .lastPicture, awayFrameRate: Int = 2,
        bufferCount: Int = 6
    ) {
        self.lateFramePolicy = lateFramePolicy
        self.whileAway = whileAway
        self.awayFrameRate = awayFrameRate
        self.bufferCount = bufferCount
    }

    func check() throws(CaptureError) {
        guard (1...5).contains(awayFrameRate) else {
            throw .invalidOption("awayFrameRate \(awayFrameRate): 1 to 5 pictures a second")
        }
        guard (3...32).contains(bufferCount) else { throw .invalidOption("bufferCount \(bufferCount): 3 to 32") }
    }
}
