import CEmisoraOpenSSL
import EmisoraCore

/// Plain hashes that protocols derive keys with.
package enum Digest {
    /// For STUN's long-term credentials only (RFC 8489 §18.5.1.1), which prescribes it. `nil` where the system's policy
    /// has switched MD5 off.
    package static func md5(_ bytes: RawSpan) -> [UInt8]? { digest(bytes, EVP_md5(), byteCount: 16) }

    package static func sha256(_ bytes: RawSpan) -> [UInt8]? { digest(bytes, EVP_sha256(), byteCount: 32) }

    private static func digest(_ bytes: RawSpan, _ function: OpaquePointer?, byteCount: Int) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: byteCount)
        let ok = bytes.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &out, nil, function, nil) }
        return ok == 1 ? out : nil
    }
}
