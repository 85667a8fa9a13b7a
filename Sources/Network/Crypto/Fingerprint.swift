import CEmisoraOpenSSL
import EmisoraCore

/// A certificate's hash as `a=fingerprint` carries it (RFC 8122 §5).
package struct Fingerprint: Hashable, Sendable {
    /// The hash functions that are accepted. MD5 and SHA-1 are refused (RFC 8122 §5: SHA-256 is required).
    package enum Algorithm: String, Hashable, Sendable, CaseIterable {
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"

        package var byteCount: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }

        fileprivate var digest: OpaquePointer? {
            switch self {
            case .sha256: EVP_sha256()
            case .sha384: EVP_sha384()
            case .sha512: EVP_sha512()
            }
        }
    }

    package let algorithm: Algorithm
    package let bytes: [UInt8]

    /// The hash of a DER-encoded certificate.
    package init?(ofCertificate der: RawSpan, algorithm: Algorithm = .sha256) {
        var out = [UInt8](repeating: 0, count: algorithm.byteCount)
        let ok = der.withUnsafeBytes { der in
            EVP_Digest(der.baseAddress, der.count, &out, nil, algorithm.digest, nil)
        }
        guard ok == 1 else { return nil }
        self.algorithm = algorithm
        bytes = out
    }

    /// Reads the two words of an `a=fingerprint` line. `nil`: unknown or refused hash, or not its number of bytes.
    package init?(algorithm name: String, text: String) {
        guard let algorithm = Algorithm(rawValue: name.lowercased()) else { return nil }
        let characters = Array(text.utf8.prefix(3 * algorithm.byteCount))
        guard characters.count == 3 * algorithm.byteCount - 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(algorithm.byteCount)
        for start in stride(from: 0, to: characters.count, by: 3) {
            guard let high = Self.hexDigit(characters[start]), let low = Self.hexDigit(characters[start + 1]),
                start + 2 == characters.count || characters[start + 2] == UInt8(ascii: ":")
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// The standard library's radix parser would take a sign as well.
    private static func hexDigit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// `AB:CD:…`, as SDP wants it: upper case.
    package var text: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }

    /// Whether this is the fingerprint of that certificate.
    package func matches(certificate der: RawSpan) -> Bool {
        guard let actual = Fingerprint(ofCertificate: der, algorithm: algorithm) else { return false }
        return constantTimeEqual(actual.bytes.span.bytes, bytes.span.bytes)
    }
}
