import EmisoraCore
import EmisoraCrypto
import EmisoraSignalingProtocol

/// The secret that access tokens are signed with: JSON Web Tokens (RFC 7519) with HS256, and nothing else.
///
/// Nothing of a token is read before its signature holds, and the algorithm is not the token's to choose (RFC 8725
/// §3.1).
struct TokenKey: Sendable {
    /// Of a secret; RFC 7518 §3.2: a key of 256 bits.
    static let minimumByteCount = 32
    /// How far clocks of whoever issues tokens and of this machine may be apart, in seconds.
    static let leeway = 60.0

    enum Refusal: Error, Equatable {
        case invalid
        case expired
        case notYetValid
    }

    private let key: HMACSHA256Key

    init(_ secret: SecretFile) {
        key = HMACSHA256Key(secret.bytes.span.bytes)
    }

    /// Another key made of a secret, for one use of its own: who has the one does not have the other.
    init?(derivedFrom secret: SecretFile, for use: String) {
        guard let bytes = HMACSHA256Key(secret.bytes.span.bytes).tag(of: Array(use.utf8).span.bytes) else { return nil }
        key = HMACSHA256Key(bytes.span.bytes)
    }

    func sign(_ claims: AccessClaims) -> BearerToken? {
        let signed =
            Base64.encodeForURL(TokenHeader(alg: "HS256", typ: "JWT").json()) + "."
            + Base64.encodeForURL(claims.json())
        return signature(of: signed).map { BearerToken(signed + "." + $0) }
    }

    /// - Parameter time: Seconds since 1970; `nil`: the token counts before and after its time, too.
    func verify(_ token: BearerToken, at time: Double?) throws(Refusal) -> AccessClaims {
        let text = token.text
        guard text.utf8.count <= BearerToken.maximumByteCount else { throw .invalid }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let expected = signature(of: "\(parts[0]).\(parts[1])") else { throw .invalid }
        // The texts are compared, so that a signature has one spelling only.
        let isGenuine = constantTimeEqual(Array(expected.utf8).span.bytes, Array(parts[2].utf8).span.bytes)
        guard isGenuine,
            let header = Base64.decodeFromURL(parts[0]).flatMap({ TokenHeader(json: $0) }),
            header.alg == "HS256", header.crit == nil,
            let claims = Base64.decodeFromURL(parts[1]).flatMap({ AccessClaims(json: $0) })
        else { throw .invalid }
        guard let time else { return claims }
        guard time < claims.exp + Self.leeway else { throw .expired }
        guard time >= (claims.nbf ?? time) - Self.leeway else { throw .notYetValid }
        return claims
    }

    private func signature(of text: String) -> String? {
        key.tag(of: Array(text.utf8).span.bytes).map(Base64.encodeForURL)
    }
}
