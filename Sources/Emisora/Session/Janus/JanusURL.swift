import EmisoraWebsocketClient

/// `janus://HOST[:PORT]/[PATH/]ROOM`, by TLS `januss:`, taken apart: the websocket API of a Janus, and a room of its
/// VideoRoom plugin.
struct JanusURL: Hashable {
    var address: WebsocketAddress
    /// As Janus calls it, a number or a string.
    var room: String

    /// - Returns: `nil` where the text is of another scheme.
    /// - Throws: `SessionError.invalidURL` where it is of this one, but not all there.
    init?(_ text: String) throws(SessionError) {
        let schemes = ["janus://", "januss://"]
        guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) }) else { return nil }
        let isSecure = scheme == "januss://"
        let parts = text.dropFirst(scheme.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, let last = parts.last, let room = Self.decoded(last), !room.isEmpty,
            room.utf8.count <= 256, parts.dropFirst().dropLast().allSatisfy(Self.isSegment)
        else { throw .invalidURL(text) }
        do throws(WebsocketAddress.Fault) {
            // As Janus's own configuration has them.
            address = try WebsocketAddress(
                authority: parts[0], usualPort: isSecure ? 8_989 : 8_188,
                path: "/" + parts.dropFirst().dropLast().joined(separator: "/"), isSecure: isSecure)
        } catch {
            throw .invalidURL(text)
        }
        self.room = room
    }

    private static func isSegment(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 && $0 != 0x3F }
    }

    /// RFC 3986 §2.1.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte > 0x20, byte != 0x7F, byte != UInt8(ascii: "?"), byte != UInt8(ascii: "#") else { return nil }
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            // No sign, which the number would take.
            guard rest.count >= 2, rest.first != UInt8(ascii: "+"), rest.first != UInt8(ascii: "-"),
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            rest = rest.dropFirst(2)
            bytes.append(value)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
