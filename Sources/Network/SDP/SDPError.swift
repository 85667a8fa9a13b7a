/// Why a session description was refused.
package enum SDPError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A line that does not follow its grammar; the whole description is refused (RFC 9429 §5.8).
    case malformed(line: Int, reason: String)
    /// More of something than any honest peer sends.
    case tooLarge(what: String, limit: Int)
    /// Well-formed, but it breaks a rule of offer/answer.
    case invalid(reason: String)
    /// No m-line has a codec that we have. A WHEP server answers 406 then.
    case noCommonCodec
    /// The call does not fit the signaling state (RFC 9429 §4.1.8), such as an answer without an offer.
    case wrongState(reason: String)

    package var description: String {
        switch self {
        case .malformed(let line, let reason): "Line \(line) of the session description is malformed: \(reason)"
        case .tooLarge(let what, let limit): "The session description has more than \(limit) \(what)."
        case .invalid(let reason): "The session description cannot be used: \(reason)"
        case .noCommonCodec: "The peer offers neither VP8 nor Opus in a media section that we can use."
        case .wrongState(let reason): reason
        }
    }
}
