import CEmisoraOpenSSL
import EmisoraCore

/// The operating system's secure randomness through OpenSSL's generator: what is handed to every protocol machine in
/// production. Tests hand in a seeded generator instead.
package struct SecureRandom: RandomNumberGenerator, Sendable {
    /// A variable without size may have an address that another thread uses for something else, which the thread sanitizer
    /// takes for a race.
    private var place: UInt8 = 0

    package init() {}

    package mutating func next() -> UInt64 {
        var value: UInt64 = 0
        let ok = withUnsafeMutableBytes(of: &value) { bytes in
            RAND_bytes(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count))
        }
        // Keys from a failed generator would be guessable; there is no safe way to go on.
        precondition(ok == 1, "The system's random generator failed; is /dev/urandom or getrandom(2) available?")
        return value
    }
}

/// Strings of random characters for identifiers and credentials.
package enum RandomToken {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// `length` characters of base64url's alphabet, six bits of randomness each.
    package static func make(length: Int, using random: inout some RandomNumberGenerator) -> String {
        var bits: UInt64 = 0
        var available = 0
        let characters = (0..<max(0, length)).map { _ -> UInt8 in
            if available < 6 {
                bits = random.next()
                available = 60
            }
            defer {
                bits >>= 6
                available -= 6
            }
            return alphabet[Int(bits & 63)]
        }
        return String(decoding: characters, as: UTF8.self)
    }
}
