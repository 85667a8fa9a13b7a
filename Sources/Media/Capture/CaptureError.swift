/// Why a capturer could not start.
public enum CaptureError: Error, CustomStringConvertible {
    /// The source cannot give pictures of that kind; the text says what it can.
    case unsupportedFormat(String)
    /// The file or device cannot be opened; the text names it and the system's reason.
    case cannotOpen(String)
    /// The file's contents are damaged at that byte.
    case malformedFile(byteOffset: Int, reason: String)
    /// `start` was called while capturing.
    case alreadyStarted
    /// An error of the capturer's own.
    case custom(any Error)

    public var description: String {
        switch self {
        case .unsupportedFormat(let text), .cannotOpen(let text): text
        case .malformedFile(let offset, let reason): "The file is damaged at byte \(offset): \(reason)"
        case .alreadyStarted: "The capturer is already running; stop it before starting it again."
        case .custom(let error): "\(error)"
        }
    }
}
