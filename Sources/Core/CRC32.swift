/// The CRC-32 of ISO 3309, which STUN's FINGERPRINT (RFC 8489 §14.7) and PNG's chunks (RFC 2083 §3.4) use.
package enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }

    package static func checksum(_ bytes: RawSpan) -> UInt32 {
        bytes.withUnsafeBytes { buffer in
            ~buffer.reduce(~0) { crc, byte in crc >> 8 ^ table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] }
        }
    }
}
