import EmisoraVideo

/// What the pipeline can use at most. A capturer that can deliver less saves work by doing so; it need not.
public struct VideoWants: Hashable, Sendable {
    /// Larger pictures would be scaled down. `nil`: any size.
    public var largestSize: VideoSize?
    /// More pictures would be dropped as ``DropReason/adaptation``. `nil`: any rate.
    public var highestFrameRate: FrameRate?

    public init(largestSize: VideoSize? = nil, highestFrameRate: FrameRate? = nil) {
        self.largestSize = largestSize
        self.highestFrameRate = highestFrameRate
    }
}
