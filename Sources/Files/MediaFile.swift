import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo

/// A film, or a sound, in a local file: WebM, MP4, IVF and what else FFmpeg opens by content.
///
/// ```swift
/// let film = try MediaFile(path: "film.webm")
/// let publisher = Publisher(videoCapture: film.video, audioCapture: film.audio)
/// ```
///
/// The two capturers share one reader and one clock: pictures and sound are paced by the file's own times (variable
/// frame rate, too) and keep together, whichever is started first and however often the film starts over. Either may be
/// used alone. One that is started while the other has been playing for a while joins where the film is: sound at once,
/// pictures with the next key frame. After both were stopped, the next start plays from the beginning.
///
/// - Pictures come as the decoder has them, without a copy, if ``PixelFormat`` has their layout; others (10 bits, 4:4:4,
///   …) are converted once to I420, those with an alpha channel are laid on black. Rotation, colour matrix and range are
///   those of the file. Interlaced pictures stay so, and pixels count as square.
/// - Sound comes as 48 kHz, 16 bits, one or two channels, 20 ms a frame.
/// - What is damaged in the file counts as ``DropReason/invalid``; what could not be decoded in time as
///   ``DropReason/captureLate``.
/// - Only this file is opened: playlists and files that name other files are refused.
/// - FFmpeg's own messages are turned off for the process, see `av_log_set_level`.
public final class MediaFile: Sendable {
    /// The most pixels a picture may have, about those of 8K: what a file claims beyond that is refused, since it takes
    /// gigabytes to decode.
    public static let largestPictureArea = 8192 * 4608

    public let path: String
    public let playback: FileCapture.Playback
    /// As the file claims it.
    public let duration: Duration?
    /// The pictures; `nil` if there are none.
    public let video: MediaFileVideoCapture?
    /// The sound; `nil` if there is none.
    public let audio: MediaFileAudioCapture?
    private let player: FilePlayer

    /// Opens the file and looks at its streams; blocks for some milliseconds.
    ///
    /// - Parameters:
    ///   - playback: Whether the film starts over at its end, which is the end of the longer of the capturers in use.
    ///   - onEnd: Called on a media thread when all capturers in use have come to the end by themselves: with `nil` at
    ///     the end of the file, else with why nothing more could be played. Their `isCapturing` is false by then.
    /// - Throws: If the file cannot be opened, is no film, or no stream of it can be decoded.
    public init(
        path: String, playback: FileCapture.Playback = .looped, onEnd: (@Sendable (MediaFileError?) -> Void)? = nil
    ) throws(MediaFileError) {
        let demuxer = try Demuxer(path: path, as: .film)
        self.path = path
        self.playback = playback
        duration = demuxer.duration.map { .nanoseconds($0) }
        player = FilePlayer(path: path, playback: playback, onEnd: onEnd)
        // A stream without a decoder does not keep the other from being played.
        var refusal: MediaFileError?
        video = Self.attempt(&refusal, demuxer.video) { stream throws(MediaFileError) in
            try Self.check(stream, path: path)
        }.map { [player] in MediaFileVideoCapture(player, $0) }
        audio = Self.attempt(&refusal, demuxer.audio) { stream throws(MediaFileError) in
            _ = try Decoder(stream, path: path)
        }.map { [player] in MediaFileAudioCapture(player, $0) }
        if let refusal, video == nil { throw refusal }
    }

    /// Why the last playing ended before the end of the file, if it did.
    public var failure: MediaFileError? { player.failure }

    private static func attempt(
        _ refusal: inout MediaFileError?, _ stream: MediaStream?,
        _ check: (MediaStream) throws(MediaFileError) -> Void
    ) -> MediaStream? {
        guard let stream else { return nil }
        do throws(MediaFileError) {
            try check(stream)
            return stream
        } catch {
            refusal = refusal ?? error
            return nil
        }
    }

    /// Throws if pictures of the stream cannot be decoded or carried.
    static func check(_ stream: MediaStream, path: String) throws(MediaFileError) {
        let (width, height) = (stream.width, stream.height)
        guard width <= VideoFormat.largestSide, height <= VideoFormat.largestSide,
            stream.pictureArea <= largestPictureArea
        else { throw .pictureTooLarge(path: path, width: width, height: height) }
        guard width > 0, height > 0 else { throw .unknownPictureSize(path: path) }
        _ = try Decoder(stream, path: path)
    }
}
