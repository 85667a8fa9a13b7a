import EmisoraCapture
import Glibc

/// Why a capture of packets could not be written.
public enum PacketDumpError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file cannot be made. `code` is the system's `errno`.
    case cannotOpen(path: String, code: Int32)
    /// The file could not be written to its end; what is in it up to there can be read.
    case cannotWrite(path: String, code: Int32)
    /// The system gives no thread to write on.
    case system(String)

    public var description: String {
        switch self {
        case .cannotOpen(let path, let code):
            "\(path) cannot be written: \(String(cString: strerror(code))). Is its folder there, and is it yours?"
        case .cannotWrite(let path, let code):
            "\(path) could not be written to its end: \(String(cString: strerror(code))). Is the disk full?"
        case .system(let text): text
        }
    }
}
