import EmisoraSignalingProtocol

/// What one participant may do.
struct Grant: Equatable, Sendable {
    var role: AccessRole
    /// The one stream it may publish; `nil`: any.
    var stream: String?
    /// Told to others as it is.
    var data: String?
    /// How many participants a room may have with it; `nil`: as many as the server lets in.
    var capacity: Int?

    /// Where no token is asked for.
    static let everything = Self(role: .moderator, stream: nil, data: nil)

    func mayPublish(_ name: String) -> Bool {
        role != .subscriber && (stream == nil || stream == name)
    }

    /// Whether it may take what encoders send to the room: in the place of a publisher, so that nobody who is to watch
    /// only keeps a stream from whom it is meant for. `nil`: streams of any name.
    func mayReceive(_ name: String?) -> Bool {
        name.map(mayPublish) ?? (role != .subscriber && stream == nil)
    }
}

/// Who may join: the one place where tokens are judged, for websocket, WHEP and WHIP alike.
///
/// ```swift
/// guard case .granted(let grant) = access.authorize(request.token, for: room) else { … }  // .refused has a sentence
/// ```
struct AccessPolicy: Sendable {
    enum Verdict: Equatable, Sendable {
        case granted(Grant)
        /// A sentence for a person. It is the same for a room that does not exist and for one that is not the token's.
        case refused(String)
    }

    /// `nil`: everybody may do everything.
    private let key: TokenKey?
    /// Seconds since 1970. Handed in, so that tests say what time it is.
    private let unixTime: @Sendable () -> Double

    /// Lets everybody in.
    static let open = Self(key: nil, unixTime: { 0 })

    init(key: TokenKey?, unixTime: @escaping @Sendable () -> Double) {
        self.key = key
        self.unixTime = unixTime
    }

    var isOpen: Bool { key == nil }

    /// - Parameter mayBeExpired: For what a token began while it was valid, and now is only to be ended.
    func authorize(_ token: BearerToken?, for room: String, mayBeExpired: Bool = false) -> Verdict {
        guard let key else { return .granted(.everything) }
        let refusal = Verdict.refused("A token for this room is needed; ask whoever runs the server.")
        // Rooms are not looked up here: neither the words nor the time tell which of them exist.
        guard let token else { return refusal }
        do {
            let claims = try key.verify(token, at: mayBeExpired ? nil : unixTime())
            guard claims.room == room else { return refusal }
            return .granted(
                Grant(role: claims.role, stream: claims.stream, data: claims.data, capacity: claims.capacity))
        } catch .expired {
            // Only who once had a genuine token learns this.
            return .refused("The token has expired; ask for a new one.")
        } catch {
            return refusal
        }
    }
}
