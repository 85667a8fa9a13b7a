import EmisoraCore

/// The host of `host[:port]` as `Host` and origins have it (RFC 3986 §3.2), in lower case.
struct Authority: Equatable, Sendable {
    /// A name, or an address; IPv6 without its brackets.
    var host: String

    /// `nil`: it is no such thing.
    init?(_ text: some StringProtocol) {
        let text = text.lowercased()[...]
        let rest: Substring
        if text.hasPrefix("["), let bracket = text.firstIndex(of: "]") {
            host = String(text[text.index(after: text.startIndex)..<bracket])
            rest = text[text.index(after: bracket)...]
            guard IPAddress(host)?.family == .v6 else { return nil }
        } else {
            let colon = text.firstIndex(of: ":") ?? text.endIndex
            host = String(text[..<colon])
            rest = text[colon...]
            let isName = host.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                    UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            guard isName, !host.isEmpty else { return nil }
        }
        guard !rest.isEmpty else { return }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), UInt16(digits) != nil else {
            return nil
        }
    }

    /// Of an origin (RFC 6454 §7) of the Web.
    init?(origin: String) {
        let lower = origin.lowercased()
        guard let scheme = ["http://", "https://"].first(where: { lower.hasPrefix($0) }) else { return nil }
        self.init(lower.dropFirst(scheme.count))
    }

    var address: IPAddress? { IPAddress(host) }

    /// Names that lead nowhere else (RFC 6761 §6.3), and loopback's addresses.
    var isLoopback: Bool { host == "localhost" || host.hasSuffix(".localhost") || address?.isLoopback == true }
}
