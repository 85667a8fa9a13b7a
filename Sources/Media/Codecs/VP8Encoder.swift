import CEmisoraVPX
import EmisoraCore
import EmisoraVideo

/// VP8 for real time through libvpx. Owns the codec; one thread at a time.
///
/// ```swift
/// let encoder = try VP8Encoder(.init(width: 640, height: 480, targetBitrate: .kilobitsPerSecond(1_500)))
/// if let encoded = try encoder.encode(frame, forceKeyFrame: false) { … }   // nil: left out to hold the bitrate
/// ```
public final class VP8Encoder {
    public struct Configuration: Hashable, Sendable {
        public var width: Int
        public var height: Int
        public var targetBitrate: DataRate
        public var maximumFramesPerSecond: Double
        public var contentHint: VideoContentHint
        /// libvpx's speed, −16 (fastest) … 0; below −3 in steps that cost little quality.
        public var speed: Int
        /// More than one spins while it waits (measured: three to nine times the CPU with a busy neighbour).
        public var threads: Int

        public init(
            width: Int, height: Int, targetBitrate: DataRate, maximumFramesPerSecond: Double = 30,
            contentHint: VideoContentHint = .none, speed: Int = -8, threads: Int = 1
        ) {
            self.width = width
            self.height = height
            self.targetBitrate = targetBitrate
            self.maximumFramesPerSecond = maximumFramesPerSecond
            self.contentHint = contentHint
            self.speed = speed
            self.threads = threads
        }

        /// Held within what libvpx's 32-bit arithmetic can count.
        var clampedKilobits: UInt32 { UInt32(clamping: min(max(10, targetBitrate.bitsPerSecond / 1_000), 100_000)) }
    }

    public private(set) var configuration: Configuration
    private var codec = vpx_codec_ctx_t()
    private var settings = vpx_codec_enc_cfg_t()
    private var isOpen = false
    /// The largest size since the codec was opened: it can shrink and grow again below this.
    private var openedSize = (width: 0, height: 0)
    private var frameRate: FrameRateEstimate
    private var nextTicks: Int64 = 0
    private static let ticksPerSecond: Int64 = 90_000
    /// The header has 14 bits for each side (RFC 6386 §9.1).
    private static let sides = 1...16_383

    public init(_ configuration: Configuration) throws(CodecError) {
        self.configuration = configuration
        frameRate = FrameRateEstimate(nominal: configuration.maximumFramesPerSecond)
        try open()
    }

    deinit {
        if isOpen { vpx_codec_destroy(&codec) }
    }

    // MARK: Changing while running

    /// Takes effect with the next picture; held between 10 kbit/s and 100 Mbit/s.
    public func setTargetBitrate(_ bitrate: DataRate) throws(CodecError) {
        guard bitrate != configuration.targetBitrate else { return }
        configuration.targetBitrate = bitrate
        settings.rc_target_bitrate = configuration.clampedKilobits
        if isOpen { try applySettings() }
    }

    /// What is expected before the pictures' timestamps tell their rate.
    public func setMaximumFramesPerSecond(_ rate: Double) {
        configuration.maximumFramesPerSecond = rate
        frameRate.nominal = rate
    }

    /// Encodes a picture. Another size than before starts with a key frame.
    ///
    /// - Returns: `nil` where the encoder left the picture out to hold its bitrate.
    public func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> EncodedVideoFrame? {
        let format: vpx_img_fmt_t
        switch frame.format.pixelFormat {
        case .i420: format = VPX_IMG_FMT_I420
        case .nv12: format = VPX_IMG_FMT_NV12
        default: throw .unsupportedPixelFormat("\(frame.format.pixelFormat)")
        }
        let isResized = !isOpen || frame.width != configuration.width || frame.height != configuration.height
        if isResized { try resize(width: frame.width, height: frame.height) }
        let (ticks, duration) = advanceTime(to: frame.timestamp)
        let flags = vpx_enc_frame_flags_t(forceKeyFrame || isResized ? VPX_EFLAG_FORCE_KF : 0)
        let status = frame.withUnsafePlanes { planes in
            var image = Self.image(frame.format, format, planes)
            return vpx_codec_encode(&codec, &image, ticks, UInt(duration), flags, UInt(VPX_DL_REALTIME))
        }
        guard status == VPX_CODEC_OK else { throw lastError() }
        return collect(frame)
    }

    // MARK: Inside

