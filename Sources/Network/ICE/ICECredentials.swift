import EmisoraCrypto

/// The user name fragment and password of one side (RFC 8445 §5.3).
package struct ICECredentials: Hashable, Sendable {
    package let ufrag: String
    package let password: String

    /// RFC 8839 §5.4: 4–256 and 22–256 characters of ALPHA / DIGIT / "+" / "/". `nil` where a peer's break that.
    package init?(ufrag: String, password: String) {
        guard (4...256).contains(ufrag.utf8.count), (22...256).contains(password.utf8.count),
            (ufrag + password).utf8.allSatisfy(Self.isICECharacter)
        else { return nil }
        self.ufrag = ufrag
        self.password = password
    }

    /// Fresh ones: 48 bits of user name, so that a shared socket can tell its peers apart, and 144 bits of password.
    package init(using random: inout some RandomNumberGenerator) {
        ufrag = Self.characters(8, using: &random)
        password = Self.characters(24, using: &random)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func characters(_ count: Int, using random: inout some RandomNumberGenerator) -> String {
        String(decoding: (0..<count).map { _ in alphabet[Int(random.next() >> 58)] }, as: UTF8.self)
    }

    private static func isICECharacter(_ byte: UInt8) -> Bool {
        // "-" and "_" are not in the grammar, but some stacks write base64url.
        alphabet.contains(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
