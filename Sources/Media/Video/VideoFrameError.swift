/// Why a frame could not be made. Nothing was consumed; borrowed memory has been released.
public enum VideoFrameError: Error, Hashable, Sendable {
    /// A side is not in 1…``VideoFormat/largestSide``.
    case sizeOutOfRange(VideoSize)
    /// The format has another number of planes than strides were given.
    case wrongStrideCount(needed: Int, given: Int)
    /// Rows do not fit between one row's start and the next, or lie more than ``VideoFormat/largestStride`` apart.
    case strideOutOfRange(plane: Int, needed: Int, given: Int)
    /// The format has another number of planes than regions of memory or offsets were given.
    case wrongPlaneCount(needed: Int, given: Int)
    /// The memory given for a plane ends before its last row does. In bytes.
    case planeTooSmall(plane: Int, needed: Int, given: Int)
    /// Metadata of a frame are limited to ``FrameMetadata/capacity`` bytes.
    case metadataTooLong(limit: Int, given: Int)
    /// All frames of the pool are still held by someone.
    case poolExhausted(limit: Int)
}

extension VideoFrameError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .sizeOutOfRange(let size):
            "a picture of \(size) pixels: both sides must be 1 to \(VideoFormat.largestSide)"
        case .wrongStrideCount(let needed, let given):
            "\(given) strides given, the pixel format has \(needed) planes"
        case .strideOutOfRange(let plane, let needed, let given):
            "stride of plane \(plane) is \(given) bytes, must be \(needed) to \(VideoFormat.largestStride)"
        case .wrongPlaneCount(let needed, let given):
            "\(given) planes given, the pixel format has \(needed)"
        case .planeTooSmall(let plane, let needed, let given):
            "plane \(plane) needs \(needed) bytes, \(given) given"
        case .metadataTooLong(let limit, let given):
            "\(given) bytes of metadata, at most \(limit) are carried"
        case .poolExhausted(let limit):
            "all \(limit) frames of the pool are in use: release frames sooner, or make the pool with a higher limit"
        }
    }
}
