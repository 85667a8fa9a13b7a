import CEmisoraOpenSSL
import EmisoraCore

/// A key for HMAC-SHA1 (RFC 2104), which STUN's MESSAGE-INTEGRITY is made with (RFC 8489 §14.5).
package struct HMACSHA1Key: Sendable {
    private let key: [UInt8]

    package init(_ key: RawSpan) {
        self.key = key.withUnsafeBytes { Array($0) }
    }

    package func tag(of message: RawSpan) -> HMACSHA1Tag {
        var tag = HMACSHA1Tag()
        var length: UInt32 = 0
        var made = false
        key.withUnsafeBytes { key in
            message.withUnsafeBytes { message in
                tag.withMutableBytes { out in
                    // An empty message has no address, which OpenSSL takes as a missing argument.
                    var nothing: UInt8 = 0
                    withUnsafePointer(to: &nothing) { empty in
                        let result = HMAC(
                            EVP_sha1(), key.baseAddress ?? UnsafeRawPointer(empty), Int32(clamping: key.count),
                            message.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? empty, message.count,
                            out.baseAddress?.assumingMemoryBound(to: UInt8.self), &length)
                        made = result != nil && length == HMACSHA1Tag.byteCount
                    }
                }
            }
        }
        tag.isMade = made
        return tag
    }
}

/// The 20 bytes that HMAC-SHA1 gives.
package struct HMACSHA1Tag: Sendable {
    package static let byteCount = 20

    private var storage: (UInt64, UInt64, UInt32) = (0, 0, 0)
    /// False where OpenSSL could not compute (out of memory, SHA-1 switched off by policy): such a tag is neither
    /// written nor matched, since its zeros are what anybody could send.
    fileprivate var isMade = false

    fileprivate mutating func withMutableBytes(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
        withUnsafeMutableBytes(of: &storage) { body(UnsafeMutableRawBufferPointer(rebasing: $0[0..<Self.byteCount])) }
    }

    /// Writes the tag to the start of `buffer`; answers its size, or `nil` where there is no room or
    /// OpenSSL could not compute it.
    package func write(into buffer: inout MutableRawSpan) -> Int? {
        guard isMade, buffer.byteCount >= Self.byteCount else { return nil }
        withUnsafeBytes(of: storage) { tag in
            buffer.withUnsafeMutableBytes {
                $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: tag[0..<Self.byteCount]))
            }
        }
        return Self.byteCount
    }

    /// The tag; `nil` where OpenSSL could not compute it.
    package var bytes: [UInt8]? {
        isMade ? withUnsafeBytes(of: storage) { Array($0.prefix(Self.byteCount)) } : nil
    }

    /// Compares in constant time; a tag of another length never matches.
    package func matches(_ other: RawSpan) -> Bool {
        guard isMade, other.byteCount == Self.byteCount else { return false }
        return withUnsafeBytes(of: storage) { own in
            other.withUnsafeBytes { CRYPTO_memcmp(own.baseAddress, $0.baseAddress, Self.byteCount) == 0 }
        }
    }
}

/// Whether two byte strings are equal, in a time that depends on their lengths alone.
package func constantTimeEqual(_ first: RawSpan, _ second: RawSpan) -> Bool {
    guard first.byteCount == second.byteCount else { return false }
    guard !first.isEmpty else { return true }
    return first.withUnsafeBytes { first in
        second.withUnsafeBytes { CRYPTO_memcmp(first.baseAddress, $0.baseAddress, first.count) == 0 }
    }
}
