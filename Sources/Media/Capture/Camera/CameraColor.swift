import EmisoraVideo

/// Colours as V4L2 describes them, with its rules for what a driver leaves open.
/// Source: `V4L2_MAP_YCBCR_ENC_DEFAULT` and `V4L2_MAP_QUANTIZATION_DEFAULT` of `linux/videodev2.h`.
struct CameraColor: Hashable, Sendable {
    var matrix: ColorMatrix
    var range: ColorRange

    init(_ format: V4L2Format, isRGB: Bool, isJPEG: Bool) {
        let (rec709, smpte240m, jpeg, bt2020, dciP3): (UInt32, UInt32, UInt32, UInt32, UInt32) = (3, 2, 7, 10, 12)
        switch format.ycbcrEncoding {
        case 0:
            let isWide = [rec709, smpte240m, bt2020, dciP3].contains(format.colorspace)
            matrix = isWide ? .bt709 : .bt601
        // BT.709, xvYCC 709; BT.2020 and SMPTE 240M are nearer to BT.709 than to BT.601.
        case 2, 4, 6, 7, 8: matrix = .bt709
        // BT.601, xvYCC 601, sYCC.
        default: matrix = .bt601
        }
        switch format.quantization {
        case 1: range = .full
        case 2: range = .limited
        // JFIF is full range; drivers seldom say so.
        default: range = isRGB || isJPEG || format.colorspace == jpeg ? .full : .limited
        }
    }
}
