import Glibc

/// Why a camera cannot be used. ``CameraCapture`` throws it within ``CaptureError/custom(_:)``.
public enum CameraError: Error, Hashable, Sendable {
    /// There is no camera at all, or none that is called so.
    case notFound(String?)
    /// Another program has the camera; `holders` are the processes as far as they can be seen.
    case busy(path: String, holders: [Int32])
    /// This user may not open the camera's node, which belongs to `group`.
    case permissionDenied(path: String, group: String)
    /// The node is no camera that streams.
    case notACamera(path: String)
    /// The camera has no mode whose pictures can be decoded; the text says what it has.
    case noUsableMode(path: String, reason: String)
    /// The driver set a format that pictures cannot be read from.
    case unusableFormat(path: String, format: String)
    /// The camera was unplugged.
    case unplugged(path: String)
    /// The driver refused. `code` is the system's `errno`.
    case driver(path: String, operation: String, code: Int32)
    /// `stop()` was called while capturing was being started.
    case stopped
}

extension CameraError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notFound(let name?): "no camera \"\(name)\": list them with emisora devices"
        case .notFound(nil): "no camera found: plug one in, or list devices with emisora devices"
        case .busy(let path, let holders) where holders.isEmpty:
            "\(path) is in use by another program: close it and try again"
        case .busy(let path, let holders):
            "\(path) is in use by process \(holders.map(String.init).joined(separator: ", ")): close it and try again"
        case .permissionDenied(let path, let group):
            "no permission for \(path): add this user to group \(group) (usermod -aG \(group) NAME) and log in again"
        case .notACamera(let path): "\(path) does not capture video: list cameras with emisora devices"
        case .noUsableMode(let path, let reason): "\(path): \(reason)"
        case .unusableFormat(let path, let format):
            "\(path): the driver set \(format), whose pictures cannot be read: ask for another size"
        case .unplugged(let path): "\(path) was unplugged"
        case .driver(let path, let operation, let code): "\(path): \(operation): \(String(cString: strerror(code)))"
        case .stopped: "stopped while capturing was being started"
        }
    }
}

extension CameraError {
    /// What a refused request means for the camera at `path`.
    init(_ error: V4L2Error, path: String, in system: any V4L2System) {
        switch error.code {
        case EBUSY: self = .busy(path: path, holders: system.access(to: path)?.holders ?? [])
        case EACCES, EPERM: self = .permissionDenied(path: path, group: system.access(to: path)?.group ?? "video")
        case ENODEV, ENXIO: self = .unplugged(path: path)
        case ENOENT: self = .notFound(path)
        default: self = .driver(path: path, operation: error.operation, code: error.code)
        }
    }
}
