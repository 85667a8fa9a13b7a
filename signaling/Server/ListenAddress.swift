import EmisoraCore
import Glibc

/// A host and a port to listen at, resolved and tried before libwebsockets gets it: that one only says "no".
struct ListenAddress: Sendable {
    let host: String
    let port: UInt16
    /// The numeric address of `host`.
    let numeric: String
    let isIPv6: Bool

    init(host: String, port: UInt16) throws(SignalingServerError) {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var results: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &results) == 0, let first = results else {
            throw .addressNotAvailable(host: host)
        }
        defer { freeaddrinfo(results) }
        var text = [CChar](repeating: 0, count: 64)
        guard
            getnameinfo(
                first.pointee.ai_addr, first.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
                == 0
        else { throw .addressNotAvailable(host: host) }
        self.host = host
        self.port = port
        numeric = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        isIPv6 = first.pointee.ai_family == AF_INET6
    }

    var isLoopback: Bool { IPAddress(numeric)?.isLoopback == true }

    var isWildcard: Bool { numeric == "0.0.0.0" || numeric == "::" }

    /// Binds and lets go again, so that a refusal comes with its reason.
    func checkFree() throws(SignalingServerError) {
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw .failed(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var results: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(numeric, String(port), &hints, &results) == 0, let first = results else {
            throw .addressNotAvailable(host: host)
        }
        defer { freeaddrinfo(results) }
        guard bind(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0, listen(descriptor, 1) == 0 else {
            switch errno {
            case EADDRINUSE: throw .portTaken(host: host, port: port)
            case EACCES, EPERM: throw .permissionDenied(port: port)
            case EADDRNOTAVAIL: throw .addressNotAvailable(host: host)
            default: throw .failed(String(cString: strerror(errno)))
            }
        }
    }
}
