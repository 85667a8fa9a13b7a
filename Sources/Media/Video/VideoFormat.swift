/// The shape of a picture in memory: pixel format, size, strides, colours, and the rate if it is known.
///
/// ```swift
/// let format = VideoFormat(.argb, width: 640, height: 480, frameRate: 30)
/// let padded = VideoFormat(.nv12, width: 1366, height: 768, strides: [1408, 1408])
/// ```
///
/// A format is only a description: anything may be written down. It is checked when a frame is made with it, and
/// by ``validate()``.
public struct VideoFormat: Hashable, Sendable {
    /// Width and height may be at most this many pixels (the limit of VP8's 14-bit fields, rounded up).
    public static let largestSide = 16_384
    /// A row may be at most this many bytes apart from the next.
    public static let largestStride = 1 << 20

    public let pixelFormat: PixelFormat
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    public let colorMatrix: ColorMatrix
    public let colorRange: ColorRange
    /// The rate at which pictures are expected, if there is one.
    public let frameRate: FrameRate?

    private let stride0: Int
    private let stride1: Int
    private let stride2: Int
    private let givenStrides: Int

    /// - Parameters:
    ///   - strides: Bytes from one row to the next, one for each plane; `nil` for rows without padding.
    ///   - colorMatrix: What the luma and chroma samples mean. For RGB, what the encoder converts into.
    public init(
        _ pixelFormat: PixelFormat, width: Int, height: Int, strides: [Int]? = nil,
        colorMatrix: ColorMatrix = .bt601, colorRange: ColorRange = .limited, frameRate: FrameRate? = nil
    ) {
        self.pixelFormat = pixelFormat
        self.width = width
        self.height = height
        self.colorMatrix = colorMatrix
        self.colorRange = colorRange
        self.frameRate = frameRate
        let (width, height) = (Self.computable(width), Self.computable(height))
        func stride(_ plane: Int) -> Int {
            guard plane < pixelFormat.planeCount else { return 0 }
            if let strides { return plane < strides.count ? strides[plane] : 0 }
            return pixelFormat.extent(ofPlane: plane, width: width, height: height).rowBytes
        }
        stride0 = stride(0)
        stride1 = stride(1)
        stride2 = stride(2)
        givenStrides = strides?.count ?? pixelFormat.planeCount
    }

    public init(
        _ pixelFormat: PixelFormat, size: VideoSize, colorMatrix: ColorMatrix = .bt601,
        colorRange: ColorRange = .limited, frameRate: FrameRate? = nil
    ) {
        self.init(
            pixelFormat, width: size.width, height: size.height, colorMatrix: colorMatrix, colorRange: colorRange,
            frameRate: frameRate)
    }

    public var size: VideoSize { VideoSize(width: width, height: height) }
    public var planeCount: Int { pixelFormat.planeCount }

    /// Bytes from the start of one row of `plane` to the next. Traps if there is no such plane.
    public func stride(ofPlane plane: Int) -> Int {
        precondition(0 <= plane && plane < planeCount, "\(pixelFormat) has \(planeCount) planes, asked for \(plane)")
        return plane == 0 ? stride0 : plane == 1 ? stride1 : stride2
    }

    /// The rows of `plane` and what they need. Traps if there is no such plane.
    public func layout(ofPlane plane: Int) -> PlaneLayout {
        let stride = min(max(stride(ofPlane: plane), 0), Self.largestStride)
        let (rowBytes, rows) = pixelFormat.extent(
            ofPlane: plane, width: Self.computable(width), height: Self.computable(height))
        return PlaneLayout(rowBytes: rowBytes, rows: rows, stride: stride)
    }

    /// Bytes of all planes laid one after the other, each with whole rows of its stride.
    public var byteCount: Int {
        var sum = 0
        for plane in 0..<planeCount { sum += layout(ofPlane: plane).paddedByteCount }
        return sum
    }

    /// Throws if no frame can have this format: a side that is not 1…``largestSide``, strides that are too few, too
    /// short for a row, or longer than ``largestStride``.
    public func validate() throws(VideoFrameError) {
        let sides = 1...Self.largestSide
        guard sides.contains(width), sides.contains(height) else { throw .sizeOutOfRange(size) }
        guard givenStrides == planeCount else { throw .wrongStrideCount(needed: planeCount, given: givenStrides) }
        for plane in 0..<planeCount {
            let needed = layout(ofPlane: plane).rowBytes
            let given = stride(ofPlane: plane)
            guard given >= needed, given <= Self.largestStride else {
                throw .strideOutOfRange(plane: plane, needed: needed, given: given)
            }
        }
    }

    /// The same format with another rate.
    public func with(frameRate: FrameRate?) -> VideoFormat { VideoFormat(self, frameRate: frameRate) }

    private init(_ other: VideoFormat, frameRate: FrameRate?) {
        pixelFormat = other.pixelFormat
        width = other.width
        height = other.height
        colorMatrix = other.colorMatrix
        colorRange = other.colorRange
        self.frameRate = frameRate
        stride0 = other.stride0
        stride1 = other.stride1
        stride2 = other.stride2
        givenStrides = other.givenStrides
    }

    /// Sides within what layouts can be computed for without overflow, whatever was written down.
    private static func computable(_ side: Int) -> Int { min(max(side, 0), largestSide) }
}

/// The rows of one plane. All in bytes, except the number of rows.
public struct PlaneLayout: Hashable, Sendable {
    /// Bytes of a row that carry samples.
    public let rowBytes: Int
    public let rows: Int
    /// Bytes from the start of one row to the next.
    public let stride: Int

    /// The least memory the plane fits in: the last row needs no padding.
    public var byteCount: Int { rows == 0 ? 0 : stride * (rows - 1) + rowBytes }
    /// The memory of the plane with whole rows.
    public var paddedByteCount: Int { stride * rows }
}
