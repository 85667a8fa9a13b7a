import EmisoraCore

/// Keeps encrypted records from OpenSSL that come before the peer's ChangeCipherSpec.
///
/// OpenSSL puts such records by and decrypts them when the keys are there; since 3.0.19 one that fails to decrypt ends
/// the association with a fatal alert, so that anybody who can send a datagram could break a handshake. A genuine record
/// that overtook its ChangeCipherSpec is sent again with the flight it belongs to (RFC 6347 §4.2.4).
struct PrematureRecordFilter {
    /// RFC 6347 §4.1: type, version, epoch, sequence number, length.
    private static let headerByteCount = 13
    private static let changeCipherSpec: UInt8 = 20
    private var hasSeenChangeCipherSpec = false

    /// How many of the datagram's bytes may be handed on: all, or those before its first premature record.
    mutating func allowedByteCount(of datagram: RawSpan) -> Int {
        var reader = ByteReader(datagram)
        while !hasSeenChangeCipherSpec, reader.remaining >= Self.headerByteCount {
            let start = datagram.byteCount - reader.remaining
            guard let type = try? reader.readInteger(UInt8.self), (try? reader.skip(2)) != nil,
                let epoch = try? reader.readInteger(UInt16.self), (try? reader.skip(6)) != nil,
                let length = try? reader.readInteger(UInt16.self)
            else { break }
            guard epoch == 0 else { return start }
            guard (try? reader.skip(Int(length))) != nil else { break }
            if type == Self.changeCipherSpec, length == 1 { hasSeenChangeCipherSpec = true }
        }
        return datagram.byteCount
    }
}
