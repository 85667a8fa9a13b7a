import CEmisoraOpenSSL
import EmisoraCore

/// A key for HMAC-SHA256 (RFC 2104), which STUN's MESSAGE-INTEGRITY-SHA256 is made with (RFC 8489 §14.6).
package struct HMACSHA256Key: Sendable {
    package static let tagByteCount = 32

    private let key: [UInt8]

    package init(_ key: RawSpan) {
        self.key = key.withUnsafeBytes { Array($0) }
    }

    /// The 32 bytes of the tag; `nil` where OpenSSL could not compute it.
    package func tag(of message: RawSpan) -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: Self.tagByteCount)
        var length: UInt32 = 0
        let isMade = key.withUnsafeBytes { key in
            message.withUnsafeBytes { message in
                // An empty message has no address, which OpenSSL takes as a missing argument.
                var nothing: UInt8 = 0
                return withUnsafePointer(to: &nothing) { empty in
                    HMAC(
                        EVP_sha256(), key.baseAddress ?? UnsafeRawPointer(empty), Int32(clamping: key.count),
                        message.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? empty, message.count, &tag,
                        &length) != nil
                }
            }
        }
        return isMade && length == Self.tagByteCount ? tag : nil
    }
}
