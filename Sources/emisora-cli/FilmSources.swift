import Emisora
import EmisoraFiles

/// The films that the command line names. Pictures and sound of one file come from one player, so that they keep
/// together.
final class FilmSources {
    let playback: FileCapture.Playback
    private var films: [String: MediaFile] = [:]

    init(playback: FileCapture.Playback) {
        self.playback = playback
    }

    /// The pictures of a file, Y4M or what FFmpeg reads.
    func video(_ path: String) throws(CaptureError) -> any VideoCapture {
        do throws(CaptureError) {
            return try FileCapture(path: path, playback: playback)
        } catch {
            guard case .malformedFile(_, let problem) = error, problem.problem == .notY4M else { throw error }
        }
        guard let video = try film(path).video else {
            throw .invalidOption("\(path) has no pictures that can be shown; for its sound use --audio file:\(path)")
        }
        return video
    }

    /// The sound of a file.
    func audio(_ path: String) throws(CaptureError) -> any AudioCapture {
        guard let audio = try film(path).audio else {
            throw .invalidOption("\(path) has no sound that can be played; for its pictures use --video file:\(path)")
        }
        return audio
    }

    /// The sound that belongs to the pictures of a film, if it has any.
    func sound(with path: String) -> (any AudioCapture)? { films[path]?.audio }

    private func film(_ path: String) throws(CaptureError) -> MediaFile {
        if let film = films[path] { return film }
        do throws(MediaFileError) {
            let film = try MediaFile(path: path, playback: playback)
            films[path] = film
            return film
        } catch {
            throw .custom(error)
        }
    }
}
