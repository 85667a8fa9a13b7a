import CEmisoraFFmpeg

/// A picture or a stretch of sound as a decoder gave it, with a reference to its memory.
final class DecodedFrame: @unchecked Sendable {
    // Invariant: filled by the decoder before anyone else sees it, only read afterwards.

    let pointer: UnsafeMutablePointer<AVFrame>

    /// `nil` if there is no memory.
    init?() {
        guard let frame = av_frame_alloc() else { return nil }
        pointer = frame
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&frame)
    }

    /// In the stream's own time, in nanoseconds; `nil` if the file does not tell.
    func time(in base: TimeBase) -> Int64? { base.nanoseconds(pointer.pointee.best_effort_timestamp) }

    /// In nanoseconds; 0 if the file does not tell.
    func duration(in base: TimeBase) -> Int64 { max(0, base.nanoseconds(emisora_av_frame_duration(pointer)) ?? 0) }

    /// Whether the decoder had to make up parts of it.
    var isDamaged: Bool {
        pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0 || pointer.pointee.decode_error_flags != 0
    }
}
