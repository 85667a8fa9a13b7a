import EmisoraSignalingProtocol

/// `ws://HOST:PORT/ROOM`, taken apart and checked.
package struct SignalingURL: Hashable, Sendable, CustomStringConvertible {
    /// A name or a numeric address; an IPv6 address without its brackets.
    package var host: String
    package var port: UInt16
    package var room: String

    package init(host: String, port: UInt16, room: String) {
        self.host = host
        self.port = port
        self.room = room
    }

    /// - Throws: `SignalingURLError` that says which part of the text is wrong.
    package init(_ text: String) throws(SignalingURLError) {
        let scheme = "ws://"
        guard text.lowercased().hasPrefix(scheme) else { throw SignalingURLError(text, "it must begin with ws://") }
        let rest = text.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/") else {
            throw SignalingURLError(text, "the room is missing after HOST:PORT/")
        }
        let authority = rest[..<slash]
        let room = String(rest[rest.index(after: slash)...])
        let host: Substring
        let afterHost: Substring
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else {
                throw SignalingURLError(text, "an IPv6 address stands in [brackets]")
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
        else { throw SignalingURLError(text, "the host is missing or not a name or address") }
        var port: UInt16 = 80
        if !afterHost.isEmpty {
            guard afterHost.hasPrefix(":"), let number = UInt16(afterHost.dropFirst()), number > 0 else {
                throw SignalingURLError(text, "the port must be a number from 1 to 65535")
            }
            port = number
        }
        guard SignalingProtocol.isWellFormed(name: room) else {
            throw SignalingURLError(text, "a room is 1 to 64 of the characters A-Z a-z 0-9 _ -")
        }
        guard SignalingProtocol.isValid(name: room) else {
            throw SignalingURLError(text, "the server uses the name \"\(room)\" itself; take another room")
        }
        self.init(host: String(host), port: port, room: room)
    }

    package var description: String { "ws://\(authority)/\(room)" }

    /// `HOST:PORT` as in a `Host` header.
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A signaling URL that cannot be used.
package struct SignalingURLError: Error, Equatable, CustomStringConvertible {
    package var description: String

    init(_ text: String, _ reason: String) {
        description = "\(text) is not a signaling URL (ws://HOST:PORT/ROOM): \(reason)."
    }
}
