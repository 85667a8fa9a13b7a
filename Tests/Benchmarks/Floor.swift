import CEmisoraOpus
import CEmisoraVPX
import Glibc

/// `emisora-bench [FILE.y4m] [--frames N] [--kbps N]`: encodes pictures with bare libvpx and the sound that belongs to
/// them with bare libopus, with exactly the settings of `VP8Encoder` and `OpusEncoder`, and prints a JSON line.
func runFloor(_ arguments: [String]) -> Int32 {
    var path: String?
    var frameCount = 300
    var kilobits: UInt32 = 1_500
    var rest = arguments[...]
    while let argument = rest.popFirst() {
        switch argument {
        case "--frames":
            guard let value = rest.popFirst().flatMap({ Int($0) }), (1...100_000).contains(value) else {
                return usage()
            }
            frameCount = value
        case "--kbps":
            guard let value = rest.popFirst().flatMap({ UInt32($0) }), (10...100_000).contains(value) else {
                return usage()
            }
            kilobits = value
        default:
            guard !argument.hasPrefix("-"), path == nil else { return usage() }
            path = argument
        }
    }
    // Pictures are repeated forwards and backwards, so that a few seconds of them do for any number.
    let distinct = min(frameCount, 90)
    let frames: Frames
    if let path {
        guard let read = Frames.read(path: path, count: distinct) else {
            print("\(path) is no 8-bit 4:2:0 YUV4MPEG2 file. Make one: ffmpeg -i IN -pix_fmt yuv420p OUT.y4m")
            return 1
        }
        frames = read
    } else {
        frames = .generated(width: 1_280, height: 720, count: distinct)
    }
    guard let video = encodeVideo(frames, count: frameCount, kilobits: kilobits) else {
        print("libvpx refused the pictures.")
        return 1
    }
    // 30 pictures a second last two thirds of 50 packets a second.
    guard let audio = encodeAudio(packetCount: frameCount * 5 / 3) else {
        print("libopus refused the sound.")
        return 1
    }
    print(
        """
        {"floor":{"width":\(frames.width),"height":\(frames.height),"frames":\(frameCount),\
        "vpxSeconds":\(video.seconds),"vpxBytes":\(video.byteCount),"vpxDropped":\(video.dropped),\
        "opusSeconds":\(audio.seconds),"opusBytes":\(audio.byteCount),\
        "cpuSecondsPer300Frames":\((video.seconds + audio.seconds) * 300 / Double(frameCount))}}
        """)
    return 0
}

private func usage() -> Int32 {
    print("usage: emisora-bench [FILE.y4m] [--frames N] [--kbps N]")
    return 2
}

private struct Cost {
    var seconds = 0.0
    var byteCount = 0
    var dropped = 0
}

private func encodeVideo(_ frames: Frames, count: Int, kilobits: UInt32) -> Cost? {
    var settings = vpx_codec_enc_cfg_t()
    guard vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &settings, 0) == VPX_CODEC_OK else { return nil }
    settings.g_w = UInt32(frames.width)
    settings.g_h = UInt32(frames.height)
    settings.g_timebase = vpx_rational_t(num: 1, den: 90_000)
    settings.g_threads = 1
    settings.g_lag_in_frames = 0
    settings.g_pass = VPX_RC_ONE_PASS
    settings.g_error_resilient = 0
    settings.rc_end_usage = VPX_CBR
    settings.rc_target_bitrate = kilobits
    settings.rc_min_quantizer = 2
    settings.rc_max_quantizer = 56
    settings.rc_undershoot_pct = 100
    settings.rc_overshoot_pct = 15
    settings.rc_buf_initial_sz = 500
    settings.rc_buf_optimal_sz = 600
    settings.rc_buf_sz = 1_000
    settings.rc_dropframe_thresh = 30
    settings.rc_resize_allowed = 0
    settings.kf_mode = VPX_KF_DISABLED
    var codec = vpx_codec_ctx_t()
    guard emisora_vp8_enc_init(&codec, &settings) == VPX_CODEC_OK else { return nil }
    defer { vpx_codec_destroy(&codec) }
    emisora_vp8_set_cpu_used(&codec, -8)
    emisora_vp8_set_noise_sensitivity(&codec, 0)
    emisora_vp8_set_static_threshold(&codec, 1)
    emisora_vp8_set_token_partitions(&codec, Int32(VP8_ONE_TOKENPARTITION.rawValue))
    emisora_vp8_set_screen_content_mode(&codec, 0)
    emisora_vp8_set_max_intra_bitrate_pct(&codec, 900)
    var cost = Cost()
    let start = processSeconds()
    for index in 0..<count {
        let picture = frames.pictures[pingPong(index, frames.pictures.count)]
        let status = picture.withUnsafeBytes { bytes in
            var image = vpx_image_t()
            // libvpx does not write through the pointers of an image that it encodes.
            let memory = UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.assumingMemoryBound(to: UInt8.self)
            vpx_img_wrap(&image, VPX_IMG_FMT_I420, UInt32(frames.width), UInt32(frames.height), 1, memory)
            return vpx_codec_encode(&codec, &image, Int64(index) * 3_000, 3_000, 0, UInt(VPX_DL_REALTIME))
        }
        guard status == VPX_CODEC_OK else { return nil }
        var iterator: vpx_codec_iter_t?
        var isDropped = true
        while let packet = vpx_codec_get_cx_data(&codec, &iterator) {
            guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
            cost.byteCount += packet.pointee.data.frame.sz
            isDropped = false
        }
        if isDropped { cost.dropped += 1 }
    }
    cost.seconds = processSeconds() - start
    return cost
}

private func encodeAudio(packetCount: Int) -> Cost? {
    var status: Int32 = 0
    guard let encoder = opus_encoder_create(48_000, 1, OPUS_APPLICATION_VOIP, &status), status == OPUS_OK else {
        return nil
    }
    defer { opus_encoder_destroy(encoder) }
    let results = [
        emisora_opus_set_bitrate(encoder, 32_000), emisora_opus_set_complexity(encoder, 5),
        emisora_opus_set_inband_fec(encoder, 1), emisora_opus_set_packet_loss_percent(encoder, 10),
        emisora_opus_set_dtx(encoder, 0),
    ]
    guard results.allSatisfy({ $0 == OPUS_OK }) else { return nil }
    let second = (0..<48_000).map { Int16(3_000 * sin(2 * Double.pi * 440 * Double($0) / 48_000)) }
    let packets = (0..<50).map { Array(second[$0 * 960..<($0 + 1) * 960]) }
    var output = [UInt8](repeating: 0, count: 1_275)
    var cost = Cost()
    let start = processSeconds()
    for index in 0..<packetCount {
        let count = opus_encode(encoder, packets[index % 50], 960, &output, Int32(output.count))
        guard count >= 0 else { return nil }
        cost.byteCount += Int(count)
    }
    cost.seconds = processSeconds() - start
    return cost
}

/// 0, 1, … count − 1, count − 2, … 1, 0, 1, …
private func pingPong(_ index: Int, _ count: Int) -> Int {
    guard count > 1 else { return 0 }
    let place = index % (2 * count - 2)
    return place < count ? place : 2 * count - 2 - place
}

/// CPU time of all threads of this process.
private func processSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
