import EmisoraSignalingProtocol
import EmisoraWebsocketClient

/// `ws://HOST:PORT/ROOM` or `wss://HOST:PORT/ROOM`, taken apart and checked.
package struct SignalingURL: Hashable, Sendable, CustomStringConvertible {
    /// A name or a numeric address; an IPv6 address without its brackets.
    package var host: String
    package var port: UInt16
    package var room: String
    /// Whether the connection is by TLS, and the server's certificate has to name the host.
    package var isSecure: Bool

    package init(host: String, port: UInt16, room: String, isSecure: Bool = false) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.room = room
    }

    /// - Throws: `SignalingURLError` that says which part of the text is wrong.
    package init(_ text: String) throws(SignalingURLError) {
        let schemes = ["ws://", "wss://"]
        guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) }) else {
            throw SignalingURLError(text, "it must begin with ws:// or wss://")
        }
        let isSecure = scheme == "wss://"
        let rest = text.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/") else {
            throw SignalingURLError(text, "the room is missing after HOST:PORT/")
        }
        let authority = rest[..<slash]
        let room = String(rest[rest.index(after: slash)...])
        let address: WebsocketAddress
        do throws(WebsocketAddress.Fault) {
            address = try WebsocketAddress(
                authority: authority, usualPort: isSecure ? 443 : 80, path: "/\(room)", isSecure: isSecure)
        } catch {
            throw SignalingURLError(text, error.reason)
        }
        guard SignalingProtocol.isWellFormed(name: room) else {
            throw SignalingURLError(text, "a room is 1 to 64 of the characters A-Z a-z 0-9 _ -")
        }
        guard SignalingProtocol.isValid(name: room) else {
            throw SignalingURLError(text, "the server uses the name \"\(room)\" itself; take another room")
        }
        self.init(host: address.host, port: address.port, room: room, isSecure: isSecure)
    }

    package var description: String { "\(isSecure ? "wss" : "ws")://\(authority)/\(room)" }

    package var address: WebsocketAddress {
        WebsocketAddress(host: host, port: port, path: "/\(room)", isSecure: isSecure)
    }

    /// `HOST:PORT` as in a `Host` header.
    package var authority: String { address.authority }
}

/// A signaling URL that cannot be used.
package struct SignalingURLError: Error, Equatable, CustomStringConvertible {
    package var description: String

    init(_ text: String, _ reason: String) {
        // What stands behind a room may be a secret in the wrong place.
        let shown = text.prefix { $0 != "?" && $0 != "#" }
        description = "\(shown) is not a signaling URL (ws://HOST:PORT/ROOM or wss://HOST:PORT/ROOM): \(reason)."
    }
}
