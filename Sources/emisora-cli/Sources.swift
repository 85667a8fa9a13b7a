import Emisora
import EmisoraFiles

/// What `--video` and `--audio` name.
enum VideoSource {
    case none
    case noise
    case pattern
    case file(String)
    case image(String)
    /// `camera` and `screen` with what stands behind the colon.
    case camera(String?)
    case screen(String)

    static let values = "noise|pattern|camera[:DEVICE]|screen[:DISPLAY|MONITOR|WINDOW]|file:PATH|image:PATH|none"

    init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "noise": self = .noise
        case "pattern": self = .pattern
        case "camera": self = .camera(nil)
        case "screen": self = .screen("")
        default:
            if let path = path(in: text, after: "file:") {
                self = .file(path)
            } else if let path = path(in: text, after: "image:") {
                self = .image(path)
            } else if let device = path(in: text, after: "camera:") {
                self = .camera(device)
            } else if let name = path(in: text, after: "screen:") {
                self = .screen(name)
            } else {
                return nil
            }
        }
    }

    /// - Parameter wish: What the command line asks for; a camera chooses what is left open, the rest is 640×480 at 30.
    func makeCapture(
        _ wish: CameraWish, clicks: ClickTrack, films: FilmSources, cameraLog: String?
    ) throws(CaptureError) -> (any VideoCapture)? {
        let width = wish.width ?? 640
        let height = wish.height ?? 480
        let frameRate = wish.frameRate ?? 30
        return switch self {
        case .none: nil
        case .noise: NoiseCapture(width: width, height: height, frameRate: frameRate)
        case .pattern: PatternCapture(width: width, height: height, frameRate: frameRate, clicks: clicks)
        case .file(let path): try films.video(path)
        case .image(let path): try ImageCapture(path: path)
        case .camera(let device): try CameraSources.make(device, wish, log: cameraLog)
        case .screen(let name): try ScreenSources.make(name, frameRate)
        }
    }
}

enum AudioSource {
    /// A film's own sound, else a tone.
    case automatic
    case tone
    case silence
    /// `mic` with what stands behind the colon.
    case microphone(String?)
    case wav(String)
    case file(String)
    case none

    static let values = "tone|silence|mic[:DEVICE]|wav:PATH|file:PATH|none"

    init?(_ text: String) {
        switch text {
        case "tone": self = .tone
        case "silence": self = .silence
        case "mic": self = .microphone(nil)
        case "none": self = .none
        default:
            if let path = path(in: text, after: "file:") {
                self = .file(path)
            } else if let path = path(in: text, after: "wav:") {
                self = .wav(path)
            } else if let device = path(in: text, after: "mic:") {
                self = .microphone(device)
            } else {
                return nil
            }
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
        case .microphone(let device): MicrophoneSources.make(device)
        case .wav(let path): try WAVCapture(path: path, playback: films.playback)
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
