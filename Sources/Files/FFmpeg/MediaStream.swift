import CEmisoraFFmpeg
import EmisoraCapture
import EmisoraCore
import EmisoraVideo

/// What a file tells of one of its streams; enough to decode it.
final class MediaStream: @unchecked Sendable {
    // Invariant: written by `init` alone; the parameters are a copy of its own.

    let kind: TrackKind
    let index: Int
    let timeBase: TimeBase
    let rawTimeBase: AVRational
    let parameters: UnsafeMutablePointer<AVCodecParameters>
    let frameRate: FrameRate?
    let rotation: VideoRotation

    /// - Parameter claimed: The size of pictures that the file's head claims, for one that no decoder accepts.
    /// - Returns: `nil` if there is no memory, or nothing is told.
    init?(_ kind: TrackKind, _ stream: UnsafeMutablePointer<AVStream>, claimed: VideoSize) {
        guard let told = stream.pointee.codecpar, let copy = avcodec_parameters_alloc() else { return nil }
        parameters = copy
        self.kind = kind
        let isSizeKnown = told.pointee.width > 0 && told.pointee.height > 0
        width = isSizeKnown ? Int(told.pointee.width) : claimed.width
        height = isSizeKnown ? Int(told.pointee.height) : claimed.height
        index = Int(stream.pointee.index)
        rawTimeBase = stream.pointee.time_base
        timeBase = TimeBase(stream.pointee.time_base)
        let rates = [stream.pointee.avg_frame_rate, stream.pointee.r_frame_rate]
        frameRate = rates.lazy.compactMap { FrameRate(Int($0.num), Int($0.den)) }.first { $0 <= 1000 }
        rotation = VideoRotation(displayMatrix: emisora_av_stream_matrix(stream)) ?? .none
        guard avcodec_parameters_copy(copy, told) >= 0 else { return nil }
    }

    /// The size of pictures that a stream's parameters tell.
    static func size(of stream: UnsafeMutablePointer<AVStream>?) -> VideoSize {
        guard let told = stream?.pointee.codecpar else { return VideoSize(width: 0, height: 0) }
        return VideoSize(width: Int(max(0, told.pointee.width)), height: Int(max(0, told.pointee.height)))
    }

    deinit {
        var parameters: UnsafeMutablePointer<AVCodecParameters>? = parameters
        avcodec_parameters_free(&parameters)
    }

    /// In pixels; 0 if the file does not tell.
    let width: Int
    let height: Int
    /// In pixels; 0 if the file does not tell.
    var pictureArea: Int { max(0, width) * max(0, height) }
    /// Channels handed on: as many as Opus takes here.
    var outputChannels: Int { parameters.pointee.ch_layout.nb_channels == 1 ? 1 : 2 }
    var codecName: String { FFmpeg.name(avcodec_get_name(parameters.pointee.codec_id)) }
    /// How long a picture is shown if it does not tell, in nanoseconds.
    var frameDuration: Int64? { kind == .video ? frameRate?.interval.nanoseconds : nil }
}
