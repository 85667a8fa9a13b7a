import CEmisoraFFmpeg

/// A piece of coded picture or sound.
final class Packet: @unchecked Sendable {
    // Invariant: filled by the demuxer's thread before anyone else sees it, only read afterwards.

    let pointer: UnsafeMutablePointer<AVPacket>
    /// From the file's beginning, in nanoseconds; `nil` if the file does not tell.
    fileprivate(set) var time: Int64?
    /// In nanoseconds; 0 if the file does not tell.
    fileprivate(set) var duration: Int64 = 0

    /// `nil` if there is no memory.
    init?() {
        guard let packet = av_packet_alloc() else { return nil }
        pointer = packet
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&packet)
    }

    /// In bytes, with what keeping it costs.
    var cost: Int { max(0, Int(pointer.pointee.size)) + 512 }
    var isKey: Bool { pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    /// Whether it is decoded for others' sake only and not shown.
    var isDiscarded: Bool { pointer.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }

    /// Reads the packet's time as `stream` has it.
    func setTime(of stream: MediaStream, fileStart: Int64) {
        let base = stream.timeBase
        let stamp = pointer.pointee.pts == emisora_av_no_timestamp() ? pointer.pointee.dts : pointer.pointee.pts
        time = base.nanoseconds(stamp).map { $0 - fileStart }
        duration = min(max(0, base.nanoseconds(pointer.pointee.duration) ?? 0), MediaTimeline.longestGap)
        if duration == 0 { duration = stream.frameDuration ?? 0 }
    }
}
