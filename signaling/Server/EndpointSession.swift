import EmisoraCore
import EmisoraSignalingProtocol

/// The two HTTP ways into a room, which differ in the direction of media only.
enum EndpointKind: String, Sendable {
    /// RFC 9725: an encoder sends to the room's receiver.
    case whip
    /// draft-ietf-wish-whep: a player receives a stream of the room.
    case whep

    /// Whether the HTTP client sends media.
    var clientSends: Bool { self == .whip }
    var protocolName: String { rawValue.uppercased() }
    /// The participant at the other end, for sentences.
    var partner: String { clientSends ? "receiver" : "publisher" }
}

/// One WHIP or WHEP session: an HTTP client, as a participant of a room.
///
/// ```
/// POST ──▶ created ──answer──▶ live ──PATCH with other credentials──▶ restarting ──answer──▶ live
///                                                                        └──refused, silent──▶ live, as it was
/// ```
struct EndpointSession<ConnectionID: Hashable & Sendable>: Sendable {
    /// A request that waits for the other side's description.
    struct Exchange: Sendable {
        enum Purpose: Equatable, Sendable {
            case creation
            /// An ICE restart, with the offer that it makes.
            case restart(offer: String)
        }

        var purpose: Purpose
        /// `nil`: the client went away, which ends a creation, but not a session that is live.
        var request: HTTPRequestID?
        var deadline: Instant
        /// The answer, while the other side still finds candidates, and those found.
        var held: (sdp: String, candidates: [TrickledCandidate])?
    }

    let kind: EndpointKind
    let room: String
    let stream: String
    let connection: ConnectionID
    /// Where the client asked from when it began.
    let site: IPAddress
    /// The client's last description in force.
    var offer: String
    /// Identifies the ICE session (RFC 9725 §4.3.1): strong, and another one after each restart.
    var entityTag: String
    var allowance: Allowance
    var exchange: Exchange?

    /// The credentials in force: a fragment with others asks for an ICE restart.
    var usernameFragment: String? { SessionDescriptionText.value(of: "ice-ufrag", in: offer) }

    func path(of id: String) -> String { "/\(kind.rawValue)/\(room)/\(stream)/\(id)" }
}

/// What a request says of the state that it expects (RFC 9110 §13.1.1).
enum IfMatch: Equatable {
    /// `*`, which RFC 9725's examples write in quotes.
    case any
    case tags([String])

    init?(_ header: String?) {
        guard let header else { return nil }
        let tags = header.split(separator: ",").map { tag in
            String(tag.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        }
        guard !tags.isEmpty else { return nil }
        self = tags == ["*"] || tags == ["\"*\""] ? .any : .tags(tags)
    }

    /// By strong comparison: a weak tag is never the same.
    func matches(_ entityTag: String) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains(entityTag)
        }
    }
}
