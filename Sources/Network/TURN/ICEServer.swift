import EmisoraCore

/// A STUN or TURN server that helps two sides behind NATs to meet (W3C `RTCIceServer`).
///
/// ```swift
/// let server = ICEServer(
///     urls: ["turn:turn.example.org", "turns:turn.example.org?transport=tcp"], username: "ana", credential: "secret")
/// try server.validate()
/// ```
///
/// The addresses are RFC 7064's and RFC 7065's: `stun:host[:port]`, `stuns:…`, `turn:host[:port][?transport=udp|tcp]`,
/// `turns:…`. A TURN server needs a user name and a password.
public struct ICEServer: Hashable, Sendable {
    public var urls: [String]
    public var username: String?
    public var credential: String?

    public init(urls: [String], username: String? = nil, credential: String? = nil) {
        self.urls = urls
        self.username = username
        self.credential = credential
    }

    /// Checks all that can be checked without the network.
    ///
    /// - Throws: What is wrong with which address, in words for the person who wrote it.
    public func validate() throws(ICEServerError) {
        _ = try endpoints()
    }

    /// The addresses, read. Names are still to be resolved.
    package func endpoints() throws(ICEServerError) -> [ICEServerEndpoint] {
        guard !urls.isEmpty else { throw .noURL }
        var endpoints: [ICEServerEndpoint] = []
        for url in urls {
            let endpoint = try ICEServerEndpoint(url)
            if endpoint.isRelay, username?.isEmpty ?? true || credential == nil { throw .credentialsMissing(url: url) }
            // RFC 8489 §14.3.
            if let username, username.utf8.count > 508 { throw .usernameTooLong(byteCount: username.utf8.count) }
            if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
        }
        return endpoints
    }
}

/// Why the description of a STUN or TURN server cannot be used.
public enum ICEServerError: Error, Hashable, Sendable, CustomStringConvertible {
    case noURL
    case unknownScheme(url: String)
    case hostMissing(url: String)
    case invalidHost(url: String)
    case invalidPort(url: String)
    case unknownQuery(url: String)
    case unknownTransport(url: String)
    case credentialsMissing(url: String)
    case usernameTooLong(byteCount: Int)

    public var description: String {
        let form = "Write it like stun:host:port or turn:host:port?transport=tcp."
        switch self {
        case .noURL: return "An ICE server has no address. \(form)"
        case .unknownScheme(let url):
            return
                "\(url): an ICE server's address begins with stun:, stuns:, turn: or turns:, without slashes. \(form)"
        case .hostMissing(let url): return "\(url): the name of the server is missing. \(form)"
        case .invalidHost(let url):
            return "\(url): this is no host name and no IP address; an IPv6 address stands in [brackets]. \(form)"
        case .invalidPort(let url): return "\(url): the port is a number from 1 to 65535. \(form)"
        case .unknownQuery(let url):
            return "\(url): only turn: and turns: may end in ?transport=udp or ?transport=tcp, and in nothing else."
        case .unknownTransport(let url):
            return "\(url): the transport is udp or tcp; turns: over udp (DTLS) is not supported, leave it out."
        case .credentialsMissing(let url): return "\(url): a TURN server needs a username and a credential."
        case .usernameTooLong(let byteCount):
            return "The username for an ICE server has \(byteCount) bytes; at most 508 are allowed."
        }
    }
}

/// One address of an ICE server, read.
package struct ICEServerEndpoint: Hashable, Sendable {
    /// How the server is reached.
    package enum Transport: Hashable, Sendable {
        case udp
        case tcp
        case tls
    }

    /// Whether it relays (TURN), not only tells addresses (STUN).
    package let isRelay: Bool
    package let transport: Transport
    /// A name, or an IP address without brackets.
    package let host: String
    package let port: UInt16

    package init(_ url: String) throws(ICEServerError) {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { throw .unknownScheme(url: url) }
        let isSecure: Bool
        switch url[..<colon].lowercased() {
        case "stun": (isRelay, isSecure) = (false, false)
        case "stuns": (isRelay, isSecure) = (false, true)
        case "turn": (isRelay, isSecure) = (true, false)
        case "turns": (isRelay, isSecure) = (true, true)
        default: throw .unknownScheme(url: url)
        }
        var rest = url[url.utf8.index(after: colon)...]
        guard !rest.hasPrefix("//") else { throw .unknownScheme(url: url) }
        var named: String?
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            let query = rest[rest.utf8.index(after: mark)...]
            guard isRelay, query.hasPrefix("transport=") else { throw .unknownQuery(url: url) }
            named = query.dropFirst("transport=".count).lowercased()
            rest = rest[..<mark]
        }
        switch (named, isSecure) {
        case ("udp", false): transport = .udp
        case ("tcp", false): transport = .tcp
        case ("tcp", true): transport = .tls
        // Without a word on it: UDP, and TLS over TCP where it is to be secure.
        case (nil, false): transport = .udp
        case (nil, true): transport = .tls
        default: throw .unknownTransport(url: url)
        }
        (host, port) = try Self.authority(rest, defaultPort: isSecure ? 5_349 : 3_478, url: url)
    }

    private static func authority(
        _ text: Substring, defaultPort: UInt16, url: String
    ) throws(ICEServerError) -> (String, UInt16) {
        guard !text.isEmpty else { throw .hostMissing(url: url) }
        var host = text
        var port: Substring?
        if text.hasPrefix("[") {
            guard let end = text.utf8.firstIndex(of: UInt8(ascii: "]")) else { throw .invalidHost(url: url) }
            host = text[text.utf8.index(after: text.startIndex)..<end]
            let behind = text[text.utf8.index(after: end)...]
            guard IPAddress(String(host))?.family == .v6 else { throw .invalidHost(url: url) }
            if !behind.isEmpty {
                guard behind.hasPrefix(":") else { throw .invalidHost(url: url) }
                port = behind.dropFirst()
            }
        } else {
            if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
                host = text[..<colon]
                port = text[text.utf8.index(after: colon)...]
            }
            guard !host.isEmpty else { throw .hostMissing(url: url) }
            guard host.utf8.count <= 253, host.utf8.allSatisfy(isHostCharacter), port?.contains(":") != true else {
                throw .invalidHost(url: url)
            }
        }
        guard let port else { return (String(host), defaultPort) }
        guard port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt16(port), number != 0
        else { throw .invalidPort(url: url) }
        return (String(host), number)
    }

    private static func isHostCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
