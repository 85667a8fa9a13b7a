/// Where a Redis server is: `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`, or `unix:PATH`.
package struct RedisURL: Equatable, Sendable, CustomStringConvertible {
    enum Place: Equatable, Sendable {
        case host(String, port: UInt16)
        case path(String)
    }

    let place: Place
    let user: String?
    let password: String?
    let database: Int

    /// - Throws: A sentence that says what is wrong, and never the password.
    package init(_ text: String) throws(SignalingServerError) {
        func wrong(_ why: String) -> SignalingServerError { .failed("--redis: \(why)") }
        if text.hasPrefix("rediss:") {
            throw wrong(
                "this build speaks to Redis without TLS; use redis:// through a tunnel such as stunnel, or unix:PATH")
        }
        if let path = text.dropping(prefix: "unix:") {
            let path = path.hasPrefix("//") ? String(path.dropFirst(2)) : path
            // What fits into a socket's address.
            guard path.hasPrefix("/"), path.utf8.count < 108 else { throw wrong("unix: takes an absolute path") }
            (place, user, password, database) = (.path(path), nil, nil, 0)
            return
        }
        guard var rest = text.dropping(prefix: "redis://") else {
            throw wrong("it must be redis://[:PASSWORD@]HOST[:PORT][/DATABASE] or unix:PATH")
        }
        var database = 0
        // A password has its slashes escaped.
        if let slash = rest.firstIndex(of: "/") {
            let number = rest[rest.index(after: slash)...]
            guard number.isEmpty || Int(number).map({ (0..<65_536).contains($0) }) == true else {
                throw wrong("the database behind the slash must be a number")
            }
            database = Int(number) ?? 0
            rest = String(rest[..<slash])
        }
        var user: String?
        var password: String?
        if let at = rest.lastIndex(of: "@") {
            let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = Self.unescaped(parts[0]), let secret = Self.unescaped(parts[1]) else {
                throw wrong("before @ comes [USER]:PASSWORD, with %XX for special characters")
            }
            user = name.isEmpty ? nil : name
            password = secret
            rest = String(rest[rest.index(after: at)...])
        }
        var host = rest[...]
        var port: UInt16? = 6379
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<end]
            let after = rest[rest.index(after: end)...]
            if !after.isEmpty { port = after.hasPrefix(":") ? UInt16(after.dropFirst()) : nil }
        } else if let colon = rest.lastIndex(of: ":") {
            host = rest[..<colon]
            port = UInt16(rest[rest.index(after: colon)...])
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let port, port > 0 else {
            throw wrong("the host or its port is missing or wrong")
        }
        (place, self.user, self.password, self.database) = (.host(String(host), port: port), user, password, database)
    }

    /// Without user and password.
    package var description: String {
        switch place {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .path(let path): path
        }
    }

    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension String {
    fileprivate func dropping(prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
