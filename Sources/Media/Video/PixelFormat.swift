/// How a picture's samples lie in memory.
///
/// Packed RGB names spell the bytes as they lie in memory, lowest address first, as FFmpeg and CoreVideo name them.
/// libyuv names the same layouts after little-endian words; its name is given where it differs.
///
/// `w` and `h` are the picture's size, `cw = (w + 1) / 2` and `ch = (h + 1) / 2` its chroma size: odd sizes round up.
public enum PixelFormat: UInt8, CaseIterable, Hashable, Sendable {
    /// Planar 4:2:0, three planes: Y (`w` × `h` bytes), U (`cw` × `ch`), V (`cw` × `ch`).
    case i420
    /// 4:2:0 in two planes: Y (`w` × `h`), then interleaved U V U V … (`2·cw` × `ch`).
    case nv12
    /// 4:2:0 in two planes: Y (`w` × `h`), then interleaved V U V U … (`2·cw` × `ch`).
    case nv21
    /// Packed 4:2:2, one plane: Y0 U Y1 V for every two pixels (`4·cw` bytes a row). Also known as YUYV.
    case yuy2
    /// Packed 4:2:2, one plane: U Y0 V Y1 for every two pixels (`4·cw` bytes a row).
    case uyvy
    /// One plane, four bytes a pixel: A R G B in memory, as OpenTok's ARGB. libyuv calls it `BGRA`.
    case argb
    /// One plane, four bytes a pixel: B G R A in memory, as X11 and Wayland have it. libyuv calls it `ARGB`.
    case bgra
    /// One plane, four bytes a pixel: R G B A in memory. libyuv calls it `ABGR`.
    case rgba
    /// One plane, three bytes a pixel: R G B in memory. libyuv calls it `RAW`.
    case rgb24

    /// 3 for I420, 2 for NV12 and NV21, 1 for packed formats.
    public var planeCount: Int {
        switch self {
        case .i420: 3
        case .nv12, .nv21: 2
        case .yuy2, .uyvy, .argb, .bgra, .rgba, .rgb24: 1
        }
    }

    /// Whether the samples are red, green and blue rather than luma and chroma.
    public var isRGB: Bool {
        switch self {
        case .i420, .nv12, .nv21, .yuy2, .uyvy: false
        case .argb, .bgra, .rgba, .rgb24: true
        }
    }

    /// Bytes in use in each row of `plane`, and its number of rows, in a picture of `width` × `height` pixels.
    func extent(ofPlane plane: Int, width: Int, height: Int) -> (rowBytes: Int, rows: Int) {
        let chromaWidth = (width + 1) / 2
        let chromaHeight = (height + 1) / 2
        return switch self {
        case .i420: plane == 0 ? (width, height) : (chromaWidth, chromaHeight)
        case .nv12, .nv21: plane == 0 ? (width, height) : (2 * chromaWidth, chromaHeight)
        case .yuy2, .uyvy: (4 * chromaWidth, height)
        case .argb, .bgra, .rgba: (4 * width, height)
        case .rgb24: (3 * width, height)
        }
    }
}
