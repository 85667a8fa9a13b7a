import CEmisoraFFmpeg

/// Decodes one stream: packets in, frames out, not one for one.
final class Decoder: @unchecked Sendable {
    // Invariant: used by one thread at a time; made on the one that starts a capturer, then the output's alone.

    enum Output {
        case frame(DecodedFrame)
        case needsPacket
        /// After ``drain()``: nothing is left inside.
        case isEmpty
        /// The decoder could not make something of what it was given.
        case damage
    }

    let stream: MediaStream
    private let context: UnsafeMutablePointer<AVCodecContext>

    /// From this size on, pictures are decoded by several threads.
    private static let largePictureArea = 1280 * 720

    init(_ stream: MediaStream, path: String) throws(MediaFileError) {
        self.stream = stream
        guard let codec = avcodec_find_decoder(stream.parameters.pointee.codec_id) else {
            throw .unsupportedCodec(path: path, codec: stream.codecName)
        }
        guard let context = avcodec_alloc_context3(codec) else { throw .outOfMemory(path: path) }
        self.context = context
        let copied = avcodec_parameters_to_context(context, stream.parameters)
        context.pointee.pkt_timebase = stream.rawTimeBase
        context.pointee.max_pixels = Int64(MediaFile.largestPictureArea)
        // 0 lets FFmpeg choose.
        context.pointee.thread_count = stream.kind == .video && stream.pictureArea > Self.largePictureArea ? 0 : 1
        let opened = copied < 0 ? copied : avcodec_open2(context, codec, nil)
        guard opened >= 0 else {
            throw .damaged(path: path, detail: "\(stream.codecName): \(FFmpeg.message(opened))")
        }
    }

    deinit {
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// `false` if the packet is damaged.
    func send(_ packet: Packet) -> Bool {
        avcodec_send_packet(context, packet.pointer) >= 0
    }

    /// No more packets come: what is inside comes out.
    func drain() {
        avcodec_send_packet(context, nil)
    }

    /// Forgets what is inside; packets may come again.
    func flush() {
        avcodec_flush_buffers(context)
    }

    func receive() -> Output {
        guard let frame = DecodedFrame() else { return .damage }
        let code = avcodec_receive_frame(context, frame.pointer)
        switch code {
        case emisora_av_again(): return .needsPacket
        case emisora_av_end_of_file(): return .isEmpty
        case 0...: return frame.isDamaged ? .damage : .frame(frame)
        default: return .damage
        }
    }
}
