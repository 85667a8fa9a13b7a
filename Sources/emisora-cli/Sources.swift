import Emisora
import EmisoraFiles

/// What `--video` and `--audio` name.
enum VideoSource {
    case none
    case noise
    case pattern
    case file(String)
    case image(String)

    static let values = "noise|pattern|file:PATH|image:PATH|none"

    init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "noise": self = .noise
        case "pattern": self = .pattern
        default:
            if let path = path(in: text, after: "file:") {
                self = .file(path)
            } else if let path = path(in: text, after: "image:") {
                self = .image(path)
            } else {
                return nil
            }
        }
    }

    func makeCapture(
        width: Int, height: Int, frameRate: FrameRate, clicks: ClickTrack, films: FilmSources
    ) throws(CaptureError) -> (any VideoCapture)? {
        switch self {
        case .none: nil
        case .noise: NoiseCapture(width: width, height: height, frameRate: frameRate)
        case .pattern: PatternCapture(width: width, height: height, frameRate: frameRate, clicks: clicks)
        case .file(let path): try films.video(path)
        case .image(let path): try ImageCapture(path: path)
        }
    }
}

enum AudioSource {
    /// A film's own sound, else a tone.
    case automatic
    case tone
    case silence
    case file(String)
    case none

    static let values = "tone|silence|file:PATH|none"

    init?(_ text: String) {
        switch text {
        case "tone": self = .tone
        case "silence": self = .silence
        case "none": self = .none
        default:
            guard let path = path(in: text, after: "file:") else { return nil }
            self = .file(path)
        }
    }

    func makeCapture(
        clicks: ClickTrack, with video: VideoSource, films: FilmSources
    ) throws(CaptureError) -> (any AudioCapture)? {
        switch self {
        case .automatic:
            if case .file(let path) = video, let sound = films.sound(with: path) {
                sound
            } else {
                ToneCapture(clicks: clicks)
            }
        case .tone: ToneCapture(clicks: clicks)
        case .silence: SilenceCapture()
        case .file(let path): try films.audio(path)
        case .none: nil
        }
    }
}

/// What follows `prefix` in `text`, if anything does.
private func path(in text: String, after prefix: String) -> String? {
    guard text.hasPrefix(prefix), text.count > prefix.count else { return nil }
    return String(text.dropFirst(prefix.count))
}
