/// Where a websocket server is: `HOST:PORT`, a path, and whether by TLS.
package struct WebsocketAddress: Hashable, Sendable {
    /// A name or a numeric address; an IPv6 address without its brackets.
    package var host: String
    package var port: UInt16
    /// As in the request, with its slash.
    package var path: String
    /// Whether the connection is by TLS, and the server's certificate has to name the host.
    package var isSecure: Bool

    package init(host: String, port: UInt16, path: String, isSecure: Bool) {
        self.host = host
        self.port = port
        self.path = path
        self.isSecure = isSecure
    }

    /// What is wrong with the `HOST:PORT` of a URL: the rest of a sentence.
    package struct Fault: Error, Equatable, Sendable {
        package let reason: String
    }

    /// Reads `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.
    ///
    /// - Parameter usualPort: the port where none is named.
    package init(
        authority: some StringProtocol, usualPort: UInt16, path: String, isSecure: Bool
    ) throws(Fault) {
        let authority = Substring(authority)
        let host: Substring
        let afterHost: Substring
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else {
                throw Fault(reason: "an IPv6 address stands in [brackets]")
            }
            host = authority[authority.index(after: authority.startIndex)..<bracket]
            afterHost = authority[authority.index(after: bracket)...]
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = authority[..<colon]
            afterHost = authority[colon...]
        }
        guard !host.isEmpty, host.utf8.count <= 253,
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: "\\") })
        else { throw Fault(reason: "the host is missing or not a name or address") }
        // libwebsockets 4.1.6 cuts the name that the certificate must have at its first colon.
        guard !isSecure || !host.contains(":") else {
            throw Fault(reason: "TLS needs a name or an IPv4 address")
        }
        var port = usualPort
        if !afterHost.isEmpty {
            guard afterHost.hasPrefix(":"), let number = UInt16(afterHost.dropFirst()), number > 0 else {
                throw Fault(reason: "the port must be a number from 1 to 65535")
            }
            port = number
        }
        self.init(host: String(host), port: port, path: path, isSecure: isSecure)
    }

    /// `HOST:PORT` as in a `Host` header.
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
