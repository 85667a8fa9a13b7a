import CEmisoraWebsockets
import EmisoraCore
import EmisoraSignalingProtocol
import Glibc

/// What a request says of itself, and where it comes from.
extension ServerLoop {
    /// A header's value, or nil when it is absent or longer than `limit` bytes.
    func header(_ token: lws_token_indexes, of socket: OpaquePointer, limit: Int32 = 1024) -> String? {
        let length = lws_hdr_total_length(socket, token)
        guard length > 0, length < limit else { return nil }
        var text = [CChar](repeating: 0, count: Int(length) + 2)
        guard lws_hdr_copy(socket, &text, Int32(text.count), token) > 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// `Origin`; empty when there is one that cannot be read.
    func origin(of socket: OpaquePointer) -> String? {
        lws_hdr_total_length(socket, WSI_TOKEN_ORIGIN) > 0 ? header(WSI_TOKEN_ORIGIN, of: socket) ?? "" : nil
    }

    /// `Host`, likewise.
    func host(of socket: OpaquePointer) -> String? {
        lws_hdr_total_length(socket, WSI_TOKEN_HOST) > 0 ? header(WSI_TOKEN_HOST, of: socket) ?? "" : nil
    }

    func token(of socket: OpaquePointer) -> BearerToken? {
        let limit = Int32(BearerToken.maximumByteCount + 16)
        return header(WSI_TOKEN_HTTP_AUTHORIZATION, of: socket, limit: limit).flatMap {
            BearerToken(authorization: $0)
        }
    }

    func peer(of descriptor: Int32) -> IPAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var text = [CChar](repeating: 0, count: 64)
        let isKnown = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getpeername(descriptor, address, &length) == 0
                    && getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            }
        }
        // Without the zone of a link-local address.
        let host = String(
            decoding: text.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: "%")) }.map { UInt8(bitPattern: $0) },
            as: UTF8.self)
        // Whose address is not known shares the count of all like it.
        return isKnown ? IPAddress(host) ?? IPAddress(v4: 0) : IPAddress(v4: 0)
    }
}
