import CEmisoraVPX
import EmisoraCore
import EmisoraVideo

/// VP8 decoder through libvpx. Owns the codec; one thread at a time.
public final class VP8Decoder {
    /// Pixels of the largest picture that is decoded by default: 4096×2304.
    public static let defaultMaximumPixelCount = 4_096 * 2_304

    private let maximumPixelCount: Int
    private let pool = VideoFramePool(limit: 32)
    private var codec = vpx_codec_ctx_t()
    private var hasKeyFrame = false

    /// - Parameter maximumPixelCount: key frames that claim more are refused before any memory is taken for them.
    public init(maximumPixelCount: Int = defaultMaximumPixelCount) throws(CodecError) {
        self.maximumPixelCount = maximumPixelCount
        var settings = vpx_codec_dec_cfg_t()
        settings.threads = 1
        guard emisora_vp8_dec_init(&codec, &settings) == VPX_CODEC_OK else {
            throw .library("libvpx has no VP8 decoder")
        }
    }

    deinit {
        vpx_codec_destroy(&codec)
    }

    /// Decodes one frame into an I420 picture with the given timestamp.
    ///
    /// Damaged bytes throw and change nothing that a following key frame does not mend. A key frame's size is looked at
    /// before decoding: thirty bytes that claim 16383×16383 would cost 850 MB. Until a key frame was decoded, and again
    /// after damage, all others are refused.
    ///
    /// - Throws: `pictureTooLarge`, `corrupted`, or `hiddenPicture` for a sound frame that is never shown.
    public func decode(_ payload: [UInt8], timestamp: Instant) throws(CodecError) -> VideoFrame {
        try checkHeader(payload)
        let status = payload.withUnsafeBufferPointer {
            vpx_codec_decode(&codec, $0.baseAddress, UInt32(clamping: $0.count), nil, 0)
        }
        guard status == VPX_CODEC_OK else {
            hasKeyFrame = false
            throw .corrupted(String(cString: vpx_codec_err_to_string(status)))
        }
        if payload[0] & 1 == 0 { hasKeyFrame = true }
        var iterator: vpx_codec_iter_t?
        guard let image = vpx_codec_get_frame(&codec, &iterator) else {
            throw Self.isShown(payload) ? .corrupted("it shows no picture") : .hiddenPicture
        }
        return try copy(image.pointee, timestamp: timestamp)
    }

    /// RFC 6386 §9.1: bit 4 of the frame tag.
    private static func isShown(_ payload: [UInt8]) -> Bool { (payload.first ?? 0) & 0x10 != 0 }

    private func checkHeader(_ payload: [UInt8]) throws(CodecError) {
        guard let first = payload.first else { throw .corrupted("it is empty") }
        guard first & 1 == 0 else {
            guard hasKeyFrame else { throw .corrupted("it refers to a key frame that never came") }
            return
        }
        var info = vpx_codec_stream_info_t()
        info.sz = UInt32(MemoryLayout<vpx_codec_stream_info_t>.size)
        let status = payload.withUnsafeBufferPointer {
            vpx_codec_peek_stream_info(vpx_codec_vp8_dx(), $0.baseAddress, UInt32(clamping: $0.count), &info)
        }
        guard status == VPX_CODEC_OK, info.is_kf != 0, info.w > 0, info.h > 0 else {
            throw .corrupted("its key frame header is broken")
        }
        guard Int(info.w) * Int(info.h) <= maximumPixelCount else {
            throw .pictureTooLarge(width: Int(info.w), height: Int(info.h))
        }
    }

    private func copy(_ image: vpx_image_t, timestamp: Instant) throws(CodecError) -> VideoFrame {
        let format = VideoFormat(.i420, width: Int(image.d_w), height: Int(image.d_h))
        var frame: MutableVideoFrame
        do throws(VideoFrameError) {
            frame = try pool.makeFrame(format)
        } catch {
            if case .poolExhausted(let limit) = error { throw .picturesExhausted(limit: limit) }
            throw .corrupted("\(error)")
        }
        frame.withUnsafeMutablePlanes { y, u, v in
            Self.copyRows(of: image.planes.0, stride: image.stride.0, to: y, format.layout(ofPlane: 0))
            Self.copyRows(of: image.planes.1, stride: image.stride.1, to: u, format.layout(ofPlane: 1))
            Self.copyRows(of: image.planes.2, stride: image.stride.2, to: v, format.layout(ofPlane: 2))
        }
        return frame.finish(timestamp: timestamp)
    }

    private static func copyRows(
        of plane: UnsafeMutablePointer<UInt8>?, stride: Int32, to target: UnsafeMutableRawBufferPointer,
        _ layout: PlaneLayout
    ) {
        guard let plane, let start = target.baseAddress else { return }
        for row in 0..<layout.rows {
            (start + row * layout.stride).copyMemory(from: plane + row * Int(stride), byteCount: layout.rowBytes)
        }
    }
}
