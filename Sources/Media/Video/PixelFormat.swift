/// How a picture's samples lie in memory. Names of packed formats give the order of the bytes in memory.
public enum PixelFormat: String, Hashable, Sendable, CaseIterable {
    /// Three planes: Y, then U and V at half width and height (also known as YU12).
    case i420
    /// Two planes: Y, then U and V interleaved at half width and height.
    case nv12
    /// As `nv12` with V before U.
    case nv21
    /// One plane: Y0 U Y1 V for every two pixels (also known as YUYV).
    case yuy2
    /// One plane: U Y0 V Y1 for every two pixels.
    case uyvy
    /// One plane: alpha, red, green, blue. Alpha is ignored. What OpenTok's example calls ARGB.
    case argb
    /// One plane: blue, green, red, alpha. What libyuv and most drawing libraries call ARGB (as a little-endian word).
    case bgra
    /// One plane: red, green, blue, alpha.
    case rgba
    /// One plane: red, green, blue, without padding between pixels.
    case rgb24

    public var planeCount: Int {
        switch self {
        case .i420: 3
        case .nv12, .nv21: 2
        case .yuy2, .uyvy, .argb, .bgra, .rgba, .rgb24: 1
        }
    }

    /// Bytes of one row of a plane without padding. Odd widths round up to whole chroma samples.
    public func rowByteCount(plane: Int, width: Int) -> Int {
        let half = (width + 1) / 2
        switch self {
        case .i420: return plane == 0 ? width : half
        case .nv12, .nv21: return plane == 0 ? width : 2 * half
        case .yuy2, .uyvy: return 4 * half
        case .argb, .bgra, .rgba: return 4 * width
        case .rgb24: return 3 * width
        }
    }

    /// Rows of a plane. Odd heights round up to whole chroma samples.
    public func rowCount(plane: Int, height: Int) -> Int {
        switch self {
        case .i420, .nv12, .nv21: plane == 0 ? height : (height + 1) / 2
        case .yuy2, .uyvy, .argb, .bgra, .rgba, .rgb24: height
        }
    }
}
