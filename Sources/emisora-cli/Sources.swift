import Emisora
import EmisoraScreen

/// What `--video` and `--audio` name.
enum VideoSource {
    case none
    case noise
    case pattern
    case file(String)
    /// `screen` with what stands behind its colon.
    case screen(String)

    static let values = "noise|pattern|file:PATH|screen[:DISPLAY|MONITOR|WINDOW]|none"

    init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "noise": self = .noise
        case "pattern": self = .pattern
        case "screen": self = .screen("")
        default:
            if text.hasPrefix("screen:"), text.count > 7 {
                self = .screen(String(text.dropFirst(7)))
                return
            }
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
        case .file(let path): try FileCapture(path: path)
        case .screen(let name): try Self.screen(name, frameRate)
        }
    }

    private static func screen(_ name: String, _ frameRate: FrameRate) throws(CaptureError) -> ScreenCapture {
        do throws(ScreenError) {
            if name.isEmpty { return try ScreenCapture(frameRate: frameRate) }
            if isDisplay(name) { return try ScreenCapture(display: name, frameRate: frameRate) }
            let source: ScreenSource
            if name.hasPrefix("0x"), let id = UInt32(name.dropFirst(2), radix: 16) {
                source = .window(id: id)
            } else if let monitors = try? ScreenCapture.monitors(), monitors.contains(where: { $0.name == name }) {
                source = .monitor(name)
            } else {
                source = .windowTitled(name)
            }
            return try ScreenCapture(source, frameRate: frameRate)
        } catch {
            throw .custom(error)
        }
    }

    /// Whether the name is a display's, `[HOST]:NUMBER[.SCREEN]`, and so none of a monitor or window.
    private static func isDisplay(_ name: String) -> Bool {
        guard let colon = name.lastIndex(of: ":") else { return false }
        let numbers = name[name.index(after: colon)...].split(separator: ".", omittingEmptySubsequences: false)
        return !name.contains(" ") && (1...2).contains(numbers.count) && numbers.allSatisfy { UInt16($0) != nil }
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
