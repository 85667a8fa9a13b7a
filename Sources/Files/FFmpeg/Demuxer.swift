import CEmisoraFFmpeg
import EmisoraCapture
import EmisoraVideo

/// Takes the packets of one file apart, at its beginning when made.
final class Demuxer: @unchecked Sendable {
    // Invariant: used by one thread at a time.

    /// What a file is opened as.
    enum Purpose {
        case film
        case stillPicture
    }

    enum Step {
        case packet(TrackKind, Packet)
        case end
        /// This part could not be read; what follows may be well.
        case damage(code: Int32)
    }

    let video: MediaStream?
    let audio: MediaStream?
    /// As the file claims it; `nil` if it does not.
    let duration: Int64?
    private let path: String
    private let input: FileInput
    private let context: UnsafeMutablePointer<AVFormatContext>
    /// Where the file's own time begins, in nanoseconds.
    let fileStart: Int64

    /// Self-contained kinds, found by content. Playlists, lists of files and everything live are not among them: a film
    /// from a stranger must not make this process open another file or a connection.
    private static let filmKinds: Set<String> = [
        "aac", "ac3", "aiff", "amr", "apng", "asf", "au", "avi", "caf", "dv", "flac", "flv", "gif", "h264", "hevc",
        "ivf", "m4v", "matroska", "mov", "mp3", "mpeg", "mpegts", "mpegvideo", "mxf", "nut", "obu", "ogg", "w64", "wav",
        "wv", "yuv4mpegpipe",
    ]
    private static let pictureKinds: Set<String> = ["bmp_pipe", "jpeg_pipe", "png_pipe", "tiff_pipe", "webp_pipe"]

    /// Opens the file and looks at its streams.
    init(
        path: String, as purpose: Purpose, interruption: Interruption = Interruption()
    ) throws(MediaFileError) {
        FFmpeg.silenced
        self.path = path
        input = try FileInput(path: path, interruption: interruption)
        let context = try Self.open(path, input, as: purpose)
        self.context = context
        var owned: UnsafeMutablePointer<AVFormatContext>? = context
        let claimed = (0..<Int(context.pointee.nb_streams)).map { MediaStream.size(of: context.pointee.streams[$0]) }
        do throws(MediaFileError) {
            try Self.findStreams(path, context)
            video = Self.bestStream(.video, of: context, claimed, besides: nil)
            audio = purpose == .film ? Self.bestStream(.audio, of: context, claimed, besides: video) : nil
            guard video != nil || audio != nil else { throw .nothingToPlay(path: path) }
        } catch {
            avformat_close_input(&owned)
            throw error
        }
        let microseconds = TimeBase(AVRational(num: 1, den: 1_000_000))
        fileStart = microseconds.nanoseconds(context.pointee.start_time) ?? 0
        duration = microseconds.nanoseconds(context.pointee.duration).flatMap { $0 > 0 ? $0 : nil }
        for index in 0..<Int(context.pointee.nb_streams) {
            let isPlayed = index == video?.index || index == audio?.index
            if !isPlayed { context.pointee.streams[index]?.pointee.discard = AVDISCARD_ALL }
        }
    }

    deinit {
        var context: UnsafeMutablePointer<AVFormatContext>? = context
        // The input is our own and stays open; it goes with this object.
        avformat_close_input(&context)
    }

    /// Ends a read that is under way and all after it.
    var interruption: Interruption { input.interruption }

    func stream(_ kind: TrackKind) -> MediaStream? { kind == .video ? video : audio }

    /// The next packet of the streams that are played.
    func next() -> Step {
        guard let packet = Packet() else { return .damage(code: emisora_av_no_memory()) }
        while true {
            let code = av_read_frame(context, packet.pointer)
            if code < 0 {
                let isEnd = code == emisora_av_end_of_file() || input.interruption.hasCome
                return isEnd ? .end : .damage(code: code)
            }
            let index = Int(packet.pointer.pointee.stream_index)
            for kind in TrackKind.allCases {
                guard let stream = stream(kind), stream.index == index else { continue }
                packet.setTime(of: stream, fileStart: fileStart)
                return .packet(kind, packet)
            }
            // Streams that a damaged file makes up on the way.
            av_packet_unref(packet.pointer)
        }
    }

