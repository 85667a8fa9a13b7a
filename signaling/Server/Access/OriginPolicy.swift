/// Which web pages may talk to the server: by the `Origin` that browsers send (RFC 6454 §7.3), compared as a whole.
///
/// Without a list these are the server's own pages; and those of this machine, where the server listens at loopback only,
/// since there a foreign page could make its visitor's browser connect, and name the server by any name (DNS rebinding).
/// Who sends no `Origin` is no browser.
struct OriginPolicy: Equatable, Sendable {
    /// Beside the pages of the list.
    enum Own: Equatable, Sendable {
        /// Those whose host is the one in `Host`; over TLS, where the server itself speaks it.
        case server(isTLS: Bool)
        /// Those of this machine, at any port.
        case loopback
    }

    private let listed: Set<String>
    private let own: Own

    /// Lets every page in.
    static let any = Self(listed: ["*"], own: .loopback)

    /// - Parameter listed: Origins such as `https://example.org`, or `*` for all.
    init(listed: Set<String>, own: Own) {
        self.listed = listed
        self.own = own
    }

    var allowsAll: Bool { listed.contains("*") }

    func allows(_ origin: String?, host: String?) -> Bool {
        guard let origin else { return true }
        if allowsAll || listed.contains(origin) { return true }
        switch own {
        case .loopback:
            return Authority(origin: origin)?.isLoopback == true
        case .server(let isTLS):
            guard let host = host?.lowercased(), !host.isEmpty else { return false }
            // A server without TLS of its own may stand behind one that has it.
            return origin.lowercased() == "https://\(host)" || (!isTLS && origin.lowercased() == "http://\(host)")
        }
    }

    /// Whether `text` can be an origin at all: a scheme and a host, no path.
    static func isOrigin(_ text: String) -> Bool {
        guard text != "*", text != "null" else { return true }
        guard let slashes = text.firstRange(of: "://") else { return false }
        let scheme = text[..<slashes.lowerBound]
        let authority = text[slashes.upperBound...]
        return !scheme.isEmpty && !authority.isEmpty
            && authority.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && ![0x22, 0x23, 0x2F, 0x3F, 0x40, 0x5C].contains($0)
            }
    }
}
