import CEmisoraFFmpeg
import EmisoraVideo

/// What a picture's samples mean, as the file says or, where it is silent, as players take it.
struct PictureColor: Equatable {
    let matrix: ColorMatrix
    let range: ColorRange
    /// Whether the samples must be computed anew to mean that.
    let needsConversion: Bool
    /// What the samples mean to libswscale.
    let swscaleMatrix: Int32

    init(_ frame: UnsafeMutablePointer<AVFrame>, codec: AVCodecID) {
        let frame = frame.pointee
        switch frame.colorspace {
        case AVCOL_SPC_BT709: self.init(frame, .bt709)
        case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M, AVCOL_SPC_FCC: self.init(frame, .bt601)
        case AVCOL_SPC_SMPTE240M: self.init(frame, .bt709, from: SWS_CS_SMPTE240M)
        case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: self.init(frame, .bt709, from: SWS_CS_BT2020)
        default:
            // VP8 (RFC 6386 §9.2) and JPEG (JFIF) know nothing but BT.601.
            let isPlain = [AV_CODEC_ID_VP8, AV_CODEC_ID_MJPEG, AV_CODEC_ID_PNG].contains(codec)
            self.init(frame, !isPlain && (frame.height > 576 || frame.width > 1024) ? .bt709 : .bt601)
        }
    }

    private init(_ frame: AVFrame, _ matrix: ColorMatrix, from other: Int32? = nil) {
        self.matrix = matrix
        needsConversion = other != nil
        swscaleMatrix = other ?? (matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_ITU601)
        let fullFormats = [AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P]
        let isGray = emisora_av_is_gray(frame.format) != 0
        let isFull =
            frame.color_range == AVCOL_RANGE_JPEG || fullFormats.contains(AVPixelFormat(frame.format))
            || isGray && frame.color_range != AVCOL_RANGE_MPEG
        range = isFull ? .full : .limited
    }
}

extension PixelFormat {
    /// The format with the very same layout; `nil` if there is none. Formats with alpha are not among them: their
    /// pictures are laid on black first.
    init?(sameAs format: AVPixelFormat) {
        switch format {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: self = .i420
        case AV_PIX_FMT_NV12: self = .nv12
        case AV_PIX_FMT_NV21: self = .nv21
        case AV_PIX_FMT_YUYV422: self = .yuy2
        case AV_PIX_FMT_UYVY422: self = .uyvy
        case AV_PIX_FMT_RGB24: self = .rgb24
        default: return nil
        }
    }
}
