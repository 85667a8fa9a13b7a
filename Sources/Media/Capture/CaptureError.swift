import EmisoraAudio
import EmisoraVideo
import Glibc

/// Why capturing could not start, or ended by itself.
public enum CaptureError: Error, Sendable {
    /// `start(into:)` while capturing: stop first.
    case alreadyCapturing
    /// An option of the capturer is outside what it can do; the text names it and what is allowed.
    case invalidOption(String)
    /// Frames cannot have the format that was asked for.
    case videoFormat(VideoFrameError)
    /// Sound cannot have the format that was asked for.
    case audioFormat(AudioFrameError)
    /// A file could not be opened, read or written. `code` is the system's `errno`.
    case file(path: String, code: Int32)
    /// A file is not what it should be. The error names the byte.
    case malformedFile(path: String, Y4MError)
    /// The operating system refused. `code` is its `errno`.
    case system(operation: String, code: Int32)
    /// `stop()` was called while capturing was being started.
    case stopped
    /// An error of the capturer's own.
    case custom(any Error)
}

extension CaptureError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .alreadyCapturing: "already capturing: stop before starting again"
        case .invalidOption(let text): text
        case .videoFormat(let error): "\(error)"
        case .audioFormat(let error): "\(error)"
        case .file(let path, let code): "\(path): \(String(cString: strerror(code)))"
        case .malformedFile(let path, let error): "\(path): \(error)"
        case .system(let operation, let code): "cannot \(operation): \(String(cString: strerror(code)))"
        case .stopped: "stopped while capturing was being started"
        case .custom(let error): "\(error)"
        }
    }
}
