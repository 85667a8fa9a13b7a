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
    /// Seconds since 1970 from which on nobody joins with it; `nil`: never.
    var expires: Double?
    /// Which connection of its session it is for, counted from zero.
    var turn = 0

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
    /// What the secrets of sessions are signed with; `nil`: none is resumed.
    private let resumptionKey: TokenKey?
    /// Seconds since 1970. Handed in, so that tests say what time it is.
    private let unixTime: @Sendable () -> Double

    /// Lets everybody in.
    static let open = Self(key: nil, unixTime: { 0 })

    init(key: TokenKey?, resumptionKey: TokenKey? = nil, unixTime: @escaping @Sendable () -> Double) {
        self.key = key
        self.resumptionKey = resumptionKey
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
            return .granted(Grant(claims))
        } catch .expired {
            // Only who once had a genuine token learns this.
            return .refused("The token has expired; ask for a new one.")
        } catch {
            return refusal
        }
    }

    // MARK: Sessions that come back

    /// Where no token is asked for, nothing ends. A number that every reader of JSON holds exactly.
    private static let never = Double(1 << 52)

    /// The secret by which the participant can prove who it is and what it may do.
    func resumptionSecret(for id: String, in room: String, _ grant: Grant) -> BearerToken? {
        resumptionKey?.sign(
            AccessClaims(
                room: room, role: grant.role, stream: grant.stream, exp: grant.expires ?? Self.never, data: grant.data,
                capacity: grant.capacity, participant: id, turn: grant.turn))
    }

    /// What somebody who resumes may do; `nil` where it does not prove who it is, or its time is up. A valid token
    /// counts, as it may be newer than what the secret says.
    func grant(resuming resumption: SessionResumption, with token: BearerToken?, in room: String) -> Grant? {
        guard let claims = try? resumptionKey?.verify(resumption.secret, at: unixTime()),
            claims.participant == resumption.id, claims.room == room
        else { return nil }
        if let token, case .granted(var grant) = authorize(token, for: room) {
            grant.turn = claims.turn ?? 0
            return grant
        }
        return Grant(claims)
    }
}

extension Grant {
    fileprivate init(_ claims: AccessClaims) {
        self.init(
            role: claims.role, stream: claims.stream, data: claims.data, capacity: claims.capacity,
            expires: claims.exp, turn: claims.turn ?? 0)
    }
}