    private func open() throws(CodecError) {
        guard Self.sides.contains(configuration.width), Self.sides.contains(configuration.height) else {
            throw .invalidConfiguration("\(configuration.width)×\(configuration.height) is no size for VP8.")
        }
        guard vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &settings, 0) == VPX_CODEC_OK else {
            throw .library("libvpx has no VP8 encoder")
        }
        settings.g_w = UInt32(configuration.width)
        settings.g_h = UInt32(configuration.height)
        settings.g_timebase = vpx_rational_t(num: 1, den: Int32(Self.ticksPerSecond))
        settings.g_threads = UInt32(clamping: max(1, configuration.threads))
        settings.g_lag_in_frames = 0
        settings.g_pass = VPX_RC_ONE_PASS
        settings.g_error_resilient = 0
        settings.rc_end_usage = VPX_CBR
        settings.rc_target_bitrate = configuration.clampedKilobits
        settings.rc_min_quantizer = 2
        settings.rc_max_quantizer = 56
        settings.rc_undershoot_pct = 100
        settings.rc_overshoot_pct = 15
        settings.rc_buf_initial_sz = 500
        settings.rc_buf_optimal_sz = 600
        settings.rc_buf_sz = 1_000
        // A screen must not lose the picture that shows the change; a camera has another one soon.
        settings.rc_dropframe_thresh = configuration.contentHint == .text ? 0 : 30
        settings.rc_resize_allowed = 0
        settings.kf_mode = VPX_KF_DISABLED
        guard emisora_vp8_enc_init(&codec, &settings) == VPX_CODEC_OK else { throw lastError() }
        isOpen = true
        openedSize = (configuration.width, configuration.height)
        emisora_vp8_set_cpu_used(&codec, Int32(clamping: min(0, max(-16, configuration.speed))))
        emisora_vp8_set_noise_sensitivity(&codec, 0)
        emisora_vp8_set_static_threshold(&codec, configuration.contentHint == .text ? 100 : 1)
        emisora_vp8_set_token_partitions(&codec, Int32(VP8_ONE_TOKENPARTITION.rawValue))
        emisora_vp8_set_screen_content_mode(&codec, configuration.contentHint == .text ? 1 : 0)
        // As large as half a second's optimal buffer allows at 30 pictures a second, as libwebrtc has it.
        emisora_vp8_set_max_intra_bitrate_pct(&codec, 900)
    }

    private func applySettings() throws(CodecError) {
        guard vpx_codec_enc_config_set(&codec, &settings) == VPX_CODEC_OK else { throw lastError() }
    }

    private func resize(width: Int, height: Int) throws(CodecError) {
        configuration.width = width
        configuration.height = height
        if isOpen, width <= openedSize.width, height <= openedSize.height {
            settings.g_w = UInt32(width)
            settings.g_h = UInt32(height)
            if vpx_codec_enc_config_set(&codec, &settings) == VPX_CODEC_OK { return }
        }
        // libvpx cannot grow beyond the size that its buffers were made for. Should opening fail, the next picture
        // tries again.
        close()
        try open()
    }

    private func close() {
        if isOpen { vpx_codec_destroy(&codec) }
        isOpen = false
        codec = vpx_codec_ctx_t()
        nextTicks = 0
    }

    /// The picture's place on the encoder's even clock, and how long it lasts.
    private func advanceTime(to timestamp: Instant) -> (ticks: Int64, duration: Int64) {
        let duration = Int64((Double(Self.ticksPerSecond) / frameRate.add(timestamp)).rounded())
        defer { nextTicks += duration }
        return (nextTicks, duration)
    }

    private static func image(
        _ format: VideoFormat, _ vpxFormat: vpx_img_fmt_t, _ planes: UnsafeFramePlanes
    ) -> vpx_image_t {
        func pointer(_ plane: Int) -> UnsafeMutablePointer<UInt8>? {
            // libvpx does not write through the pointers of an image that it encodes.
            UnsafeMutableRawPointer(mutating: planes[plane].baseAddress)?.assumingMemoryBound(to: UInt8.self)
        }
        var image = vpx_image_t()
        image.fmt = vpxFormat
        image.cs = format.colorMatrix == .bt709 ? VPX_CS_BT_709 : VPX_CS_BT_601
        image.range = format.colorRange == .full ? VPX_CR_FULL_RANGE : VPX_CR_STUDIO_RANGE
        image.bit_depth = 8
        image.w = UInt32(format.width + 1) & ~1
        image.h = UInt32(format.height + 1) & ~1
        image.d_w = UInt32(format.width)
        image.d_h = UInt32(format.height)
        image.x_chroma_shift = 1
        image.y_chroma_shift = 1
        image.bps = 12
        image.planes.0 = pointer(0)
        image.stride.0 = Int32(format.stride(ofPlane: 0))
        image.planes.1 = pointer(1)
        image.stride.1 = Int32(format.stride(ofPlane: 1))
        if vpxFormat == VPX_IMG_FMT_NV12 {
            image.planes.2 = pointer(1).map { $0 + 1 }
            image.stride.2 = Int32(format.stride(ofPlane: 1))
        } else {
            image.planes.2 = pointer(2)
            image.stride.2 = Int32(format.stride(ofPlane: 2))
        }
        return image
    }

    /// Takes what the encoder made; `nil` when it left the picture out.
    private func collect(_ frame: VideoFrame) -> EncodedVideoFrame? {
        var iterator: vpx_codec_iter_t?
        var result: EncodedVideoFrame?
        while let packet = vpx_codec_get_cx_data(&codec, &iterator) {
            guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT, packet.pointee.data.frame.sz > 0 else { continue }
            let data = packet.pointee.data.frame
            result = EncodedVideoFrame(
                payload: Array(UnsafeRawBufferPointer(start: data.buf, count: data.sz)),
                isKeyFrame: data.flags & vpx_codec_frame_flags_t(VPX_FRAME_IS_KEY) != 0,
                captureTime: frame.timestamp, width: configuration.width, height: configuration.height,
                rotation: frame.rotation,
                quantizer: Int(emisora_vp8_last_quantizer(&codec)))
        }
        return result
    }

    private func lastError() -> CodecError {
        let detail = vpx_codec_error_detail(&codec).map { ": " + String(cString: $0) } ?? ""
        return .library(String(cString: vpx_codec_error(&codec)) + detail)
    }
}
