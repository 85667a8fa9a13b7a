/// Why a format or a frame was refused when it was made.
public enum VideoFrameError: Error, Hashable, Sendable, CustomStringConvertible {
    case unsupportedSize(width: Int, height: Int)
    case wrongPlaneCount(needed: Int, given: Int)
    case strideTooSmall(plane: Int, needed: Int, given: Int)
    /// The memory ends before the plane does.
    case planeTooSmall(plane: Int, needed: Int, given: Int)
    case metadataTooLong(given: Int)
    case outOfMemory(needed: Int)

    public var description: String {
        switch self {
        case .unsupportedSize(let width, let height):
            "A picture of \(width)×\(height) is not supported; each side must be 1 to \(VideoFormat.maximumSide)."
        case .wrongPlaneCount(let needed, let given):
            "The pixel format has \(needed) planes, but \(given) strides or offsets were given."
        case .strideTooSmall(let plane, let needed, let given):
            "Plane \(plane) needs a stride of at least \(needed) bytes (and at most 1 MiB), but \(given) was given."
        case .planeTooSmall(let plane, let needed, let given):
            "Plane \(plane) needs \(needed) bytes, but the memory behind its offset has \(given)."
        case .metadataTooLong(let given):
            "Metadata may have 32 bytes, but \(given) were given."
        case .outOfMemory(let needed):
            "There is no memory for a picture of \(needed) bytes."
        }
    }
}
