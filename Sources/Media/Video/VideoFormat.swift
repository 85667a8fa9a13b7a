/// The shape of pictures: samples, size, strides, colour.
///
/// ```swift
/// let format = try VideoFormat(.nv12, width: 640, height: 480, frameRate: .fps30)
/// ```
public struct VideoFormat: Hashable, Sendable {
    /// Larger pictures are refused: VP8 has 14 bits for each side (RFC 6386 §9.1).
    public static let maximumSide = 16_383

    public let pixelFormat: PixelFormat
    public let width: Int
    public let height: Int
    /// Bytes from one row to the next, for each plane.
    public let strides: [Int]
    public let colorMatrix: ColorMatrix
    public let colorRange: ColorRange
    /// The rate that is expected; `nil` where it is not known or varies.
    public let frameRate: FrameRate?

    /// - Parameters:
    ///   - strides: bytes from row to row of each plane; `nil`: rows without padding.
    ///   - colorMatrix: for RGB formats, the matrix that a conversion to YUV shall use.
    public init(
        _ pixelFormat: PixelFormat, width: Int, height: Int, strides: [Int]? = nil,
        colorMatrix: ColorMatrix = .bt601, colorRange: ColorRange = .limited, frameRate: FrameRate? = nil
    ) throws(VideoFrameError) {
        guard (1...Self.maximumSide).contains(width), (1...Self.maximumSide).contains(height) else {
            throw .unsupportedSize(width: width, height: height)
        }
        let tight = (0..<pixelFormat.planeCount).map { pixelFormat.rowByteCount(plane: $0, width: width) }
        if let strides {
            guard strides.count == tight.count else {
                throw .wrongPlaneCount(needed: tight.count, given: strides.count)
            }
            for (plane, stride) in strides.enumerated() {
                // Above, a picture would need more memory than any machine that encodes it.
                guard stride >= tight[plane], stride <= 1 << 20 else {
                    throw .strideTooSmall(plane: plane, needed: tight[plane], given: stride)
                }
            }
        }
        self.pixelFormat = pixelFormat
        self.width = width
        self.height = height
        self.strides = strides ?? tight
        self.colorMatrix = colorMatrix
        self.colorRange = colorRange
        self.frameRate = frameRate
    }

    /// Bytes that a plane needs: full rows, the last one without padding.
    public func byteCount(plane: Int) -> Int {
        (rowCount(plane: plane) - 1) * strides[plane] + rowByteCount(plane: plane)
    }

    public func rowCount(plane: Int) -> Int { pixelFormat.rowCount(plane: plane, height: height) }
    public func rowByteCount(plane: Int) -> Int { pixelFormat.rowByteCount(plane: plane, width: width) }

    /// Where each plane begins when they lie one behind the other, all rows padded.
    public var planeOffsets: [Int] {
        var offset = 0
        return strides.indices.map { plane in
            defer { offset += strides[plane] * rowCount(plane: plane) }
            return offset
        }
    }

    /// Bytes of all planes one behind the other; the last row needs no padding.
    public var byteCount: Int {
        let last = strides.count - 1
        return planeOffsets[last] + byteCount(plane: last)
    }
}
