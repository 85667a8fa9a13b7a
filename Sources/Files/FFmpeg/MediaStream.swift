import CEmisoraFFmpeg
import EmisoraCore
import EmisoraVideo

/// Pictures or sound.
enum MediaKind: Int, CaseIterable, Sendable {
    case video
    case audio
}

/// What a file tells of one of its streams; enough to decode it.
final class MediaStream: @unchecked Sendable {
    // Invariant: written by `init` alone; the parameters are a copy of its own.

    let kind: MediaKind
    let index: Int
    let timeBase: TimeBase
    let rawTimeBase: AVRational
    let parameters: UnsafeMutablePointer<AVCodecParameters>
    let frameRate: FrameRate?
    let rotation: VideoRotation

    /// `nil` if there is no memory, or nothing is told.
    init?(_ kind: MediaKind, _ stream: UnsafeMutablePointer<AVStream>) {
        guard let told = stream.pointee.codecpar, let copy = avcodec_parameters_alloc() else { return nil }
        parameters = copy
        self.kind = kind
        index = Int(stream.pointee.index)
        rawTimeBase = stream.pointee.time_base
        timeBase = TimeBase(stream.pointee.time_base)
        let rates = [stream.pointee.avg_frame_rate, stream.pointee.r_frame_rate]
        frameRate = rates.lazy.compactMap { FrameRate(Int($0.num), Int($0.den)) }.first { $0 <= 1000 }
        rotation = VideoRotation(displayMatrix: emisora_av_stream_matrix(stream)) ?? .none
        guard avcodec_parameters_copy(copy, told) >= 0 else { return nil }
    }

    deinit {
        var parameters: UnsafeMutablePointer<AVCodecParameters>? = parameters
        avcodec_parameters_free(&parameters)
    }

    var width: Int { Int(parameters.pointee.width) }
    var height: Int { Int(parameters.pointee.height) }
    /// In pixels; 0 if the file does not tell.
    var pictureArea: Int { max(0, width) * max(0, height) }
    /// Channels handed on: as many as Opus takes here.
    var outputChannels: Int { parameters.pointee.ch_layout.nb_channels == 1 ? 1 : 2 }
    var codecName: String { FFmpeg.name(avcodec_get_name(parameters.pointee.codec_id)) }
    /// How long a picture is shown if it does not tell, in nanoseconds.
    var frameDuration: Int64? { kind == .video ? frameRate?.interval.nanoseconds : nil }
}
