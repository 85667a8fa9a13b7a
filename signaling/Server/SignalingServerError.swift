/// Why the server could not start.
package enum SignalingServerError: Error, Equatable, CustomStringConvertible {
    case portTaken(host: String, port: UInt16)
    case permissionDenied(port: UInt16)
    case addressNotAvailable(host: String)
    case secretFile(path: String, reason: String)
    case certificate(String)
    case failed(String)

    package var description: String {
        switch self {
        case .portTaken(let host, let port):
            "Port \(port) on \(host) is taken by another program; stop it or choose another port."
        case .permissionDenied(let port):
            "Port \(port) may not be used by this user; choose one from 1024 to 65535."
        case .addressNotAvailable(let host):
            "\(host) is not an address of this machine; 127.0.0.1 serves this machine, 0.0.0.0 every network."
        case .secretFile(let path, let reason):
            "The secret cannot be read from \(path): \(reason)."
        case .certificate(let why):
            why
        case .failed(let why):
            "The signaling server could not start: \(why)."
        }
    }
}
