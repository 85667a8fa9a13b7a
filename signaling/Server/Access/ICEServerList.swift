import EmisoraCore
import EmisoraCrypto
import EmisoraSignalingProtocol

/// The STUN and TURN servers that are handed out, with credentials of the receiver's own where the TURN server shares a
/// secret with us.
///
/// The scheme is coturn's `use-auth-secret` (draft-uberti-behave-turn-rest-00): the user name is the time at which it
/// ends and an id, the password the HMAC-SHA1 of the user name.
struct ICEServerList: Sendable {
    /// How long such a password opens new allocations; those that there are go on.
    static let lifetime = 12 * 3600.0

    private let servers: [ICEServerDescription]
    private let key: HMACSHA1Key?
    private let unixTime: @Sendable () -> Double

    init(
        _ servers: [ICEServerDescription] = [], secret: SecretFile? = nil,
        unixTime: @escaping @Sendable () -> Double = { 0 }
    ) {
        self.servers = servers
        key = secret.map { HMACSHA1Key($0.bytes.span.bytes) }
        self.unixTime = unixTime
    }

    /// What the participant `id` is told.
    func servers(for id: String) -> [ICEServerDescription] {
        guard let key else { return servers }
        return servers.compactMap { server in
            guard server.urls.contains(where: { $0.lowercased().hasPrefix("turn") }) else { return server }
            let name = "\(Int64(unixTime() + Self.lifetime)):\(id)"
            return key.tag(of: Array(name.utf8).span.bytes).bytes.map {
                ICEServerDescription(urls: server.urls, username: name, credential: Base64.encode($0))
            }
        }
    }
}
