import EmisoraCore
import EmisoraVideo

/// A compressed picture as it goes to the network.
public struct EncodedVideoFrame: Sendable {
    public let payload: [UInt8]
    public let isKeyFrame: Bool
    /// When the picture was captured.
    public let captureTime: Instant
    public let width: Int
    public let height: Int
    /// How far receivers must turn the picture clockwise to show it upright.
    public let rotation: VideoRotation
    /// VP8's quantizer index, 0 (best) … 63.
    public let quantizer: Int
}
