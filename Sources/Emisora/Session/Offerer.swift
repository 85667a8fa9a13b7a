/// Who makes the SDP offer of a subscription (RFC 3264); the other side answers. Both give the same media.
public enum Offerer: String, Hashable, Sendable, CaseIterable {
    case subscriber
    /// As with WHIP and SFUs: the subscriber only says which stream it wants.
    case publisher
}
