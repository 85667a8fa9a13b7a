import EmisoraCore
import EmisoraCrypto

/// What proves who wrote a message: MESSAGE-INTEGRITY or MESSAGE-INTEGRITY-SHA256, under one key.
package enum STUNIntegrity: Sendable {
    case sha1(HMACSHA1Key)
    case sha256(HMACSHA256Key)
}

/// The hash that makes the key of long-term credentials out of a password (RFC 8489 §18.5.1).
package enum STUNPasswordAlgorithm: UInt16, Hashable, Sendable {
    case md5 = 1
    case sha256 = 2
}

/// Long-term credentials (RFC 8489 §9.2): what a user was given for a server.
package struct STUNLongTermCredentials: Hashable, Sendable {
    package let username: String
    package let password: String

    package init(username: String, password: String) {
        self.username = username
        self.password = password
    }

    /// The key for a realm (RFC 8489 §9.2.2): a hash of `username:realm:password`. `nil` where the system has the hash
    /// switched off.
    package func key(realm: [UInt8], algorithm: STUNPasswordAlgorithm) -> [UInt8]? {
        let colon = [UInt8(ascii: ":")]
        let text = Array(username.utf8) + colon + realm + colon + Array(password.utf8)
        switch algorithm {
        case .md5: return Digest.md5(text.span.bytes)
        case .sha256: return Digest.sha256(text.span.bytes)
        }
    }

    /// USERHASH (RFC 8489 §14.4): what stands for the user name where the server lets clients stay anonymous.
    package func userhash(realm: [UInt8]) -> [UInt8]? {
        let text = Array(username.utf8) + [UInt8(ascii: ":")] + realm
        return Digest.sha256(text.span.bytes)
    }
}

/// What a server demands of a request before it believes it: the contents of a 401 or 438 (RFC 8489 §9.2).
package struct STUNChallenge: Hashable, Sendable {
    /// RFC 8489 §9.2: a nonce that begins so tells which features the server has, so that nobody on the way can take
    /// them out of its answer.
    private static let cookie = Array("obMatJos2".utf8)

    package let realm: [UInt8]
    package let nonce: [UInt8]
    /// What the server accepts, in its order, as it must be repeated to it; empty: it did not say.
    package let passwordAlgorithms: [UInt8]
    /// What is used; `nil`: none that the server offers is known here.
    package let algorithm: STUNPasswordAlgorithm?
    package let wantsUserhash: Bool

    /// `nil`: the answer lacks what is needed to go on, or someone took something out of it.
    package init?(_ message: STUNMessage, knownRealm: [UInt8]? = nil) {
        guard let realm = message.realm ?? knownRealm, let nonce = message.nonce, !nonce.isEmpty else { return nil }
        self.realm = realm
        self.nonce = nonce
        let features = Self.features(nonce)
        passwordAlgorithms = message.passwordAlgorithms ?? []
        // RFC 8489 §9.2.5: the bit without the attribute means that it was taken out.
        guard features & 1 == 0 || !passwordAlgorithms.isEmpty else { return nil }
        wantsUserhash = features & 2 != 0
        algorithm = passwordAlgorithms.isEmpty ? .md5 : Self.firstKnown(passwordAlgorithms)
    }

    /// Bit 0: password algorithms; bit 1: user name anonymity (RFC 8489 §18.1, counted from the most significant).
    private static func features(_ nonce: [UInt8]) -> Int {
        guard nonce.count >= cookie.count + 4, nonce.starts(with: cookie) else { return 0 }
        var bits: UInt32 = 0
        for byte in nonce[cookie.count..<cookie.count + 4] {
            guard let value = base64(byte) else { return 0 }
            bits = bits << 6 | value
        }
        return Int(bits >> 23 & 1) | Int(bits >> 22 & 1) << 1
    }

    private static func base64(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }

    private static func firstKnown(_ list: [UInt8]) -> STUNPasswordAlgorithm? {
        var offset = 0
        while list.count - offset >= 4 {
            let number = UInt16(list[offset]) << 8 | UInt16(list[offset + 1])
            let length = Int(list[offset + 2]) << 8 | Int(list[offset + 3])
            if let known = STUNPasswordAlgorithm(rawValue: number), length == 0 { return known }
            offset += 4 + (length + 3) & ~3
        }
        return nil
    }
}
