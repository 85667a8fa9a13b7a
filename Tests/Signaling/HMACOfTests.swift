import EmisoraCore
import EmisoraCrypto
import EmisoraSignalingProtocol

@testable import EmisoraSignalingServer

/// Signs what the server itself would never sign.
struct HMACOfTests: Sendable {
    private let key: HMACSHA256Key

    init(_ secret: SecretFile) {
        key = HMACSHA256Key(secret.bytes.span.bytes)
    }

    func signature(of text: String) -> String {
        Base64.encodeForURL(key.tag(of: Array(text.utf8).span.bytes) ?? [])
    }
}