    /// Goes back to the beginning; `false` if this kind of file cannot and must be opened anew.
    func rewind() -> Bool {
        let start = context.pointee.start_time == emisora_av_no_timestamp() ? 0 : context.pointee.start_time
        return avformat_seek_file(context, -1, Int64.min, start, start, 0) >= 0
    }

    // MARK: Opening

    private static func open(
        _ path: String, _ input: FileInput, as purpose: Purpose
    ) throws(MediaFileError) -> UnsafeMutablePointer<AVFormatContext> {
        let kind = try probe(path, input, as: purpose)
        guard let made = avformat_alloc_context() else { throw .outOfMemory(path: path) }
        made.pointee.pb = input.io
        // Other files that this one names are not opened.
        made.pointee.io_open = { _, _, _, _, _ in emisora_av_not_permitted() }
        made.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        made.pointee.max_analyze_duration = 5_000_000
        made.pointee.interrupt_callback = AVIOInterruptCB(
            callback: { opaque in
                guard let opaque else { return 0 }
                return Unmanaged<FileInput>.fromOpaque(opaque).takeUnretainedValue().interruption.hasCome ? 1 : 0
            }, opaque: Unmanaged.passUnretained(input).toOpaque())
        var options: OpaquePointer?
        av_dict_set(&options, "protocol_whitelist", "file", 0)
        defer { av_dict_free(&options) }
        var context: UnsafeMutablePointer<AVFormatContext>? = made
        // Frees the context when it fails.
        let opened = avformat_open_input(&context, nil, kind, &options)
        guard opened >= 0, let context else { throw .damaged(path: path, detail: FFmpeg.message(opened)) }
        return context
    }

    private static func findStreams(
        _ path: String, _ context: UnsafeMutablePointer<AVFormatContext>
    ) throws(MediaFileError) {
        // Looking at streams decodes some of them: large pictures are refused there as well.
        var options = [OpaquePointer?](repeating: nil, count: Int(context.pointee.nb_streams))
        for index in options.indices {
            av_dict_set_int(&options[index], "max_pixels", Int64(MediaFile.largestPictureArea), 0)
        }
        let count = options.count
        let found = options.withUnsafeMutableBufferPointer { buffer in
            avformat_find_stream_info(context, count > 0 ? buffer.baseAddress : nil)
        }
        for index in options.indices { av_dict_free(&options[index]) }
        guard found >= 0 else {
            throw .damaged(path: path, detail: FFmpeg.message(found))
        }
    }

    /// What kind of file this is, by its content alone, if that kind is opened for this purpose.
    private static func probe(
        _ path: String, _ input: FileInput, as purpose: Purpose
    ) throws(MediaFileError) -> UnsafePointer<AVInputFormat> {
        var found: UnsafePointer<AVInputFormat>?
        let score = av_probe_input_buffer2(input.io, &found, "", nil, 0, 0)
        guard score >= 0, let found else { throw .unsupportedFormat(path: path, kind: nil) }
        let kind = FFmpeg.name(found.pointee.name)
        let names = Set(kind.split(separator: ",").map(String.init))
        let isFilm = !names.isDisjoint(with: filmKinds)
        let isPicture = !names.isDisjoint(with: pictureKinds)
        switch purpose {
        case .film where isFilm, .stillPicture where isPicture: return found
        case .film where isPicture: throw .stillPicture(path: path)
        case .stillPicture where isFilm: throw .notAStillPicture(path: path, kind: kind)
        case .film, .stillPicture: throw .unsupportedFormat(path: path, kind: kind)
        }
    }

    private static func bestStream(
        _ kind: TrackKind, of context: UnsafeMutablePointer<AVFormatContext>, _ claimed: [VideoSize],
        besides other: MediaStream?
    ) -> MediaStream? {
        let type = kind == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO
        let index = av_find_best_stream(context, type, -1, other.map { Int32($0.index) } ?? -1, nil, 0)
        guard index >= 0, index < context.pointee.nb_streams, let stream = context.pointee.streams[Int(index)] else {
            return nil
        }
        // The cover of a record is no film.
        guard stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0 else { return nil }
        let size = Int(index) < claimed.count ? claimed[Int(index)] : VideoSize(width: 0, height: 0)
        return MediaStream(kind, stream, claimed: size)
    }
}
