import Glibc

/// Why a microphone cannot be used. ``MicrophoneCapture/start(into:)`` throws it inside `CaptureError.custom`.
public enum MicrophoneError: Error, Hashable, Sendable {
    /// No sound device is called so; `available` are those there are.
    case notFound(device: String, available: [String])
    /// Another program has the device.
    case busy(device: String)
    /// This user may not open the device.
    case permissionDenied(device: String)
    /// The device was unplugged.
    case unplugged(device: String)
    /// The device records in no way that can be taken; the text says what is missing.
    case unusable(device: String, reason: String)
    /// The driver refused. `code` is the system's `errno`.
    case driver(device: String, operation: String, code: Int32)
    /// An option is outside what is allowed; the text names it.
    case invalidOption(String)
}

extension MicrophoneError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notFound(let device, let available) where available.isEmpty:
            "no microphone \"\(device)\": there is no sound device at all; plug one in, or load its driver"
        case .notFound(let device, let available):
            "no microphone \"\(device)\"; there are: \(available.prefix(12).joined(separator: ", "))"
                + (available.count > 12 ? ", …" : "")
        case .busy(let device):
            "microphone \"\(device)\" is in use by another program: close it, or take the device \"default\", which is shared"
        case .permissionDenied(let device):
            "no permission for microphone \"\(device)\": add this user to group audio (usermod -aG audio NAME) and log in again"
        case .unplugged(let device): "microphone \"\(device)\" was unplugged"
        case .unusable(let device, let reason):
            "microphone \"\(device)\": \(reason); if it is hw:…, try plughw:… in its place"
        case .driver(let device, let operation, let code):
            "microphone \"\(device)\": cannot \(operation): \(String(cString: strerror(code)))"
        case .invalidOption(let text): text
        }
    }
}
