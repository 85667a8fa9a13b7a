import Emisora

/// What `--video` and `--audio` name.
enum VideoSource {
    case none
    case noise
    case pattern
    case camera(String?)
    case file(String)

    static let values = "noise|pattern|camera[:DEVICE]|file:PATH|none"

    init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "noise": self = .noise
        case "pattern": self = .pattern
        case "camera": self = .camera(nil)
        case _ where text.hasPrefix("camera:") && text.count > 7: self = .camera(String(text.dropFirst(7)))
        default:
            guard text.hasPrefix("file:"), text.count > 5 else { return nil }
            self = .file(String(text.dropFirst(5)))
        }
    }

    func makeCapture(
        width: Int, height: Int, frameRate: FrameRate, clicks: ClickTrack
    ) throws(CaptureError) -> (any VideoCapture)? {
        switch self {
        case .none: nil
        case .noise: NoiseCapture(width: width, height: height, frameRate: frameRate)
        case .pattern: PatternCapture(width: width, height: height, frameRate: frameRate, clicks: clicks)
        case .camera(let device):
            CameraCapture(
                device: device, wish: CameraWish(width: width, height: height, frameRate: frameRate),
                onEvent: CameraNotes.note)
        case .file(let path): try FileCapture(path: path)
        }
    }
}

enum AudioSource: String {
    case tone
    case silence
    case none

    static let values = "tone|silence|none"

    func makeCapture(clicks: ClickTrack) -> (any AudioCapture)? {
        switch self {
        case .tone: ToneCapture(clicks: clicks)
        case .silence: SilenceCapture()
        case .none: nil
        }
    }
}
