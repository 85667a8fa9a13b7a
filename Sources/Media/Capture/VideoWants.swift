import EmisoraVideo

/// What the pipeline can use at most. A capturer that can deliver less saves work by doing so; it need not.
///
/// Pictures that are not made for this were never captured and are counted nowhere. Those that a device made in any case,
/// and those that are handed over nevertheless, count as ``DropReason/adaptation``, or are scaled down.
public struct VideoWants: Hashable, Sendable {
    /// Larger pictures would be scaled down. `nil`: any size.
    public var largestSize: VideoSize?
    /// More pictures would be dropped as ``DropReason/adaptation``. `nil`: any rate.
    public var highestFrameRate: FrameRate?

    public init(largestSize: VideoSize? = nil, highestFrameRate: FrameRate? = nil) {
        self.largestSize = largestSize
        self.highestFrameRate = highestFrameRate
    }

    /// The size to make a picture in that would be `size` if nothing were wanted: the largest of the same shape that is
    /// not too large, with even sides.
    public func size(for size: VideoSize) -> VideoSize {
        guard let largest = largestSize, size.width > largest.width || size.height > largest.height else { return size }
        func scaled(_ side: Int, _ numerator: Int, _ denominator: Int) -> Int {
            // Exact, and harmless whatever numbers an application makes up.
            max(2, Int(clamping: Int128(side) * Int128(max(0, numerator)) / Int128(max(1, denominator))) & ~1)
        }
        let isWidthTheLimit =
            Int128(largest.width) * Int128(size.height) <= Int128(largest.height) * Int128(size.width)
        let (limit, side) = isWidthTheLimit ? (largest.width, size.width) : (largest.height, size.height)
        return VideoSize(width: scaled(size.width, limit, side), height: scaled(size.height, limit, side))
    }
}

extension VideoFormat {
    /// This format in the size that is wanted; rows of the scaled picture lie close.
    func scaled(for wants: VideoWants) -> VideoFormat {
        let wanted = wants.size(for: size)
        guard wanted != size else { return self }
        return VideoFormat(
            pixelFormat, size: wanted, colorMatrix: colorMatrix, colorRange: colorRange, frameRate: frameRate)
    }
}
