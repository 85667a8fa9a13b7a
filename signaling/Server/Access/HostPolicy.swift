import EmisoraCore

/// By which names a server that asks for no token may be called.
///
/// A page of anybody's may have its own name lead to an address of this machine or this network (DNS rebinding); to the
/// browser, and by `Origin` and `Host`, it is then a page of the server's own. So only addresses and names that others
/// cannot give are answered; the rest get 421 (RFC 9110 §7.4).
struct HostPolicy: Equatable, Sendable {
    /// `nil`: any.
    private let names: Set<String>?

    static let any = Self(names: nil)

    /// - Parameters:
    ///   - own: This machine's names.
    ///   - origins: Pages that may connect: what stands before the server has their name.
    init(own: [String], origins: Set<String>) {
        if origins.contains("*") {
            // Pages of all names may connect anyway.
            names = nil
        } else {
            names = Set(own.map { $0.lowercased() } + origins.compactMap { Authority(origin: $0)?.host })
        }
    }

    private init(names: Set<String>?) {
        self.names = names
    }

    /// - Parameter host: `Host` as sent. Who sends none is no browser.
    func allows(_ host: String?) -> Bool {
        guard let names, let host else { return true }
        guard let authority = Authority(host) else { return false }
        return authority.address != nil || authority.isLoopback || names.contains(authority.host)
    }
}

extension HTTPResponse {
    static let misdirected = problem(
        421,
        "The server does not know itself by this name; use its address, or have its operator allow https://NAME by "
            + "--allow-origin.")
}
